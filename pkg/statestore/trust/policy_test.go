package trust

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aead.dev/minisign"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/test/needs"
)

var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

func statement(generation int, more string) []byte {
	return fmt.Appendf(nil, "{\n  \"cluster\": \"c\",\n%s  \"generation\": %d\n}\n", more, generation)
}

func pair(t testing.TB) (Key, minisign.PrivateKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return Key{Public: public, Origin: "agent.yaml:4:5"}, private
}

func TestPolicy(t *testing.T) {
	listed, private := pair(t)
	next, nextPrivate := pair(t)
	_, stolen := pair(t)
	seven := statement(7, "")
	signed := Join(seven, Sign(private, seven, "c 7"))
	tampered := bytes.Replace(signed, []byte(`"generation": 7`), []byte(`"generation": 8`), 1)
	// A signature of an algorithm "XX" that the agent does not know.
	another := "untrusted comment: x\n" + base64.StdEncoding.EncodeToString(append([]byte("XX"), make([]byte, 8+64)...)) +
		"\ntrusted comment: x\n" + base64.StdEncoding.EncodeToString(make([]byte, 64)) + "\n"
	pin := func(raw []byte) Pin { return Pin{Digest: Digest(raw), Origin: "agent.yaml:3:6"} }
	keys := []Key{listed}
	seen := func(generation int64, digest string) func(string) (Seen, error) {
		return func(store string) (Seen, error) {
			if store != "s3://b/c" {
				t.Errorf("asked for what was seen of %s", store)
			}
			return Seen{generation, digest}, nil
		}
	}
	ended := statement(7, "  \"expires\": \"2026-06-01T11:59:59Z\",\n")
	later := statement(7, "  \"expires\": \"2026-06-01T12:00:01Z\",\n")
	for name, c := range map[string]struct {
		policy Policy
		raw    []byte
		want   []string // words of the error; none: it is accepted
	}{
		"no pin and no key is set":             {Policy{}, signed, []string{"no pin and no trusted key is set", Digest(seven), "trustedKeys", "--insecure-unsigned"}},
		"unsigned":                             {Policy{Unsigned: true}, seven, nil},
		"unsigned, and signed":                 {Policy{Unsigned: true}, signed, nil},
		"pinned":                               {Policy{Pin: pin(seven)}, seven, nil},
		"pinned, without a newline at its end": {Policy{Pin: pin(bytes.TrimSpace(seven))}, Join(bytes.TrimSpace(seven)), nil},
		"pinned, with a signature":             {Policy{Pin: pin(seven)}, signed, nil},
		"pinned, another":                      {Policy{Pin: pin(seven), Unsigned: true}, tampered, []string{Digest(seven), Digest(statement(8, "")), "agent.yaml:3:6"}},
		"signed":                               {Policy{Keys: keys}, signed, nil},
		"not signed":                           {Policy{Keys: keys, Unsigned: true}, seven, []string{"is not signed", "agent.yaml:4:5", "agent store sign"}},
		"tampered":                             {Policy{Keys: keys}, tampered, []string{"somebody changed it", ID(listed.Public.ID()), Digest(statement(8, ""))}},
		"a key that is not listed":             {Policy{Keys: keys}, Join(seven, Sign(stolen, seven, "")), []string{"is signed by key " + ID(stolen.ID()), ID(listed.Public.ID()), "trustedKeys"}},
		"a signature of another key with the id of a listed key":     {Policy{Keys: keys}, Join(seven, forged(stolen, listed, seven)), []string{"somebody changed it"}},
		"both keys while they change":                                {Policy{Keys: []Key{next}}, Join(seven, Sign(private, seven, ""), Sign(nextPrivate, seven, "")), nil},
		"the new key, both trusted":                                  {Policy{Keys: []Key{listed, next}}, Join(seven, Sign(nextPrivate, seven, "")), nil},
		"signed by a key that is not trusted any more":               {Policy{Keys: []Key{next}}, signed, []string{"is signed by key " + ID(listed.Public.ID())}},
		"a forged signature beside a good one":                       {Policy{Keys: keys}, Join(seven, forged(stolen, listed, seven), Sign(private, seven, "")), nil},
		"pinned, and not signed by the trusted key":                  {Policy{Pin: pin(seven), Keys: keys}, seven, []string{"is not signed"}},
		"a signature that does not parse":                            {Policy{Keys: keys}, Join(seven, "untrusted comment: x\na\nb\nc\n"), []string{"does not parse", "agent store sign"}},
		"a signature of another kind before a good one":              {Policy{Keys: keys}, Join(seven, another, Sign(private, seven, "")), nil},
		"a signature of another kind before one that is not trusted": {Policy{Keys: []Key{next}}, Join(seven, another, Sign(private, seven, "")), []string{"is signed by key " + ID(listed.Public.ID())}},
		"a signature that is cut off":                                {Policy{Keys: keys}, append(bytes.Clone(signed), "untrusted comment: x\n"...), []string{"no list of signatures"}},
		"too many bytes of signatures":                               {Policy{Keys: keys}, append(bytes.Clone(signed), bytes.Repeat([]byte("x"), MaxSignaturesSize)...), []string{"at most"}},
		"expired":                                                    {Policy{Unsigned: true}, ended, []string{"expired at 2026-06-01T11:59:59Z", "publish again"}},
		"expired, and pinned":                                        {Policy{Pin: pin(ended)}, ended, []string{"expired"}},
		"expires soon":                                               {Policy{Unsigned: true}, later, nil},
		"newer than seen":                                            {Policy{Unsigned: true, Seen: seen(6, "x")}, seven, nil},
		"the one that was seen":                                      {Policy{Unsigned: true, Seen: seen(7, Digest(seven))}, seven, nil},
		"older than seen":                                            {Policy{Keys: keys, Seen: seen(8, "abc")}, signed, []string{"generation 7", Digest(seven), "generation 8", "abc", "--accept-older-generation"}},
		"another generation of the same number":                      {Policy{Keys: keys, Seen: seen(7, "abc")}, signed, []string{"another one of that number", Digest(seven), "abc"}},
		"older, and a person accepts it":                             {Policy{Keys: keys, Older: true, Seen: seen(8, "abc")}, signed, nil},
		"older than seen, and pinned":                                {Policy{Pin: pin(seven), Seen: seen(8, "abc")}, seven, nil},
		"what was seen cannot be read":                               {Policy{Keys: keys, Seen: func(string) (Seen, error) { return Seen{}, errors.New("no disk") }}, signed, []string{"not known", "no disk"}},
		"no JSON":                                                    {Policy{Unsigned: true}, []byte("<html>"), []string{"decode manifest"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.policy.Now = func() time.Time { return now }
			got, err := c.policy.Check(c.raw, "s3://b/c")
			if len(c.want) == 0 {
				if want, _, _ := Split(c.raw); err != nil || !bytes.Equal(got, want) {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if got != nil || err == nil || graph.IsTransient(err) {
				t.Fatalf("got %q, %v; want a permanent error", got, err)
			}
			for _, word := range c.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("no %q in: %v", word, err)
				}
			}
		})
	}
}

