package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/test/needs"
)

// The copy of the program is made once in the life of a process, and again if somebody changed the
// copy. The line that keeps it: self_copy.go, copySelf.
func TestTheCopyIsMadeOnce(t *testing.T) {
	needs.Root(t) // it belongs to root
	root := t.TempDir()
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	made := filepath.Join(root, binaryFile)
	program, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(made), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	var last os.FileInfo
	for _, step := range []struct {
		after string
		do    func() error
		same  bool
	}{
		{after: "nothing", do: func() error { return nil }},
		{after: "the first", do: func() error { return nil }, same: true},
		{after: "its removal", do: func() error { return os.Remove(made) }},
		{after: "another mode", do: func() error { return os.Chmod(made, 0o600) }},
		{after: "another content", do: func() error {
			f, err := os.OpenFile(made, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteAt([]byte("theirs"), 64)
			}
			return err
		}},
		{after: "all of that", do: func() error { return nil }, same: true},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if err := copySelf(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(made)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(made); !bytes.Equal(got, program) || info.Mode() != 0o700 {
			t.Errorf("after %s: %d bytes with %s, want %d with 0700", step.after, len(got), info.Mode(), len(program))
		}
		if same := last != nil && os.SameFile(last, info) && last.ModTime().Equal(info.ModTime()); same != step.same {
			t.Errorf("after %s the copy is the same file: %v", step.after, same)
		}
		last = info
	}
}
