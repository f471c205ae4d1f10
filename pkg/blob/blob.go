// Package blob is bytes that are known by their digest: what a store holds, a host has and the
// ledger keeps. [Open] and [ReadFile] get bytes from a file without waiting for a pipe.
package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/netwright/netwright/pkg/plural"
)

// Digest is a sha256.
type Digest [32]byte

// String is the digest in hexadecimal, as sha256sum prints it.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Parse reads a sha256 of 64 hexadecimal digits.
func Parse(s string) (d Digest, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(d) {
		return d, fmt.Errorf("parse sha256 %q: not 64 hexadecimal digits", s)
	}
	return Digest(b), nil
}

// MarshalText writes a digest into JSON as its hexadecimal form.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) (err error) {
	*d, err = Parse(string(text))
	return err
}

// Content is bytes that are known by their size and digest, and that may stay where they are until
// somebody wants them: a store of ten thousand files is compared with a host on which all is right
// without reading a byte of either.
type Content struct {
	Size int64
	Sum  Digest

	// Behind functions, for nothing that prints a struct prints what is behind one: a content may
	// be secret.
	bytes func() []byte
	read  func() ([]byte, error)
}

// String is "12 bytes".
func (c Content) String() string { return plural.Of(c.Size, "byte") }

// Format implements [fmt.Formatter], for every verb.
func (c Content) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) }

// Named is a content and its path where it is kept.
type Named struct {
	Name string
	Content
}

// Of is the content that these bytes are. The caller does not change them any more.
func Of(b []byte) Content {
	return Content{Size: int64(len(b)), Sum: sha256.Sum256(b), bytes: func() []byte { return b }}
}

// Stored is a content that read gets when it is wanted.
func Stored(size int64, sum Digest, read func() ([]byte, error)) Content {
	return Content{Size: size, Sum: sum, read: read}
}

// Bytes returns the content, and nothing else under its name: what has changed where it is kept is
// an error. It may be called any number of times and from any goroutine; the bytes are not to be
// changed.
func (c Content) Bytes() ([]byte, error) {
	switch {
	case c.read != nil:
	case c.bytes != nil:
		return c.bytes(), nil
	default:
		return nil, nil
	}
	b, err := c.read()
	if err != nil {
		return nil, err
	}
	if sum := Digest(sha256.Sum256(b)); sum != c.Sum {
		return nil, fmt.Errorf("it changed while the agent used it: its sha256 was %s and is %s: the next "+
			"pass reads it again", c.Sum, sum)
	}
	return b, nil
}