// forged returns a signature with the number of another person's key.
func forged(by minisign.PrivateKey, as Key, statement []byte) string {
	var s minisign.Signature
	if err := s.UnmarshalText([]byte(Sign(by, statement, ""))); err != nil {
		panic(err)
	}
	s.KeyID = as.Public.ID()
	return s.String()
}

// minisign 0.11 made these signatures: with a hash of the text, and without one (-l).
func TestSignaturesOfMinisign(t *testing.T) {
	policy := Policy{Keys: []Key{publicKey(t, "key.pub")}}
	raw := file(t, "manifest.json")
	for name, ok := range map[string]bool{"hashed.minisig": true, "whole.minisig": true, "other.minisig": false} {
		if _, err := policy.Check(Join(raw, string(file(t, name))), "x"); (err == nil) != ok {
			t.Errorf("%s: Check returns %v", name, err)
		}
		changed := bytes.Replace(raw, []byte("demo"), []byte("Demo"), 1)
		if _, err := policy.Check(Join(changed, string(file(t, name))), "x"); err == nil {
			t.Errorf("%s: taken for another manifest", name)
		}
	}
}

// minisign accepts a signature of ours, in the files that a host's usual tools cut from the
// manifest.
func TestMinisignTakesOurs(t *testing.T) {
	needs.Tool(t, "minisign", "sed")
	key, private := pair(t)
	dir, said := t.TempDir(), file(t, "manifest.json")
	_, another := pair(t)
	if err := os.WriteFile(filepath.Join(dir, "manifest"), Join(said, Sign(private, said, "demo.example.com 7"), Sign(another, said, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `sed '/^untrusted comment: /,$d' manifest > m && sed -n '/^untrusted comment: /,$p' manifest > m.minisig && minisign -Vm m -P "$1"`
	for _, c := range []struct {
		key  Key
		want string
	}{{key, "demo.example.com 7"}, {publicKey(t, "other.pub"), ""}} {
		run := exec.Command("sh", "-c", script, "sh", c.key.Public.String())
		run.Dir = dir
		out, err := run.CombinedOutput()
		if (err == nil) != (c.want != "") || !strings.Contains(string(out), c.want) {
			t.Errorf("key %s: %v\n%s", ID(c.key.Public.ID()), err, out)
		}
	}
}

func TestCheckOwn(t *testing.T) {
	key, _ := pair(t)
	foreign := errors.New("/srv is writable by others")
	made := statement(0, "")
	for name, c := range map[string]struct {
		policy Policy
		why    error
		want   string
	}{
		"the host's own":       {Policy{}, nil, ""},
		"somebody else's":      {Policy{}, foreign, "writable by others"},
		"taken all the same":   {Policy{Unsigned: true}, foreign, ""},
		"pinned":               {Policy{Pin: Pin{Digest: Digest(made)}}, foreign, ""},
		"another is pinned":    {Policy{Pin: Pin{Digest: "abc"}}, nil, "pins abc"},
		"a signature is asked": {Policy{Keys: []Key{key}, Unsigned: true}, nil, "agent store publish"},
	} {
		err := c.policy.CheckOwn(made, c.why)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || graph.IsTransient(err)) {
			t.Errorf("%s: CheckOwn returns %v", name, err)
		}
	}
}

func TestParseKey(t *testing.T) {
	text := string(file(t, "key.pub"))
	lines := strings.Split(text, "\n")
	const mark = "\ufeff" // as some editors write it
	for _, good := range []string{text, lines[1], lines[1] + "\n", mark + text, mark + strings.ReplaceAll(text, "\n", "\r\n"), mark + lines[1]} {
		if k, err := ParseKey(good, "x"); err != nil || ID(k.Public.ID()) != "F5BE5FD4D40F4DD8" {
			t.Errorf("%q: ParseKey returns %v, %v", good, k, err)
		}
	}
	if _, err := ParseKey("nonsense", "agent.yaml:4:5"); err == nil || !strings.Contains(err.Error(), "agent.yaml:4:5") {
		t.Errorf("a key that is none: %v; want its place agent.yaml:4:5", err)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte("{}\n"))
	f.Add([]byte("{}\nuntrusted comment: a\nb\nc\nd\nuntrusted comment: a\nb\nc\nd"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		statement, signatures, err := Split(raw)
		if err != nil {
			return
		}
		again, same, err := Split(Join(statement, signatures...))
		if err != nil || !bytes.Equal(again, statement) && !bytes.Equal(again, append(bytes.Clone(statement), '\n')) || len(same) != len(signatures) {
			t.Errorf("%q is split into %q and %q, and then into %q and %q (%v)", raw, statement, signatures, again, same, err)
		}
	})
}

func publicKey(t *testing.T, name string) Key {
	t.Helper()
	k, err := ParseKey(string(file(t, name)), name+":2:1")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The agent accepts no key with which anybody can make a valid signature. For the neutral point the
// signature of that point and zero is valid. For a point of order 8 it is valid for one text of
// eight.
func TestKeysThatAnybodySignsByAreRefused(t *testing.T) {
	zeros := make([]byte, ed25519.SignatureSize)
	zeros[0] = 1
	forged := func(point []byte) bool {
		for n := range 200 {
			if ed25519.Verify(point, fmt.Append(nil, n), zeros) {
				return true
			}
		}
		return false
	}
	line := func(point []byte) string {
		return base64.StdEncoding.EncodeToString(append([]byte("Ed12345678"), point...))
	}
	found := 0
	for _, text := range weakPoints {
		for _, sign := range []byte{0, 0x80} {
			point, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			point[31] |= sign
			if forged(point) {
				found++
			}
			if _, err := ParseKey(line(point), "agent.yaml:4:5"); err == nil || !strings.Contains(err.Error(), "agent.yaml:4:5: signatures of this key") {
				t.Errorf("%x: ParseKey returns %v", point, err)
			}
		}
	}
	if found != 14 { // seven values, each with both signs
		t.Errorf("signatures were forged for %d of these points, want 14: a point is missing, or is another one", found)
	}
	own, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseKey(line(own), "x"); err != nil || forged(own) {
		t.Errorf("a key: %v", err)
	}
}

// A store's manifest is not trusted before Check accepts it. Check must accept no bytes but those
// that the key signed.
func FuzzCheck(f *testing.F) {
	key, private := pair(f)
	seven := statement(7, "")
	signed := Join(seven, Sign(private, seven, "c 7"))
	f.Add(signed)
	f.Add(Join(seven, "untrusted comment: x\nRWQ=\ntrusted comment: y\nAA==\n", Sign(private, seven, "")))
	policy := Policy{Keys: []Key{key}, Now: func() time.Time { return now }}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got, err := policy.Check(raw, "s3://b/c"); err == nil && !bytes.Equal(got, seven) {
			t.Errorf("%q is accepted as %q", raw, got)
		}
	})
}
