package document

// Kind of a YAML value, as YAML 1.2 reads it.
type Kind uint8

// The kinds.
const (
	KindNull Kind = iota
	KindBool
	KindInt
	KindFloat
	KindString
	KindMap
	KindList
)

// String names a kind in the words of a diagnostic.
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

// Value is a node of a document's tree: plain data with places; no type of the YAML library goes
// beyond the parser. An alias is the same *Value as its anchor, so a tree is never copied.
type Value struct {
	Kind    Kind
	Quoted  bool   // a string in quotes or a block
	Text    string // of a scalar, as written (without quotes)
	Pos     Pos
	Entries []Entry  // of a mapping
	Items   []*Value // of a list
	size    int      // values in the tree below, itself included, aliases counted each time
}

// Entry is one key of a mapping.
type Entry struct {
	Key   string
	width int // of the key as written, quotes included, in characters
	Pos   Pos
	Value *Value
}

// Get is the value of a key; nil when v is no mapping or has no such key.
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

// Str is the text of a string; "" when v is none.
func (v *Value) Str() string {
	if v == nil || v.Kind != KindString {
		return ""
	}
	return v.Text
}
