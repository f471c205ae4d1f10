package statestore

import (
	"encoding/json"
	"testing"
)

// The form of a manifest is the one that package json gives it, however it is made.
func TestManifestIsPlainJSON(t *testing.T) {
	for name, objects := range map[string]map[string][]byte{
		"empty":  {},
		"one":    {"cluster.yaml": []byte("x")},
		"many":   {"cluster.yaml": []byte("x"), "nodes/b.yaml": nil, "nodes/a.yaml": []byte("yy")},
		"quoted": {"files/a \"b\" \\c": nil, "files/<&>": nil, "files/ü\u2028": nil, "files/\xff": nil, "files/\t": nil},
	} {
		m := NewManifest("demo.example.com", 7, objects)
		want, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.Encode()); got != string(want)+"\n" {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}
