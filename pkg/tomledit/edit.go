package tomledit

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Setting is a key in a document, with the value that it must have.
type Setting struct {
	Table []string // {"plugins", "io.containerd.grpc.v1.cri", "cni"}
	Key   string
	Value any // string, bool, int64 or []string
}

// String returns the key with its table in TOML.
func (t Setting) String() string { return name(t.full()...) }

func (t Setting) full() []string { return append(slices.Clone(t.Table), t.Key) }

// Edit is the result of setting a key.
type Edit struct {
	Same   bool   // the key already has the value, and Text is the document
	Before string // the former value in TOML; "" for none
	Text   []byte
}

// Set sets the key in a document. Every other byte stays the same. If that is not possible, the
// error says which line to rewrite. Set parses the result before it returns it, and checks that
// only this key differs.
func (t Setting) Set(text []byte) (Edit, error) {
	old, err := parse(text)
	if err != nil {
		return Edit{}, fmt.Errorf("it is no valid TOML: %w: repair it first", err)
	}
	want, err := Format(t.Value)
	if err != nil {
		return Edit{}, err
	}
	wanted, err := parse([]byte("v = " + want))
	if err != nil {
		return Edit{}, fmt.Errorf("write %s as TOML: %w", want, err)
	}
	table, err := t.find(old)
	if err != nil {
		return Edit{}, err
	}
	is, there := table[t.Key]
	if _, isTable := is.(map[string]any); isTable {
		return Edit{}, fmt.Errorf("%s is a table there, not a key: rewrite it by hand", t.String())
	}
	if there && same(is, wanted["v"]) {
		return Edit{Same: true, Text: text}, nil
	}
	statements, err := scan(text)
	if err != nil {
		return Edit{}, err
	}
	var e Edit
	if there {
		e, err = t.replace(text, statements, want)
	} else {
		e.Text = t.insert(text, statements, want)
	}
	if err != nil {
		return Edit{}, err
	}
	return e, t.prove(old, e.Text, wanted["v"])
}

// find returns the table of the key, or nil if the document does not have it.
func (t Setting) find(doc map[string]any) (map[string]any, error) {
	table := doc
	for i, part := range t.Table {
		switch next := table[part].(type) {
		case nil:
			return nil, nil
		case map[string]any:
			table = next
		default:
			return nil, fmt.Errorf("%s is not a table there, but a value or a list: rewrite it by hand",
				name(t.Table[:i+1]...))
		}
	}
	return table, nil
}

// replace replaces the value of the key.
func (t Setting) replace(text []byte, statements []statement, want string) (Edit, error) {
	var table []string
	for _, st := range statements {
		switch {
		case st.comment:
		case st.header:
			table = st.path
		case slices.Equal(table, t.Table) && len(st.path) == 1 && st.path[0] == t.Key:
			from, to := st.value[0], st.value[1]
			return Edit{Before: string(text[from:to]), Text: slices.Concat(text[:from], []byte(want), text[to:])}, nil
		case isPrefix(slices.Concat(table, st.path), t.full()):
			return Edit{}, fmt.Errorf("line %d sets it in a dotted key or an inline table (%q): write it as %s below "+
				"a header [%s], which can be changed safely",
				lineOf(text, st.value[0]), lineAt(text, st.value[0]), name(t.Key), name(t.Table...))
		}
	}
	return Edit{}, errors.New("it is set in a way that is not understood here: set it by hand")
}

// insert adds the key to its table, or adds the table with the key at the end of the document. In
// the table the key follows a comment that shows it without setting it, or else the last key.
func (t Setting) insert(text []byte, statements []statement, want string) []byte {
	nl := newline(text)
	line := name(t.Key) + " = " + want + nl
	shown := regexp.MustCompile(`^[ \t]*#[ \t]*` + regexp.QuoteMeta(name(t.Key)) + `[ \t]*=`)
	at, indent, inside, fixed := 0, "", len(t.Table) == 0, false
	if !inside {
		at = -1
	}
	for _, st := range statements {
		switch {
		case st.header:
			if inside = !st.array && slices.Equal(st.path, t.Table); inside {
				at, indent = st.end, indentOf(text, st)+innerIndent(text, statements)
			}
		case !inside || fixed:
		case st.comment && shown.Match(text[st.start:st.end]):
			at, indent, fixed = st.end, indentOf(text, st), true
		case !st.comment:
			at, indent = st.end, indentOf(text, st)
		}
	}
	if at >= 0 {
		return slices.Concat(ended(text[:at], nl), []byte(indent+line), text[at:])
	}
	gap := ""
	if len(text) > 0 {
		gap = nl
	}
	return slices.Concat(ended(text, nl), []byte(gap+"["+name(t.Table...)+"]"+nl+line))
}

