package archive

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
)

// Checksum is what an archive hashes to as it is fetched, as its publisher gives it: the
// hexadecimal digits of a sha256 or of a sha512. How many there are says which. The zero value is
// the checksum of nothing.
type Checksum string

// ParseChecksum reads 64 hexadecimal digits as a sha256, and 128 as a sha512.
func ParseChecksum(s string) (Checksum, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != sha256.Size && len(b) != sha512.Size {
		return "", fmt.Errorf("parse checksum %q: neither the 64 hexadecimal digits of a sha256 nor the 128 of a "+
			"sha512: copy it from the release's checksum file", s)
	}
	return Checksum(hex.EncodeToString(b)), nil
}

// ChecksumOf is the sha256 of data.
func ChecksumOf(data []byte) Checksum {
	sum := sha256.Sum256(data)
	return Checksum(hex.EncodeToString(sum[:]))
}

// Algorithm is what it is a hash by: "sha256" or "sha512".
func (c Checksum) Algorithm() string {
	if len(c) == hex.EncodedLen(sha512.Size) {
		return "sha512"
	}
	return "sha256"
}

// hash begins to hash what is to be held against it.
func (c Checksum) hash() hash.Hash {
	if c.Algorithm() == "sha512" {
		return sha512.New()
	}
	return sha256.New()
}

// Check holds against its checksum what is written to it. It is for an archive that comes before it
// is read.
type Check struct {
	want Wanted
	hash hash.Hash
	n    int64
}

// NewCheck begins a check. Of what is wanted the name and the checksum count.
func NewCheck(want Wanted) *Check { return &Check{want: want, hash: want.Sum.hash()} }

// Write implements [io.Writer]. It does not fail.
func (c *Check) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.hash.Write(p)
}

// Err is an [Error] unless all that was written is what is wanted.
func (c *Check) Err() error {
	if sum := Checksum(hex.EncodeToString(c.hash.Sum(nil))); sum != c.want.Sum {
		return c.want.mismatch(sum, c.n)
	}
	return nil
}

// mismatch says that n bytes have another checksum.
func (w Wanted) mismatch(is Checksum, n int64) *Error {
	return &Error{Name: w.Name,
		Problem: fmt.Sprintf("%s is %s of %d bytes, wanted %s", w.Sum.Algorithm(), is, n, w.Sum)}
}

// UnmarshalText refuses what is no checksum: files are named by it.
func (c *Checksum) UnmarshalText(text []byte) (err error) {
	*c, err = ParseChecksum(string(text))
	return err
}
