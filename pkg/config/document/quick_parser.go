package document

import (
	"strings"

	"github.com/goccy/go-yaml/token"
)

// quick reads the YAML that people write most: block mappings and lists, plain and quoted scalars
// on one line, literal blocks, and flow collections on one line. It returns exactly the tree that
// the library's parser would return, about fifty times as fast. On a node where all is right,
// nothing costs more than the library. If quick finds anything that it does not know for certain
// (an anchor, an escape, a tab, a tag, a folded block, a mistake), it gives up, and the library
// reads the document from the start. So quick reports no errors.
type quick struct {
	text   string
	line   int    // number of the current line, from 1; a blank line or a comment is never current
	cur    string // the current line without its indentation; "" at the end of the text
	indent int    // of the current line
	next   int    // where the line after the current one starts
	slab   []Value
}

// readQuickly returns the tree, or nil if it gave up.
func readQuickly(text string) *Value {
	q := &quick{text: text}
	if !q.advance() || q.cur == "" {
		return nil
	}
	v := q.block(0)
	if v == nil || q.cur != "" {
		return nil
	}
	return v
}

// advance makes the next line current that is neither blank nor a comment. It returns false to give
// up.
func (q *quick) advance() bool {
	for q.next < len(q.text) {
		line := q.take()
		q.cur = strings.TrimLeft(line, " ")
		q.indent = len(line) - len(q.cur)
		if q.cur == "" || q.cur[0] == '#' {
			continue
		}
		return asciiLine(q.cur)
	}
	q.cur, q.indent = "", -1
	return true
}

// take returns the next line, of any kind.
func (q *quick) take() string {
	line, _, _ := strings.Cut(q.text[q.next:], "\n")
	q.next = min(q.next+len(line)+1, len(q.text))
	q.line++
	return line
}

// asciiLine reports whether quick can read a line: its columns can be counted in bytes, it does not
// separate documents, and it does not end with a space, which shifts the library's columns.
func asciiLine(line string) bool {
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '~' {
			return false
		}
	}
	return !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "...") && line[len(line)-1] != ' '
}

func (q *quick) new(k Kind, col int) *Value {
	if len(q.slab) == 0 {
		q.slab = make([]Value, 64)
	}
	v := &q.slab[0]
	q.slab = q.slab[1:]
	v.Kind, v.Pos, v.size = k, Pos{q.line, col}, 1
	return v
}

// block reads the list or mapping that begins on the current line.
func (q *quick) block(depth int) *Value {
	if depth > maxDepth/2 {
		return nil
	}
	if isItem(q.cur) {
		return q.list(depth)
	}
	return q.mapping(q.indent, depth)
}

func isItem(line string) bool { return line == "-" || strings.HasPrefix(line, "- ") }

func (q *quick) list(depth int) *Value {
	at := q.indent
	v := q.new(KindList, at+1)
	for q.indent == at && isItem(q.cur) {
		rest := strings.TrimLeft(q.cur[1:], " ")
		column := at + len(q.cur) - len(rest) // the column of the item's value, from 0
		if rest == "" || rest[0] == '#' || isItem(rest) || len(v.Items) == maxEntries {
			return nil
		}
		var item *Value
		if key, _ := cutKey(rest); key != "" {
			q.cur, q.indent = rest, column
			item = q.mapping(column, depth+1)
		} else {
			item = q.inline(rest, column, at)
		}
		if item == nil {
			return nil
		}
		v.Items = append(v.Items, item)
		v.size += item.size
	}
	if q.indent > at || v.size > maxValues {
		return nil
	}
	return v
}

// mapping reads the entries that begin in column at, counted from 0.
func (q *quick) mapping(at, depth int) *Value {
	if depth > maxDepth/2 {
		return nil
	}
	v := q.new(KindMap, at+1)
	for q.cur != "" && q.indent == at && !isItem(q.cur) {
		key, rest := cutKey(q.cur)
		if key == "" || len(v.Entries) == maxFields || v.Index(key) >= 0 {
			return nil
		}
		e := Entry{Key: key, width: len(key), Pos: Pos{q.line, at + 1}}
		if e.Value = q.field(q.cur, rest, at, depth); e.Value == nil {
			return nil
		}
		v.Entries = append(v.Entries, e)
		v.size += e.Value.size
	}
	if q.indent > at || len(v.Entries) == 0 || v.size > maxValues {
		return nil
	}
	return v
}

// field reads the value after a key's colon or below it.
func (q *quick) field(line, rest string, at, depth int) *Value {
	if rest != "" && rest[0] != '#' {
		return q.inline(rest, at+len(line)-len(rest), at)
	}
	if !q.advance() || q.cur == "" {
		return nil
	}
	if q.indent > at || q.indent == at && isItem(q.cur) {
		return q.block(depth + 1)
	}
	return nil
}

// cutKey splits "key: value". key is "" if the line has no key of the simplest form.
func cutKey(line string) (key, rest string) {
	i := 0
	for i < len(line) && (isWord(line[i]) || i > 0 && (line[i] == '.' || line[i] == '/' || line[i] == '-')) {
		i++
	}
	if i == 0 || i == len(line) || line[i] != ':' || i+1 < len(line) && line[i+1] != ' ' {
		return "", ""
	}
	if k, ok := plainKind(line[:i]); !ok || k != KindString {
		return "", ""
	}
	return line[:i], strings.TrimLeft(line[i+1:], " ")
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// inline reads the value that begins on the current line in the given column, counted from 0, and
// advances to the next line. The parent of the value begins in column at.
func (q *quick) inline(rest string, column, at int) *Value {
	if rest[0] == '|' {
		return q.literal(rest, column, at)
	}
	f := flow{quick: q, line: rest, offset: column}
	v := f.value(rest[0] == '[' || rest[0] == '{', 0)
	if v == nil || !f.done() || !q.advance() || q.indent > at {
		return nil
	}
	return v
}

// plainKind returns how YAML 1.2 reads an unquoted word. It returns false for null, which is seldom
// meant.
func plainKind(word string) (Kind, bool) {
	switch word {
	case "", "~", "null", "Null", "NULL":
		return KindNull, false
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return KindBool, true
	case ".inf", ".Inf", ".INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		return KindFloat, true
	}
	if c := word[0]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '/' {
		return KindString, true
	}
	number := token.ToNumber(word)
	switch {
	case number == nil:
		return KindString, true
	case number.Type == token.NumberTypeFloat:
		return KindFloat, true
	}
	return KindInt, true
}
