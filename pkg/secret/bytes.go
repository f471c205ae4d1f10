package secret

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/plural"
)

// Bytes are a content that may be secret. What formats or encodes them says how many there are.
type Bytes []byte

// String is "12 bytes".
func (b Bytes) String() string { return plural.Of(len(b), "byte") }

// Format implements [fmt.Formatter], for every verb.
func (b Bytes) Format(f fmt.State, _ rune) { io.WriteString(f, b.String()) }

// MarshalText is as String.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// MarshalJSON is as String; of nil, which is no content, null.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("null"), nil
	}
	return []byte(`"` + b.String() + `"`), nil
}

// Contents are contents by name. What formats or encodes them says the names and how long each is.
type Contents map[string][]byte

// String is "a 12 bytes, b 7 bytes".
func (c Contents) String() string {
	all := make([]string, 0, len(c))
	for _, name := range slices.Sorted(maps.Keys(c)) {
		all = append(all, name+" "+Bytes(c[name]).String())
	}
	return strings.Join(all, ", ")
}

// Format implements [fmt.Formatter], for every verb.
func (c Contents) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) }

// MarshalText is as String.
func (c Contents) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
