package witness

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// checked is a number of documents that draws each stratum some ten times, both tame and wild.
const checked = 30 * 7

// A seed and a number always make the same document, whatever was drawn before. Another seed makes
// other documents.
func TestASeedAndANumberAreOneDocument(t *testing.T) {
	w := NewWorld(t)
	same := 0
	for n := checked - 1; n >= 0; n-- {
		d := Draw(w, 7, n)
		if again := Draw(w, 7, n); !reflect.DeepEqual(d, again) {
			t.Fatalf("drawn twice, other documents:\n%s\n%s", d, again)
		}
		if reflect.DeepEqual(d.Change, Draw(w, 8, n).Change) {
			same++
		}
	}
	if same > checked/10 {
		t.Errorf("of %d documents of two seeds %d are the same", checked, same)
	}
	other := NewWorld(t)
	if diff := cmp.Diff(w.Sysctls, other.Sysctls); diff != "" {
		t.Errorf("two namespaces have other keys, or values: a seed says nothing then\n%s", diff)
	}
}

// Documents are YAML, and `store check` accepts almost all of them: see [mostRefused].
func TestStoreCheckTakesMostDocuments(t *testing.T) {
	w := NewWorld(t)
	facts := check.DefaultFacts()
	plugins := archive(t, "bridge", "host-local", "loopback", "portmap")
	refused, of := map[string]int{}, map[string]int{}
	total := 0
	for n := range checked {
		d := Draw(w, 7, n)
		of[d.Stratum]++
		dir := t.TempDir()
		write(t, filepath.Join(dir, clusterName, "assets/a.tgz"), plugins)
		for path, text := range d.Texts(assetSpec(fmt.Sprintf("%x", sha256.Sum256([]byte(plugins))), "assets/a.tgz")) {
			var any map[string]any
			if err := yaml.Unmarshal([]byte(text), &any); err != nil {
				t.Fatalf("no YAML: %v\n%s", err, d)
			}
			write(t, filepath.Join(dir, clusterName, path), text)
		}
		store, err := stores.Open(dir, clusterName, stores.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := check.Check(t.Context(), store, facts)
		if err != nil {
			t.Fatalf("%v\n%s", err, d)
		}
		if !c.OK() {
			refused[d.Stratum]++
			total++
			t.Logf("refused: %v %+v %+v\n%s", c.Diagnostics, c.Findings, c.Nodes, d)
		}
	}
	for _, s := range strata {
		if of[s.name] < checked/len(strata) || refused[s.name]*4 > of[s.name]*3 { // many routes lead to what is no pod CIDR
			t.Errorf("%s: %d of %d are refused", s.name, refused[s.name], of[s.name])
		}
	}
	if total*100 > mostRefused*checked {
		t.Errorf("%d of %d are refused, want at most %d %%", total, checked, mostRefused)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// archive returns a tar of plugins that have only the right names.
func archive(t *testing.T, names ...string) string {
	t.Helper()
	files := fstest.MapFS{}
	for _, name := range names {
		files[name] = &fstest.MapFile{Mode: 0o755, Data: []byte(name)}
	}
	var b strings.Builder
	w := tar.NewWriter(&b)
	if err := errors.Join(w.AddFS(files), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
