package trust

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// weakPoints are the y coordinates of the Ed25519 points whose order divides 8, in both encodings
// if there are two. Anyone can sign for a key that is such a point.
// https://eprint.iacr.org/2020/1244 (table 1, "small order")
var weakPoints = []string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

// weak reports whether a public key of minisign is a weak point. text is its base64 line or its
// file. The decoded line is "Ed", 8 bytes of key id, and the key.
// https://jedisct1.github.io/minisign/#public-key-format
func weak(text string) bool {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(lines[len(lines)-1]))
	const point, size = 10, 32
	if err != nil || len(raw) != point+size {
		return false
	}
	y := slices.Clone(raw[point:])
	y[size-1] &= 0x7f // without the bit for the sign of x
	return slices.Contains(weakPoints, hex.EncodeToString(y))
}
