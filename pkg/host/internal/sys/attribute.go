package sys

import (
	"encoding/binary"
	"strings"
)

// EachAttribute calls f with the attributes of a netlink message: the kind of each, all of it
// padded, and its value.
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

// Attribute is the value of one attribute, nil if it is not there.
func Attribute(body []byte, kind uint16) (out []byte) {
	EachAttribute(body, func(is uint16, _, value []byte) {
		if is == kind {
			out = value
		}
	})
	return out
}

// AttributeText is the value of one attribute as text.
func AttributeText(body []byte, kind uint16) string {
	return strings.TrimRight(string(Attribute(body, kind)), "\x00")
}

// Number is the value of an attribute of four bytes, 0 of a shorter one.
func Number(value []byte) int {
	if len(value) < 4 {
		return 0
	}
	return int(binary.NativeEndian.Uint32(value))
}

// NewAttribute is one attribute of a message. It stands in the program once: in the place of each
// of its calls it took 7 kB.
//
//go:noinline
func NewAttribute(kind uint16, value []byte) []byte {
	a := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	a = binary.NativeEndian.AppendUint16(a, kind)
	a = append(a, value...)
	return append(a, make([]byte, (4-len(value)%4)%4)...)
}
