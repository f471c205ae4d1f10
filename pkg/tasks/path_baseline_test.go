package tasks

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

// A file with the epoch as its time is restored with that time, as with any other: 0 is a time. The
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

// A symlink whose target is no UTF-8 is restored as it was, also from the JSON of a ledger. The
// lines that keep it: path_baseline.go, Live, Baseline and Restore (RawTarget).
func TestATargetOfBytesComesBack(t *testing.T) {
	h, root := onDisk(t)
	const target = "/opt/\xff\xfe"
	ok(t, os.Symlink(target, root+"/link"))
	is, err := anyPath("/link").Baseline(t.Context(), h.Live.View())
	ok(t, err)
	text, err := json.Marshal(is)
	ok(t, err)
	var was Baseline
	ok(t, json.Unmarshal(text, &was), os.Remove(root+"/link"), os.Symlink("/opt/\ufffd\ufffd", root+"/link"))
	if same, err := anyPath("/link").Restored(t.Context(), h.Live.View(), was); err != nil || same {
		t.Errorf("another target is the former one: %v, %v", same, err)
	}
	ok(t, anyPath("/link").Restore(t.Context(), h, was))
	got, err := os.Readlink(root + "/link")
	ok(t, err)
	if same, err := anyPath("/link").Restored(t.Context(), h.Live.View(), was); got != target || err != nil || !same {
		t.Errorf("%q, restored: %v, %v", got, same, err)
	}
}
