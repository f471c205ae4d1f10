package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/netwright/netwright/test/needs"
)

// A process that serves a disk may also open it. Without refusePoll it hangs, with one processor at
// once.
func TestWhoServesTheDiskMayOpenIt(t *testing.T) {
	needs.Root(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir := t.TempDir()
	image := filepath.Join(dir, "image")
	if err := os.WriteFile(image, []byte("what is on it"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := New(dir, image)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(d.Path()); err != nil || string(got) != "what is on it" {
		t.Errorf("ReadFile returns %q, %v, want %q", got, err, "what is on it")
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
