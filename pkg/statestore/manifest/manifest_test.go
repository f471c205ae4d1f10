package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/statestore/trust"
)

// A manifest has the form that package json gives it, whichever code makes it.
func TestManifestIsPlainJSON(t *testing.T) {
	for name, objects := range map[string]map[string][]byte{
		"empty":  {},
		"one":    {"cluster.yaml": []byte("x")},
		"many":   {"cluster.yaml": []byte("x"), "nodes/b.yaml": nil, "nodes/a.yaml": []byte("yy")},
		"quoted": {"files/a \"b\" \\c": nil, "files/<&>": nil, "files/ü\u2028": nil, "files/\xff": nil, "files/\t": nil},
	} {
		m := New("demo.example.com", 7, objects)
		want, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.Encode()); got != string(want)+"\n" {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// A field that was added to the format is in a manifest only if it is set, so an older manifest
// keeps its digest.
func TestManifestWithAllFields(t *testing.T) {
	m := New("c", 1, map[string][]byte{"cluster.yaml": []byte("x")})
	m.Published = time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	m.Expires = m.Published.Add(time.Hour)
	m.Bundle = &Object{SHA256: trust.Digest(nil), Size: 3}
	const want = `{
  "apiVersion": "netwright.dev/v1alpha1",
  "kind": "Manifest",
  "cluster": "c",
  "generation": 1,
  "published": "2026-01-02T02:04:05Z",
  "expires": "2026-01-02T03:04:05Z",
  "bundle": {
    "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "size": 3
  },
  "objects": {
    "cluster.yaml": {
      "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
      "size": 1
    }
  }
}
`
	if got := string(m.Encode()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	read, err := Parse([]byte(want), "c")
	if err != nil || !read.Published.Equal(m.Published) || !read.Expires.Equal(m.Expires) || *read.Bundle != *m.Bundle {
		t.Errorf("read as %+v, %v", read, err)
	}
}

func TestManifestThatCannotBeMeant(t *testing.T) {
	for word, change := range map[string]func(*Manifest){
		"bundle":    func(m *Manifest) { m.Bundle = &Object{SHA256: "AB"} },
		"bytes":     func(m *Manifest) { m.Bundle = &Object{SHA256: trust.Digest(nil), Size: MaxSnapshotSize + 1} },
		"expires":   func(m *Manifest) { m.Expires = time.Unix(-1, 0) },
		"published": func(m *Manifest) { m.Published = time.Date(1, 2, 3, 4, 5, 6, 7, time.UTC) },
	} {
		m := New("c", 1, nil)
		change(m)
		if _, err := Parse(m.Encode(), "c"); err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "publish again") {
			t.Errorf("%s: Parse returns %v", word, err)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add(New("c", 1, map[string][]byte{"cluster.yaml": []byte("x")}).Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse(data, "c")
		if err != nil {
			return
		}
		again, err := Parse(m.Encode(), "c")
		if err != nil || !bytes.Equal(again.Encode(), m.Encode()) {
			t.Errorf("%q does not survive its own encoding: %v", data, err)
		}
	})
}

// A proxy or a login page that answers in place of the store is no matter of keys, pins or a
// compromised store. An empty answer and a compressed one neither. The line that keeps it: open.go.
// The limits keep a node from reading what would fill its memory.
func TestEntriesThatAreNotSafeToRead(t *testing.T) {
	entry := func(name string, o Object) *Manifest {
		return &Manifest{Objects: map[string]Object{"cluster.yaml": {SHA256: trust.Digest(nil)}, name: o}}
	}
	half := map[string]Object{}
	for i := range MaxSnapshotSize/MaxObjectSize + 1 {
		half[fmt.Sprintf("nodes/%d.yaml", i)] = Object{SHA256: trust.Digest(nil), Size: MaxObjectSize}
	}
	many := map[string]Object{}
	for i := range MaxObjects + 1 {
		many[fmt.Sprintf("nodes/%d.yaml", i)] = Object{SHA256: trust.Digest(nil)}
	}
	for want, m := range map[string]*Manifest{
		"no path below the cluster":             entry("../x", Object{SHA256: trust.Digest(nil)}),
		"none in lower-case hex":                entry("nodes/n.yaml", Object{SHA256: strings.ToUpper(trust.Digest(nil))}),
		"has -1 bytes":                          entry("nodes/n.yaml", Object{SHA256: trust.Digest(nil), Size: -1}),
		fmt.Sprint("has ", MaxObjectSize+1):     entry("nodes/n.yaml", Object{SHA256: trust.Digest(nil), Size: MaxObjectSize + 1}),
		fmt.Sprint("at most ", MaxSnapshotSize): {Objects: half},
		ErrTooMany.Error():                      {Objects: many},
	} {
		if err := m.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	delete(many, "nodes/0.yaml")
	if err := (&Manifest{Objects: many}).Check(); err != nil {
		t.Errorf("with as many as can be read: %v", err)
	}
	if err := entry("nodes/n.yaml", Object{SHA256: trust.Digest(nil), Size: MaxObjectSize}).Check(); err != nil {
		t.Errorf("with the largest that can be read: %v", err)
	}
}

func TestAnAnswerThatIsNoManifest(t *testing.T) {
	raw := New("c", 1, nil).Encode()
	for _, policy := range []*trust.Policy{nil, {}, {Pin: trust.Pin{Digest: trust.Digest(raw)}}} {
		for answer, begins := range map[string]string{
			"\n<!DOCTYPE html><html>log in</html>": `begins with "<!DOCTYPE html>`, "": `begins with "", expected "{"`, "\x1f\x8b\b\x00": `begins with "\x1f\x8b\b\x00"`,
		} {
			if _, _, err := Open([]byte(answer), "c", "https://store", policy); err == nil || !strings.Contains(err.Error(), begins) {
				t.Errorf("%q: %v, want %q", answer, err, begins)
			}
		}
	}
	if _, _, err := Open(append([]byte(" \n"), raw...), "c", "https://store", nil); err != nil {
		t.Errorf("with a blank line: %v", err)
	}
}
