package tomledit

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// statement is a line that is not empty: a table's header, a comment, or a key with its value,
// which may have several lines.
type statement struct {
	header     bool
	comment    bool
	array      bool     // header of an array of tables
	path       []string // of a header from the root, of a key from its table
	start, end int      // from the start of its first line to behind its last line end
	value      [2]int   // start and end of a key's value
}

// scan splits a document into statements. The parser has accepted the document as valid TOML
// before, so scan only looks for starts and ends.
func scan(text []byte) ([]statement, error) {
	s := &scanner{text: text}
	var all []statement
	for {
		start := s.at
		s.skipBlanks()
		switch {
		case s.at == len(text):
			return all, nil
		case s.next("#"):
			s.line()
			all = append(all, statement{comment: true, start: start, end: s.at})
			continue
		case s.next("\n"), s.next("\r"):
			s.line()
			continue
		}
		st := statement{start: start}
		if s.take("[") {
			st.header, st.array = true, s.take("[")
			st.path = s.keys()
			if !s.take("]") || st.array && !s.take("]") {
				return nil, s.lost()
			}
		} else {
			st.path = s.keys()
			if !s.take("=") {
				return nil, s.lost()
			}
			s.skipBlanks()
			st.value[0] = s.at
			if !s.skipValue() {
				return nil, s.lost()
			}
			st.value[1] = s.at
		}
		if len(st.path) == 0 {
			return nil, s.lost()
		}
		s.line()
		st.end = s.at
		all = append(all, st)
	}
}

type scanner struct {
	text []byte
	at   int
}

func (s *scanner) next(what string) bool { return bytes.HasPrefix(s.text[s.at:], []byte(what)) }

func (s *scanner) take(what string) bool {
	if !s.next(what) {
		return false
	}
	s.at += len(what)
	return true
}

func (s *scanner) skipBlanks() {
	for s.next(" ") || s.next("\t") {
		s.at++
	}
}

// until moves to the first of some characters, or to the end.
func (s *scanner) until(chars string) {
	for s.at < len(s.text) && strings.IndexByte(chars, s.text[s.at]) < 0 {
		s.at++
	}
}

// line moves behind the end of the line.
func (s *scanner) line() {
	s.until("\n")
	s.take("\n")
}

func (s *scanner) lost() error {
	return fmt.Errorf("line %d is written in a way that is not understood here: %q: set the key by hand",
		lineOf(s.text, s.at), lineAt(s.text, s.at))
}

// keys reads a dotted key.
func (s *scanner) keys() (path []string) {
	for {
		s.skipBlanks()
		start := s.at
		switch {
		case s.next(`"`), s.next("'"):
			if !s.skipString() {
				return nil
			}
		default:
			s.until(" \t.=]\r\n")
		}
		part, ok := readKey(s.text[start:s.at])
		if !ok {
			return nil
		}
		path = append(path, part)
		s.skipBlanks()
		if !s.take(".") {
			return path
		}
	}
}

// readKey reads one part of a key, without its quotes and escapes.
func readKey(raw []byte) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	if raw[0] != '"' && raw[0] != '\'' {
		return string(raw), true
	}
	var m map[string]string
	if err := toml.Unmarshal(append([]byte("k = "), raw...), &m); err != nil {
		return "", false
	}
	return m["k"], true
}

// skipValue moves behind a value.
func (s *scanner) skipValue() bool {
	switch {
	case s.next(`"`), s.next("'"):
		return s.skipString()
	case s.next("["):
		return s.skipList("[", "]")
	case s.next("{"):
		return s.skipList("{", "}")
	}
	start := s.at
	s.until(",]}#\r\n")
	for s.at > start && strings.IndexByte(" \t", s.text[s.at-1]) >= 0 {
		s.at--
	}
	return s.at > start
}

// skipList moves behind an array or an inline table.
func (s *scanner) skipList(from, to string) bool {
	s.take(from)
	for s.at < len(s.text) {
		switch {
		case s.take(to):
			return true
		case s.next("#"):
			s.line()
		case s.next(`"`), s.next("'"):
			if !s.skipString() {
				return false
			}
		case s.next("["):
			if !s.skipList("[", "]") {
				return false
			}
		case s.next("{"):
			if !s.skipList("{", "}") {
				return false
			}
		default:
			s.at++
		}
	}
	return false
}

// skipString moves behind a string of any of TOML's four kinds.
func (s *scanner) skipString() bool {
	for _, quote := range []string{`"""`, `'''`, `"`, `'`} {
		if !s.take(quote) {
			continue
		}
		for s.at < len(s.text) {
			switch {
			case quote[0] == '"' && s.take(`\`):
				s.at++
			case s.take(quote):
				// Up to two quotes may precede the three that end a string.
				for range 2 {
					if len(quote) == 3 {
						s.take(quote[:1])
					}
				}
				return true
			default:
				s.at++
			}
		}
		return false
	}
	return false
}

func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:min(at, len(text))], []byte("\n")) }

func lineAt(text []byte, at int) string {
	at = min(at, len(text))
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := bytes.Cut(text[start:], []byte("\n"))
	return strings.TrimSpace(string(line[:min(len(line), 80)]))
}
