package document

// Kind is the kind of a YAML value, as YAML 1.2 reads it.
type Kind uint8

// These are the kinds of values.
const (
	KindNull Kind = iota
	KindBool
	KindInt
	KindFloat
	KindString
	KindMap
	KindList
)

// String returns a kind in the words of a diagnostic.
func (k Kind) String() string {
	switch k {
	case KindNull:
		return "nothing"
	case KindBool:
		return "a boolean"
	case KindInt, KindFloat:
		return "a number"
	case KindString:
		return "a string"
	case KindMap:
		return "a mapping"
	case KindList:
		return "a list"
	}
	return "an unknown kind"
}

// Value is a node of a document's tree: plain data with places. The parser lets no type of the YAML
// library out. An alias is the same *Value as its anchor, so no tree is copied.
type Value struct {
	Kind    Kind
	Quoted  bool   // the value is a string in quotes or in a block
	Text    string // the text of a scalar, as written (without quotes)
	Pos     Pos
	Entries []Entry  // the entries of a mapping
	Items   []*Value // the items of a list
	size    int      // the number of values in the tree, v included; aliases count each time
}

// Entry is one key of a mapping.
type Entry struct {
	Key   string
	width int // the width of the key as written, quotes included, in characters
	Pos   Pos
	Value *Value
}

// Get returns the value of a key, or nil if v is no mapping or has no such key.
func (v *Value) Get(key string) *Value {
	if v == nil {
		return nil
	}
	for i := range v.Entries {
		if v.Entries[i].Key == key {
			return v.Entries[i].Value
		}
	}
	return nil
}

// Str returns the text of a string, or "" if v is no string.
func (v *Value) Str() string {
	if v == nil || v.Kind != KindString {
		return ""
	}
	return v.Text
}
