package archive

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
)

// Checksum is the checksum of a compressed archive as its publisher gives it: a sha256 or a sha512
// in hex. The number of digits says which. The zero value matches no archive.
type Checksum string

// ParseChecksum parses 64 hexadecimal digits as a sha256, and 128 as a sha512.
func ParseChecksum(s string) (Checksum, error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != sha256.Size && len(b) != sha512.Size {
		return "", fmt.Errorf("parse checksum %q: neither the 64 hexadecimal digits of a sha256 nor the 128 of a "+
			"sha512: copy it from the release's checksum file", s)
	}
	return Checksum(hex.EncodeToString(b)), nil
}

// ChecksumOf returns the sha256 of data.
func ChecksumOf(data []byte) Checksum {
	sum := sha256.Sum256(data)
	return Checksum(hex.EncodeToString(sum[:]))
}

// Algorithm returns "sha256" or "sha512".
func (c Checksum) Algorithm() string {
	if len(c) == hex.EncodedLen(sha512.Size) {
		return "sha512"
	}
	return "sha256"
}

// hash returns a new hash of the checksum's algorithm.
func (c Checksum) hash() hash.Hash {
	if c.Algorithm() == "sha512" {
		return sha512.New()
	}
	return sha256.New()
}

// Check is a writer that verifies the checksum of what is written to it. It is for an archive that
// is downloaded before it is read.
type Check struct {
	want Wanted
	hash hash.Hash
	n    int64
}

// NewCheck returns a Check. It uses only the name and the checksum of want.
func NewCheck(want Wanted) *Check { return &Check{want: want, hash: want.Sum.hash()} }

// Write implements [io.Writer]. It never returns an error.
func (c *Check) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.hash.Write(p)
}

// Err returns an [Error] if the written bytes do not have the checksum.
func (c *Check) Err() error {
	if sum := Checksum(hex.EncodeToString(c.hash.Sum(nil))); sum != c.want.Sum {
		return c.want.mismatch(sum, c.n)
	}
	return nil
}

// mismatch returns the error for n bytes that have another checksum.
func (w Wanted) mismatch(is Checksum, n int64) *Error {
	return &Error{Name: w.Name,
		Problem: fmt.Sprintf("%s is %s of %d bytes, expected %s", w.Sum.Algorithm(), is, n, w.Sum)}
}

// UnmarshalText parses a checksum, and refuses other text, because checksums become file names.
func (c *Checksum) UnmarshalText(text []byte) (err error) {
	*c, err = ParseChecksum(string(text))
	return err
}
