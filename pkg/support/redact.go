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

// Redactor replaces secrets in a text: those that were added, in any of their encodings (see
// encodings), and everything that looks like a secret. The replacement is the same for the same
// secret. It does not help to guess the secret, because it is made with a random salt that is not
// saved.
type Redactor struct {
	salt    []byte
	secrets map[string]bool
}

// NewRedactor returns a Redactor without secrets.
func NewRedactor() (*Redactor, error) {
	r := &Redactor{salt: make([]byte, 32), secrets: map[string]bool{}}
	if _, err := rand.Read(r.salt); err != nil {
		return nil, fmt.Errorf("make a salt: %w", err)
	}
	return r, nil
}

// shortest is the minimum length of an added secret. Shorter ones occur in every text, and only a
// pattern with their name finds them.
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

// encodings returns the forms of a secret in other texts: in a URL, in JSON, and in base64, by
// itself or within a longer text, such as behind a user name. base64 encodes three bytes at a time.
// If the secret begins at the second or third of them, up to two bytes at each end share their
// encoding with the neighbouring text. The form leaves these bytes out.
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

// AddText adds a text of which everything is secret: each of its lines, and in each line the part
// behind the first "=" or ":".
func (r *Redactor) AddText(text string) {
	r.Add(text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-----") { // only the lines between are secret
			continue
		}
		r.Add(line)
		if i := strings.IndexAny(line, "=:"); i >= 0 {
			r.Add(strings.Trim(strings.TrimSpace(line[i+1:]), `"'`))
		}
	}
}

// Redact returns the text without secrets, and the number of replacements.
func (r *Redactor) Redact(text []byte) (out []byte, count int) {
	out = text
	longer := func(a, b string) int { return len(b) - len(a) } // longest first, because a secret may contain another
	for _, secret := range slices.SortedFunc(maps.Keys(r.secrets), longer) {
		if n := bytes.Count(out, []byte(secret)); n > 0 {
			out, count = bytes.ReplaceAll(out, []byte(secret), []byte(r.mark(secret))), count+n
		}
	}
	out, n := keys.replace(r, out)
	count += n
	var b bytes.Buffer
	block := -1 // indentation of the key of a secret YAML block; -1 outside of one
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
