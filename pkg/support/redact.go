package support

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Redactor takes secrets out of text: those that it was told, wherever they stand and however they
// are encoded there (see encodings), and whatever looks like one. In the place of each is a mark
// that is the same wherever the same secret stood, and of no use for guessing it: it is made with a
// salt that is thrown away.
type Redactor struct {
	salt    []byte
	secrets map[string]bool
}

// NewRedactor knows no secret yet.
func NewRedactor() (*Redactor, error) {
	r := &Redactor{salt: make([]byte, 32), secrets: map[string]bool{}}
	if _, err := rand.Read(r.salt); err != nil {
		return nil, fmt.Errorf("make a salt: %w", err)
	}
	return r, nil
}

// shortest is the length of a secret that is looked for by itself: shorter ones are in every text,
// and only their names give them away.
const shortest = 6

// Add adds a secret.
func (r *Redactor) Add(secret string) {
	if secret = strings.TrimSpace(secret); len(secret) < shortest {
		return
	}
	r.secrets[secret] = true
	for _, encoded := range encodings(secret) {
		r.secrets[encoded] = true
	}
}

// encodings are how a secret stands in other texts: as a part of a URL, in JSON, and in base64,
// alone or within what was encoded with it, such as a user's name before a password. base64 encodes
// three bytes at a time: of a secret that begins at the second or third of them, up to two bytes at
// each end are encoded with what is beside them, and are not looked for.
func encodings(secret string) []string {
	out := []string{url.QueryEscape(secret), url.PathEscape(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		out = append(out, strings.Trim(string(quoted), `"`))
	}
	for skip := range 3 {
		whole := secret[skip:]
		if whole = whole[:len(whole)/3*3]; len(whole) >= shortest {
			out = append(out, inBase64(whole)...)
		}
	}
	return append(out, inBase64(secret)...)
}

func inBase64(text string) []string {
	return []string{base64.StdEncoding.EncodeToString([]byte(text)), base64.URLEncoding.EncodeToString([]byte(text))}
}

// AddText adds a text that is secret as a whole: each of its lines, and what stands in a line
// behind the first = or colon.
func (r *Redactor) AddText(text string) {
	r.Add(text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-----") { // what is between them is the secret
			continue
		}
		r.Add(line)
		if i := strings.IndexAny(line, "=:"); i >= 0 {
			r.Add(strings.Trim(strings.TrimSpace(line[i+1:]), `"'`))
		}
	}
}

// Redact returns a text without secrets, and how many were taken out.
func (r *Redactor) Redact(text []byte) (out []byte, count int) {
	out = text
	longer := func(a, b string) int { return len(b) - len(a) } // one may be a part of another
	for _, secret := range slices.SortedFunc(maps.Keys(r.secrets), longer) {
		if n := bytes.Count(out, []byte(secret)); n > 0 {
			out, count = bytes.ReplaceAll(out, []byte(secret), []byte(r.mark(secret))), count+n
		}
	}
	out, n := keys.replace(r, out)
	count += n
	var b bytes.Buffer
	block := -1 // how far the key of a YAML block is indented whose text is a secret; -1: none
	for line := range bytes.Lines(out) {
		indent := len(line) - len(bytes.TrimLeft(line, indentation))
		if text := string(bytes.TrimSpace(line[indent:])); block >= 0 && text != "" {
			if indent > block {
				fmt.Fprintf(&b, "%s%s\n", line[:indent], r.mark(text))
				count++
				continue
			}
			block = -1
		}
		lower := bytes.ToLower(line)
		if bytes.ContainsAny(line, "|>") && blockOfSecret().Match(line) {
			block = indent
		}
		for _, p := range patterns {
			if p.hinted(lower) {
				line, n = p.replace(r, line)
				count += n
			}
		}
		b.Write(line)
	}
	return b.Bytes(), count
}

func (r *Redactor) mark(secret string) string {
	mac := hmac.New(sha256.New, r.salt)
	mac.Write([]byte(secret))
	return fmt.Sprintf("[redacted %x]", mac.Sum(nil)[:4])
}
