package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"aead.dev/minisign"
)

// signatureStart begins each signature. JSON cannot contain this line: the words are no token, and
// no string contains a newline.
const signatureStart = "untrusted comment: "

// The limits of the signatures. They suffice for every change of keys, and are little to read.
const (
	maxSignatures = 16
	linesEach     = 4
	// MaxSignaturesSize is the maximum size in bytes of all signatures of a manifest.
	MaxSignaturesSize = maxSignatures * 4 << 10
)

// Split splits a manifest object into the statement, which is its JSON, and the signatures behind
// it. Each signature is the four lines of a .minisig file
// (https://jedisct1.github.io/minisign/#signature-format). Split does not check the statement.
func Split(raw []byte) (statement []byte, signatures []string, err error) {
	statement, rest := raw, []byte(nil)
	if i := bytes.Index(raw, []byte("\n"+signatureStart)); i >= 0 {
		statement, rest = raw[:i+1], raw[i+1:]
	}
	if len(rest) > MaxSignaturesSize {
		return nil, nil, fmt.Errorf("%d bytes of signatures follow the manifest, at most %d can be read: publish again",
			len(rest), MaxSignaturesSize)
	}
	lines := strings.SplitAfter(string(rest), "\n")
	for len(lines) > 1 || lines[0] != "" {
		if len(signatures) == maxSignatures || len(lines) < linesEach {
			return nil, nil,
				errors.New("what follows the manifest is no list of signatures: sign it again with `agent store sign`")
		}
		signatures, lines = append(signatures, strings.Join(lines[:linesEach], "")), lines[linesEach:]
		if len(lines) == 0 {
			break
		}
	}
	return statement, signatures, nil
}

// Join joins a statement and its signatures to a manifest object. A statement with signatures ends
// with a newline.
func Join(statement []byte, signatures ...string) []byte {
	out := bytes.Clone(statement)
	for _, s := range signatures {
		out = append(out, strings.TrimRight(s, "\n")+"\n"...)
	}
	return out
}

// Digest returns the sha256 of a statement in hex. A pin and a revision use it.
func Digest(statement []byte) string {
	sum := sha256.Sum256(statement)
	return hex.EncodeToString(sum[:])
}

// Sign returns the signature of a statement, for [Join]. It also signs comment, which minisign
// shows.
func Sign(key minisign.PrivateKey, statement []byte, comment string) string {
	pre := minisign.NewReader(bytes.NewReader(statement))
	// reading from memory cannot fail; minisign also hashes first, since 0.10
	_, _ = bytes.NewBuffer(nil).ReadFrom(pre)
	return string(pre.SignWithComments(key, comment, "signature of netwright by key "+ID(key.ID())))
}

// ID returns the id of a key as minisign writes it.
func ID(id uint64) string { return fmt.Sprintf("%016X", id) }

// parseSignature decodes one signature.
func parseSignature(text string) (minisign.Signature, error) {
	var s minisign.Signature
	if err := s.UnmarshalText([]byte(text)); err != nil {
		return s, fmt.Errorf("a signature behind the manifest does not parse: %w: sign it again with `agent store "+
			"sign`", err)
	}
	return s, nil
}

// SignedBy returns the id of the key in a signature, or "" if the text is no signature. It verifies
// nothing.
func SignedBy(signature string) string {
	s, err := parseSignature(signature)
	if err != nil {
		return ""
	}
	return ID(s.KeyID)
}
