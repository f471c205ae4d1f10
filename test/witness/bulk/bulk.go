// Package bulk is what a witness and its peer send each other: 1 MiB that no middlebox makes up.
package bulk

import "math/rand/v2"

// Size of it, in bytes.
const Size = 1 << 20

var bytes = func() []byte {
	out := make([]byte, Size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(out) // it never fails
	return out
}()

// Bytes are the same in each process. Nobody writes to them.
func Bytes() []byte { return bytes }