// prove returns an error unless the new document differs from the old one only in the key.
func (t Setting) prove(old map[string]any, text []byte, value any) error {
	now, err := parse(text)
	if err != nil {
		return fmt.Errorf("it cannot be added below the way in which [%s] is written there (%w): write that table "+
			"with a header of its own", name(t.Table...), err)
	}
	table := old
	for _, part := range t.Table {
		next, ok := table[part].(map[string]any)
		if !ok {
			next = map[string]any{}
			table[part] = next
		}
		table = next
	}
	table[t.Key] = value
	if !same(old, now) {
		return errors.New("the change would alter something else in the file: set the key by hand")
	}
	return nil
}

// statement returns the statement that sets the key.
func (t Setting) statement(text []byte) (statement, bool, error) {
	statements, err := scan(text)
	if err != nil {
		return statement{}, false, err
	}
	var table []string
	for _, st := range statements {
		switch {
		case st.comment:
		case st.header:
			table = st.path
		case slices.Equal(table, t.Table) && len(st.path) == 1 && st.path[0] == t.Key:
			return st, true, nil
		}
	}
	return statement{}, false, nil
}

// Get returns the key's value as the document has it; "" without the key.
func (t Setting) Get(text []byte) (string, error) {
	st, there, err := t.statement(text)
	if err != nil || !there {
		return "", err
	}
	return string(text[st.value[0]:st.value[1]]), nil
}

// Put replaces the value of the key with a text that Get returned. It does not change a document
// without the key.
func (t Setting) Put(text []byte, value string) ([]byte, error) {
	st, there, err := t.statement(text)
	if err != nil || !there {
		return text, err
	}
	return slices.Concat(text[:st.value[0]], []byte(value), text[st.value[1]:]), nil
}

// Unset removes the line of the key. Every other byte stays the same.
func (t Setting) Unset(text []byte) ([]byte, error) {
	st, there, err := t.statement(text)
	if err != nil || !there {
		return text, err
	}
	out := slices.Concat(text[:st.start], text[st.end:])
	if bare := t.withoutHeader(text, st); bare != nil {
		out = bare
	}
	return out, nil
}

// withoutHeader removes the key and the header above it, if Set added both: the table has only this
// key and is at the end of the file. Otherwise it returns nil.
func (t Setting) withoutHeader(text []byte, key statement) []byte {
	statements, err := scan(text)
	if err != nil || key.end != len(text) {
		return nil
	}
	for i, st := range statements {
		if i == 0 || st.start != key.start || !statements[i-1].header {
			continue
		}
		above := text[:statements[i-1].start]
		for _, gap := range []string{"\r\n", "\n", ""} {
			bare := bytes.TrimSuffix(above, []byte(gap))
			if e, err := t.Set(bare); err == nil && bytes.Equal(e.Text, text) {
				return bytes.Clone(bare)
			}
		}
	}
	return nil
}

func parse(text []byte) (doc map[string]any, err error) {
	doc = map[string]any{}
	err = toml.Unmarshal(text, &doc)
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column := at.Position()
		return nil, fmt.Errorf("line %d, column %d: %w", line, column, err)
	}
	return doc, err
}

// same compares parsed values. It compares the printed form of numbers and times, so that nan
// equals nan.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	}
	return fmt.Sprintf("%T %v", a, a) == fmt.Sprintf("%T %v", b, b)
}

// Format returns a value in TOML: string, bool, int64 or []string.
func Format(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return quote(v), nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case []string:
		quoted := make([]string, len(v))
		for i, s := range v {
			quoted[i] = quote(s)
		}
		return "[" + strings.Join(quoted, ", ") + "]", nil
	}
	return "", fmt.Errorf("a value of type %T cannot be written: only string, bool, int64 and []string", v)
}

// quote returns a basic string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// name returns a dotted key, with each part bare if that is allowed.
func name(parts ...string) string {
	const bare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	names := make([]string, len(parts))
	for i, part := range parts {
		if names[i] = part; part == "" || strings.Trim(part, bare) != "" {
			names[i] = quote(part)
		}
	}
	return strings.Join(names, ".")
}

// newline returns the line end of a document.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// ended adds a line end to a text whose last line has none.
func ended(text []byte, nl string) []byte {
	if len(text) == 0 || text[len(text)-1] == '\n' {
		return text
	}
	return slices.Concat(text, []byte(nl))
}

func indentOf(text []byte, st statement) string {
	line := text[st.start:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// innerIndent returns the indentation of keys relative to their header. The output of `containerd
// config dump` is indented.
func innerIndent(text []byte, statements []statement) string {
	outer, below := "", false
	for _, st := range statements {
		switch {
		case st.header:
			outer, below = indentOf(text, st), true
		case !st.comment && below:
			return strings.TrimPrefix(indentOf(text, st), outer)
		}
	}
	return ""
}

func isPrefix(short, long []string) bool {
	return len(short) <= len(long) && slices.Equal(short, long[:len(short)])
}
