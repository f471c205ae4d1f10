package tasks

import (
	"os"
	"testing"
	"time"
)

// A file whose time of change was the epoch comes back with it, as with any other: 0 is a time. The
// lines that keep it: path_baseline.go, Restore; pkg/host/hostfs/batch_staged.go, Close (setTime).
func TestTheEpochComesBack(t *testing.T) {
	h, root := onDisk(t)
	f := File{Path: "/etc/app.conf", Content: []byte("ours"), Mode: 0o644}
	epoch := time.Unix(0, 0)
	ok(t, os.Mkdir(root+"/etc", 0o755), os.WriteFile(root+f.Path, []byte("was"), 0o600), os.Chtimes(root+f.Path, epoch, epoch))
	was, err := anyPath(f.Path).Baseline(t.Context(), h.Live.View())
	ok(t, err)
	converge(t, h, f)
	ok(t, anyPath(f.Path).Restore(t.Context(), h, was))
	wantFile(t, root+f.Path, "was", 0o600, 0)
	if same, err := anyPath(f.Path).Restored(t.Context(), h.Live.View(), was); err != nil || !same {
		info, _ := os.Stat(root + f.Path)
		t.Errorf("restored: %v, %v; the time is %v", same, err, info.ModTime())
	}
}
