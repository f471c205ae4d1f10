package hostfs

import (
	"crypto/sha256"
	"fmt"
	"io"
)

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
func (c Content) String() string { return fmt.Sprintf("%d bytes", c.Size) }

// Format implements [fmt.Formatter], for every verb.
func (c Content) Format(f fmt.State, _ rune) { io.WriteString(f, c.String()) }

// Named is a content and its path where it is kept.
type Named struct {
	Name string
	Content
}

// ContentOf is the content that these bytes are. The caller does not change them any more.
func ContentOf(b []byte) Content {
	return Content{Size: int64(len(b)), Sum: sha256.Sum256(b), bytes: func() []byte { return b }}
}

// StoredContent is a content that read gets when it is wanted.
func StoredContent(size int64, sum Digest, read func() ([]byte, error)) Content {
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
		return nil, fmt.Errorf("it changed while it was used: its sha256 was %s and is %s: the next pass takes it as "+
			"it is then", c.Sum, sum)
	}
	return b, nil
}
