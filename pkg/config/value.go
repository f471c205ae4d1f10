package config

// kind of a YAML value, as YAML 1.2 reads it.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindMap
	kindList
)

// String names a kind in the words of a diagnostic.
func (k kind) String() string {
	switch k {
	case kindNull:
		return "nothing"
	case kindBool:
		return "a boolean"
	case kindInt, kindFloat:
		return "a number"
	case kindString:
		return "a string"
	case kindMap:
		return "a mapping"
	case kindList:
		return "a list"
	}
	return "an unknown kind"
}

// value is a node of a document's tree: plain data with places; no type of the YAML library goes
// beyond the parser. An alias is the same *value as its anchor, so a tree is never copied.
type value struct {
	kind    kind
	quoted  bool   // a string in quotes or a block
	text    string // of a scalar, as written (without quotes)
	pos     pos
	entries []entry  // of a mapping
	items   []*value // of a list
	size    int      // values in the tree below, itself included, aliases counted each time
}

// entry is one key of a mapping.
type entry struct {
	key   string
	width int // of the key as written, quotes included, in characters
	pos   pos
	value *value
}

// get is the value of a key; nil when v is no mapping or has no such key.
func (v *value) get(key string) *value {
	if v == nil {
		return nil
	}
	for i := range v.entries {
		if v.entries[i].key == key {
			return v.entries[i].value
		}
	}
	return nil
}

// str is the text of a string; "" when v is none.
func (v *value) str() string {
	if v == nil || v.kind != kindString {
		return ""
	}
	return v.text
}
