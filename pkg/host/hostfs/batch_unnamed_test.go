package hostfs

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// unpackUnnamed unpacks into an unnamed batch, with a file beside it.
func unpackUnnamed(t *testing.T, h *readWriter, packed []byte, members ...string) *Batch {
	t.Helper()
	b := h.Batch()
	b.Unnamed()
	t.Cleanup(b.Discard)
	_, err := b.Unpack(t.Context(), bytes.NewReader(packed), unpacking(packed, members...))
	must(t, err, b.Put("/var/receipt", []byte("known"), self(0o600)))
	return b
}

// Before its commit nothing of an unnamed batch can be seen, not even a directory. After it all of
// it can. It replaces existing files. A discarded batch leaves nothing. The lines that keep it:
// batch_unnamed.go, openNearest and nameFile; batch.go, scratch (xz).
func TestUnnamedBatchIsNotSeen(t *testing.T) {
	plain := tarOf(t, entry{name: "bridge", content: "a binary"}, entry{name: "loopback", content: "lo"})
	for how := range packings {
		t.Run(how, func(t *testing.T) {
			h, root := image(t)
			packed := pack(t, how, plain)
			b := unpackUnnamed(t, h, packed, "bridge", "loopback")
			sameTree(t, root, nil)
			b.Discard()
			sameTree(t, root, nil)

			b = unpackUnnamed(t, h, packed, "bridge", "loopback")
			must(t, os.MkdirAll(root+"/opt/bin", 0o755), os.WriteFile(root+"/opt/bin/bridge", []byte("old"), 0o600), b.Commit(t.Context()))
			sameTree(t, root, map[string]string{"/opt": "drwxr-xr-x", "/opt/bin": "drwxr-xr-x", "/opt/bin/bridge": "-rwxr-xr-x a binary",
				"/opt/bin/loopback": "-rwxr-xr-x lo", "/var": "drwxr-xr-x", "/var/receipt": "-rw------- known"})
		})
	}
}

// The commit of an unnamed batch finds what is in its way, and changes nothing.
func TestUnnamedBatchInTheWay(t *testing.T) {
	h, root := image(t)
	packed := tarOf(t, entry{name: "bridge", content: "a binary"}, entry{name: "loopback", content: "lo"})
	b := unpackUnnamed(t, h, packed, "bridge", "loopback")
	must(t, os.MkdirAll(root+"/opt/bin/loopback", 0o755))
	var way *hostpath.InTheWayError
	if err := b.Commit(t.Context()); !errors.As(err, &way) {
		t.Errorf("commit: %v", err)
	}
	sameTree(t, root, map[string]string{"/opt": "drwxr-xr-x", "/opt/bin": "drwxr-xr-x", "/opt/bin/loopback": "drwxr-xr-x"})
}

// An unnamed batch takes at most half of the free room, so that other writers have the rest. The
// line that keeps it: batch_staged.go, Write (room).
func TestUnnamedBatchLeavesRoom(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	must(t, os.Mkdir(root+"/opt", 0o755))
	mount(t, "tmpfs", root+"/opt", "tmpfs", 0, "size=1m")
	packed := tarOf(t, entry{name: "bridge", content: pseudoRandom(600 << 10)})
	b := h.Batch()
	b.Unnamed()
	defer b.Discard()
	if _, err := b.Unpack(t.Context(), bytes.NewReader(packed), unpacking(packed, "bridge")); !errors.Is(err, errHalfOfRoom) {
		t.Errorf("unpack: %v", err)
	}
	must(t, os.WriteFile(root+"/opt/journal", bytes.Repeat([]byte("x"), 400<<10), 0o600))
}

// A file system was mounted at the batch's directory meanwhile. The commit says so and changes
// nothing.
func TestUnnamedBatchBelowANewMount(t *testing.T) {
	needs.Root(t)
	h, root := image(t)
	packed := tarOf(t, entry{name: "bridge", content: "a binary"})
	b := unpackUnnamed(t, h, packed, "bridge")
	must(t, os.MkdirAll(root+"/opt/bin", 0o755))
	mount(t, "tmpfs", root+"/opt/bin", "tmpfs", 0, "")
	if err := b.Commit(t.Context()); !errors.Is(err, unix.EXDEV) {
		t.Errorf("commit: %v", err)
	}
	sameTree(t, root+"/opt/bin", nil)
}
