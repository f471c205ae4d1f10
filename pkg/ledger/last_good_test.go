package ledger

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/test/needs"
)

// full is a disk that accepts contents, and no head.
type full struct{ *hostfs.Writer }

func (f full) WriteFile(ctx context.Context, path string, content []byte, spec hostfs.FileSpec) error {
	if path == lastGoodFile {
		return errors.New("no space left")
	}
	return f.Writer.WriteFile(ctx, path, content, spec)
}

// Whatever happens between the contents and the head that names them, the former configuration
// stays whole. Contents that no head names are removed with the next one.
func TestLastGoodIsTheOldOneOrTheNewOne(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	l, h := open(t, root)
	keep := func(w Host, generation int64, content string) error {
		g := LastGood{Store: "s3://b/c", Cluster: "c", Generation: generation}
		return l.SaveLastGood(t.Context(), w, g, []byte("manifest "+content), []byte("objects "+content))
	}
	expect := func(generation int64, content string) {
		t.Helper()
		g, err := ReadLastGood(h.Live.Files)
		if err != nil || g == nil || g.Generation != generation || !g.Intact(h.Live.Files) {
			t.Fatalf("ReadLastGood returns %+v, %v", g, err)
		}
		if data, err := Blob(h.Live.Files, g.Objects); err != nil || string(data) != "objects "+content {
			t.Errorf("Blob returns %q, %v", data, err)
		}
	}
	if g, err := ReadLastGood(h.Live.Files); g != nil || err != nil {
		t.Errorf("of nothing: %+v, %v", g, err)
	}
	if err := keep(h.Files, 1, "one"); err != nil {
		t.Fatal(err)
	}
	expect(1, "one")
	if err := keep(full{h.Files}, 2, "two"); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("kept on a full disk: %v; want no space left", err)
	}
	expect(1, "one")
	if err := keep(h.Files, 3, "three"); err != nil {
		t.Fatal(err)
	}
	expect(3, "three")
	if blobs, err := h.Live.Files.ReadDir(blobDir); err != nil || len(blobs) != 2 {
		t.Errorf("contents %q, %v; want the two of the last", blobs, err)
	}

	// The contents of the former head stay as they are, because a kill after their removal would
	// lose it.
	g, _ := ReadLastGood(h.Live.Files)
	stat := func() os.FileInfo {
		t.Helper()
		info, err := os.Stat(filepath.Join(root, blobDir, g.Objects.String()))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	was := stat()
	if err := keep(h.Files, 4, "three"); err != nil {
		t.Fatal(err)
	}
	if expect(4, "three"); !os.SameFile(was, stat()) {
		t.Error("a content that is whole was written again")
	}

	// Here the agent writes a damaged content again, with its head.
	damaged := filepath.Join(root, blobDir, g.Objects.String())
	if err := os.WriteFile(damaged, []byte("objects thre"), 0o600); err != nil {
		t.Fatal(err)
	}
	if g.Intact(h.Live.Files) {
		t.Error("a damaged content is called whole")
	}
	if err := keep(h.Files, 3, "three"); err != nil {
		t.Fatal(err)
	}
	expect(3, "three")
	for _, text := range []string{"{", "{}", "null", ""} {
		if err := os.WriteFile(filepath.Join(root, lastGoodFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if g, err := ReadLastGood(h.Live.Files); g != nil || err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: ReadLastGood returns %+v, %v", text, g, err)
		}
	}
}

// denied is a host whose security policy forbids everybody to read the last good configuration.
type denied struct{ Reader }

func (denied) ReadFile(string) ([]byte, error) { return nil, fs.ErrPermission }

// A file that root may not read may be there. The line that keeps it: state_files.go, isMissing.
func TestALastGoodThatRootMayNotReadIsNotAbsent(t *testing.T) {
	needs.Root(t)
	if g, err := ReadLastGood(denied{}); g != nil || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("ReadLastGood returns %+v, %v", g, err)
	}
}
