package document

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// same compares the kinds, texts, places and sizes of two trees. It returns where they differ.
func same(a, b *Value, at string) string {
	if a.Kind != b.Kind || a.Quoted != b.Quoted || a.Text != b.Text || a.Pos != b.Pos || a.size != b.size ||
		len(a.Entries) != len(b.Entries) || len(a.Items) != len(b.Items) {
		return fmt.Sprintf("%s: %v %t %q %v size %d, want %v %t %q %v size %d", at, a.Kind, a.Quoted, a.Text, a.Pos, a.size, b.Kind, b.Quoted, b.Text, b.Pos, b.size)
	}
	for i := range a.Entries {
		x, y := a.Entries[i], b.Entries[i]
		if x.Key != y.Key || x.width != y.width || x.Pos != y.Pos {
			return fmt.Sprintf("%s: key %q %d %v, want %q %d %v", at, x.Key, x.width, x.Pos, y.Key, y.width, y.Pos)
		}
		if diff := same(x.Value, y.Value, at+"."+x.Key); diff != "" {
			return diff
		}
	}
	for i := range a.Items {
		if diff := same(a.Items[i], b.Items[i], fmt.Sprintf("%s[%d]", at, i)); diff != "" {
			return diff
		}
	}
	return ""
}

// holdsQuick reports a text that the quick reader and the library read differently. It returns
// whether the quick reader read the text at all.
func holdsQuick(t *testing.T, text string) bool {
	t.Helper()
	d := New(Source{Path: "cluster.yaml", Data: []byte(text)})
	if !d.prepare() {
		return false
	}
	got := readQuickly(string(d.Text))
	if got == nil {
		return false
	}
	want := d.read()
	if want == nil {
		t.Errorf("read, but the library says %s\n%s", d.Diags, text)
		return true
	}
	if diff := same(got, want, ""); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
	return true
}

const testdata = "../testdata"

// ordinary returns a cluster document of a hundred lines, as long as real ones are.
func ordinary(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(testdata + "/ordinary/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// written returns the documents of this repository: of examples, manuals and tests.
func written(t testing.TB) []string {
	t.Helper()
	var texts []string
	for _, root := range []string{testdata, "../../../examples"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			switch filepath.Ext(path) {
			case ".yaml":
				data, err := os.ReadFile(path)
				texts = append(texts, string(data))
				return err
			case ".txtar":
				archive, err := txtar.ParseFile(path)
				if err != nil {
					return err
				}
				for _, f := range archive.Files {
					texts = append(texts, string(f.Data))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

func TestQuickReadsAsTheLibraryDoes(t *testing.T) {
	texts, quickly := written(t), 0
	for _, text := range texts {
		if holdsQuick(t, text) {
			quickly++
		}
	}
	if quickly < len(texts)/3 { // most others have intended errors
		t.Errorf("of %d documents only %d were read quickly: it is not worth its lines", len(texts), quickly)
	}
	if !holdsQuick(t, ordinary(t)) {
		t.Error("an ordinary cluster is not read quickly")
	}
}

// The table has what the quick reader must read, beside similar texts that it must leave to the
// library.
func TestQuickKnowsItsLimits(t *testing.T) {
	for text, want := range map[string]bool{
		"a: 1\nb: x y\n": true, "a:\n  b: c\nd: e": true, "a:\n- x\n- y\n": true, "a:\n  - x\n  - k: v\n    l: w\n": true,
		"a: [x, 'y', \"z\"]\n": true, "a: {b: {c: d}, e: []}\n": true, "a: {}\n": true, "a: []\n": true,
		"a: # why\n  b: c # because\n": true, "# head\n\na: b\n": true, "a: http://x.y:80/z?\n": false, "a: http://x.y:80/z\n": true,
		"a: |\n  x\n\n   y: z\n  # no comment\nb: c\n": true, "a: |-\n  x\n\n\nb: c\n": true, "- a: |\n    x\n  b: c\n": true,
		"a: |\n\n  x\n": false, "a: |2\n  x\n": false, "a: >\n  x\n": false, "a: |\n  x": false, "a: |\n   x\n  y\n": false, "a: |\nb: c\n": false,
		"a: &b c\n": false, "a: *b\n": false, "a: !x y\n": false, "a: b\na: c\n": false, "a:\n": false, "a: ~\n": false, "a: null\n": false,
		"a: b\n  c\n": false, "a: 'it''s'\n": false, "a: \"\\n\"\n": false, "a:\tb\n": false, "a: b: c\n": false, "a: [b\n  c]\n": false,
		"a: [x, ]\n": false, "a: {b: }\n": false, "a: {b}\n": false, "a: {b: c:d}\n": false, "a: [fd00::/64]\n": true, "a: {b: [fd00::/64]}\n": false,
		"---\na: b\n": false, "a: b\n...\n": false, "- - a\n": false, "-\n  a: b\n": false, "? a\n": false, "a: ü\n": false, "1: a\n": false, "true: a\n": false,
		"": false, "a\n": false, "a: 0x1f\n": true, "a: 1.5\n": true, "a: 1.30.2\n": true, "a: 010\n": true, "a: -.inf\n": true, "a: -\n": false, "a: @b\n": false,
		"a: 0 # b\n": true, "a: 0 \nb: 0\n": false, "a: x \n": false,
	} {
		if got := holdsQuick(t, text); got != want {
			t.Errorf("read quickly: %t, want %t: %q", got, want, text)
		}
	}
}

// FuzzQuick: the library reads everything that the quick reader reads, with the same result.
func FuzzQuick(f *testing.F) {
	for _, text := range written(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { holdsQuick(t, text) })
}

func BenchmarkRead(b *testing.B) {
	text := ordinary(b) + "  hooks:\n  - name: x\n    manifest: |\n" + strings.Repeat("      ExecStart=/usr/bin/true --with some --words\n", 2000)
	b.Run("quick", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			if readQuickly(text) == nil {
				b.Fatal("gave up")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			d := New(Source{Path: "cluster.yaml", Data: []byte(text)})
			if d.read() == nil {
				b.Fatal(d.Diags)
			}
		}
	})
}
