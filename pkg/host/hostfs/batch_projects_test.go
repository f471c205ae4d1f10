package hostfs

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// A batch that fails restores a file with another project than its directory. The line that keeps
// it: batch_staged.go, undo.
func TestBatchGoesBackAcrossProjects(t *testing.T) {
	needs.Tool(t, "chattr")
	h, root := imageWithXFS(t)
	must(t, os.Mkdir(root+"/xfs/d", 0o755), h.WriteFile(t.Context(), "/xfs/d/a", []byte("old"), self(0o644)))
	if out, err := exec.Command("chattr", "-p", "7", "+P", root+"/xfs/d").CombinedOutput(); err != nil {
		t.Fatalf("chattr: %v\n%s", err, out)
	}
	b := h.Batch()
	defer b.Discard()
	must(t, b.Put("/xfs/d/a", []byte("new"), self(0o644)), b.Put("/xfs/d/b", []byte("new"), self(0o644)), os.Mkdir(root+"/xfs/d/b", 0o755))
	if err := b.Commit(t.Context()); !errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EXDEV) {
		t.Errorf("a directory came meanwhile: %v", err)
	}
	sameTree(t, root+"/xfs/d", map[string]string{"/a": "-rw-r--r-- old", "/b": "drwxr-xr-x"})
}
