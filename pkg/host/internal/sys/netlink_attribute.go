package sys

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// EachAttribute calls f for each attribute of a netlink message: with its type, its bytes including
// header and padding, and its value.
func EachAttribute(b []byte, f func(kind uint16, whole, value []byte)) {
	for len(b) >= 4 {
		n := int(binary.NativeEndian.Uint16(b))
		if n < 4 || n > len(b) {
			return
		}
		padded := min((n+3)&^3, len(b))
		f(binary.NativeEndian.Uint16(b[2:])&0x3fff, b[:padded], b[4:n])
		b = b[padded:]
	}
}

// Attribute returns the value of an attribute, nil if it is missing.
func Attribute(body []byte, kind uint16) (out []byte) {
	EachAttribute(body, func(is uint16, _, value []byte) {
		if is == kind {
			out = value
		}
	})
	return out
}

// AttributeText returns the value of an attribute as text.
func AttributeText(body []byte, kind uint16) string {
	return strings.TrimRight(string(Attribute(body, kind)), "\x00")
}

// Number returns the value of a four-byte attribute, 0 if it is shorter.
func Number(value []byte) int {
	if len(value) < 4 {
		return 0
	}
	return int(binary.NativeEndian.Uint32(value))
}

// NewAttribute returns an encoded attribute. It is not inlined: that would make the program 7 kB
// larger.
//
//go:noinline
func NewAttribute(kind uint16, value []byte) []byte {
	a := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	a = binary.NativeEndian.AppendUint16(a, kind)
	a = append(a, value...)
	return append(a, make([]byte, (4-len(value)%4)%4)...)
}

// NumberAttribute returns a number as an attribute.
func NumberAttribute(kind uint16, n uint32) []byte {
	return NewAttribute(kind, binary.NativeEndian.AppendUint32(nil, n))
}

// TextAttribute returns a text as an attribute.
func TextAttribute(kind uint16, s string) []byte { return NewAttribute(kind, append([]byte(s), 0)) }

// NestedAttribute returns an attribute that contains attributes. It is not inlined, to keep the
// program small.
//
//go:noinline
func NestedAttribute(kind uint16, attributes ...[]byte) []byte {
	return NewAttribute(kind|unix.NLA_F_NESTED, slices.Concat(attributes...))
}

// WithoutAttributes returns a list of attributes without those of some types.
func WithoutAttributes(body []byte, kinds ...uint16) (out []byte) {
	EachAttribute(body, func(is uint16, whole, _ []byte) {
		if !slices.Contains(kinds, is) {
			out = append(out, whole...)
		}
	})
	return out
}
