// Package secret has the types of what nobody may read in a log, a plan, a status or an error.
// Whoever formats, logs or encodes such a value gets a mark in its place, whatever the way: fmt
// with any verb, zap, JSON, YAML, an error. So no care is needed where values are shown; it is
// needed where one is used, and there stands Reveal.
//
// [Text] is for tokens, passwords and private keys. It shows nothing even as a field that is not
// exported, whose methods fmt may not call. [Bytes] and [Contents] are for contents that may be
// secret among others that are not: they say their size, and are converted to plain bytes without a
// word.
//
// It does not protect from whoever reads the memory of the process, and what was revealed is plain
// text again.
package secret

import (
	"crypto/subtle"
	"fmt"
	"io"
)

// Mark stands where a secret was.
const Mark = "[secret]"

// Text is a secret. The zero value is none. Two are compared with [Text.Equal], not with ==.
type Text struct {
	text *string // by its address alone is it printed where no method can be called
}

// New makes a secret of a text. Of "" it is none.
func New(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{&s}
}

// Of makes a secret of bytes, which it copies.
func Of(b []byte) Text { return New(string(b)) }

// Reveal is the secret itself, for the one call that needs it.
func (t Text) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// IsZero says that there is none.
func (t Text) IsZero() bool { return t.text == nil }

// Equal compares two in a time that tells nothing of them.
func (t Text) Equal(other Text) bool {
	return subtle.ConstantTimeCompare([]byte(t.Reveal()), []byte(other.Reveal())) == 1
}

// String is the mark, or "" of none.
func (t Text) String() string {
	if t.IsZero() {
		return ""
	}
	return Mark
}

// Format implements [fmt.Formatter]: the mark, for every verb.
func (t Text) Format(f fmt.State, _ rune) { io.WriteString(f, t.String()) }

// MarshalText is what JSON, YAML and zap show. To write a secret to where it is kept, reveal it.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText takes a secret from a document. A mark is none: it was written by somebody who
// could not know the secret.
func (t *Text) UnmarshalText(text []byte) error {
	if string(text) == Mark {
		return fmt.Errorf("%s stands where a secret should: it was taken out of what this was copied from", Mark)
	}
	*t = Of(text)
	return nil
}
