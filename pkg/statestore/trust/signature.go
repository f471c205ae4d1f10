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

// signatureStart begins each signature. JSON cannot hold this line: between its tokens there is no
// such word, and within a string no line ends.
const signatureStart = "untrusted comment: "

// The bounds of what follows the statement: more than anybody needs to change a key, and little to
// read.
const (
	maxSignatures = 16
	linesEach     = 4
	// MaxSignaturesSize is in bytes, of all signatures of a manifest.
	MaxSignaturesSize = maxSignatures * 4 << 10
)

// Split takes a manifest object apart: the statement, which is its JSON, and the signatures behind
// it, each the four lines of a .minisig file
// (https://jedisct1.github.io/minisign/#signature-format). The statement is not looked at.
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

// Join puts a manifest object together, as [Split] takes it apart.
func Join(statement []byte, signatures ...string) []byte {
	out := bytes.Clone(statement)
	if len(signatures) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	for _, s := range signatures {
		out = append(out, strings.TrimRight(s, "\n")+"\n"...)
	}
	return out
}

// Digest is the sha256 of a statement, in hex: what a pin is compared with, and what a revision is
// known by.
func Digest(statement []byte) string {
	sum := sha256.Sum256(statement)
	return hex.EncodeToString(sum[:])
}

// Sign makes the signature of a statement, for [Join]. comment is signed along with it, and shown
// by minisign.
func Sign(key minisign.PrivateKey, statement []byte, comment string) string {
	pre := minisign.NewReader(bytes.NewReader(statement))
	// from memory; what is hashed first is what minisign makes by itself since 0.10
	_, _ = bytes.NewBuffer(nil).ReadFrom(pre)
	return string(pre.SignWithComments(key, comment, "signature of netwright by key "+ID(key.ID())))
}

// ID is a key's number as minisign writes it.
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

// SignedBy is the number of the key that a signature says it is of, "" where it is no signature.
// Nothing is verified.
func SignedBy(signature string) string {
	s, err := parseSignature(signature)
	if err != nil {
		return ""
	}
	return ID(s.KeyID)
}
