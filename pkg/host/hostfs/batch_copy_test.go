package hostfs

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/test/disk"
	"github.com/netwright/netwright/test/needs"
)

// copied makes one copy and puts it in place.
func copied(ctx context.Context, h *readWriter, from, to string, want Member) error {
	b := h.Batch()
	if err := b.Copy(from, to, self(0o640), want); err != nil {
		return errors.Join(err, b.Commit(ctx))
	}
	return b.Commit(ctx)
}

// A copy has the wanted content, or it is not there. What is written into the one file in place
// does not change the other. The lines that keep it: batch_copy.go, Copy (both comparisons).
func TestCopy(t *testing.T) {
	ctx := t.Context()
	h, root := image(t)
	must(t, os.WriteFile(root+"/from", []byte("content"), 0o600))
	want := Member{SHA256: blob.Of([]byte("content")).Sum, Size: 7}
	must(t, copied(ctx, h, "/from", "/dir/to", want))
	must(t, os.WriteFile(root+"/from", []byte("CONTENT"), 0o600)) // in place
	var damaged *CopyError
	if err := copied(ctx, h, "/from", "/dir/to", want); !errors.As(err, &damaged) {
		t.Errorf("of the same size: %v", err)
	}
	must(t, os.Truncate(root+"/from", 3))
	if err := copied(ctx, h, "/from", "/dir/to", want); !errors.As(err, &damaged) {
		t.Errorf("of another size: %v", err)
	}
	if err := copied(ctx, h, "/absent", "/dir/to", want); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	sameTree(t, root, map[string]string{"/from": "-rw------- CON", "/dir": "drwxr-xr-x", "/dir/to": "-rw-r----- content"})
}

// imageWithXFS returns an image with a file system of its own at /xfs.
func imageWithXFS(t *testing.T) (h *readWriter, root string) {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "mkfs.xfs")
	h, root = image(t)
	file := filepath.Join(t.TempDir(), "disk")
	must(t, disk.Make(file, "xfs", 320<<20), os.Mkdir(root+"/xfs", 0o755), disk.Mount(file, root+"/xfs", "xfs", ""))
	t.Cleanup(func() { _ = unix.Unmount(root+"/xfs", unix.MNT_DETACH) })
	return h, root
}

// On XFS a copy takes no room. This holds also between two mounts of one file system, since each
// writable path of a unit is a mount. The line that keeps it: batch_copy.go, fill (IoctlFileClone).
func TestCopySharesBlocks(t *testing.T) {
	ctx := t.Context()
	h, root := imageWithXFS(t)
	for _, dir := range []string{"/xfs/a", "/xfs/b"} {
		must(t, os.Mkdir(root+dir, 0o755))
		mount(t, root+dir, root+dir, "", unix.MS_BIND, "")
	}
	content := make([]byte, 32<<20)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	must(t, h.WriteFile(ctx, "/xfs/a/from", content, self(0o644)))
	before, err := Room(h.files, "/xfs/b")
	must(t, err, copied(ctx, h, "/xfs/a/from", "/xfs/b/to", Member{SHA256: blob.Of(content).Sum, Size: int64(len(content))}))
	after, err := Room(h.files, "/xfs/b")
	if must(t, err); before-after > 1<<20 {
		t.Errorf("the copy took %d bytes of %d", before-after, len(content))
	}
	from, err := os.OpenFile(root+"/xfs/a/from", os.O_WRONLY, 0)
	must(t, err)
	_, err = from.WriteAt(bytes.Repeat([]byte{0}, 4096), 0)
	must(t, err, from.Close())
	if got, err := os.ReadFile(root + "/xfs/b/to"); err != nil || !bytes.Equal(got, content) {
		t.Errorf("what was written to the one is in the other: %v", err)
	}
}
