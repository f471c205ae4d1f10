// Package bulk is what a witness and its peer send to each other: 1 MiB that no middlebox can
// invent.
package bulk

import "math/rand/v2"

// Size of it, in bytes.
const Size = 1 << 20

var bytes = func() []byte {
	out := make([]byte, Size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(out) // it never fails
	return out
}()

// Bytes returns bytes that are the same in each process. Callers must not write to them.
func Bytes() []byte { return bytes }
