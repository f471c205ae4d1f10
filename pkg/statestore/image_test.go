package statestore_test

import (
	"testing"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/disk"
)

// A store on an image is read again each time, because a later image in its place can have the same
// metadata and other documents. The lines that keep it: pkg/statestore/directory/scan.go, date;
// pkg/statestore/directory/read.go (OfImage).
func TestStoreOnAnImageIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	store := openIn(dir)(t, "c")
	var last statestore.Revision
	for _, mtu := range []string{"1500", "1450"} {
		unmount := disk.MountImage(t, dir, map[string]string{
			"/c/cluster.yaml": "kind: Cluster # mtu " + mtu + "\n", "/c/files/conf": mtu,
		})
		s, err := store.Fetch(t.Context(), last)
		if err != nil {
			t.Fatalf("mtu %s: %v", mtu, err)
		}
		last = s.Revision
		unmount()
	}
}
