package hostfs

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"
)

// asLater makes this process act as a later one from now on.
func asLater(t *testing.T) {
	t.Helper()
	start, token := processStart, processToken
	processStart, processToken = time.Now().Add(time.Minute), "LATERLATER"
	t.Cleanup(func() { processStart, processToken = start, token })
}

// setOf returns a set of three files: one is new, one is replaced, and one gets only another mode.
func setOf(t *testing.T) (h *readWriter, root string, old, fresh map[string]string) {
	t.Helper()
	h, root = image(t)
	must(t, os.MkdirAll(root+"/etc/a", 0o755), os.MkdirAll(root+"/etc/b", 0o755))
	for name, content := range map[string]string{"/etc/a/ca": "old ca", "/etc/b/key": "key"} {
		must(t, h.WriteFile(context.Background(), name, []byte(content), self(0o644)))
	}
	old = map[string]string{"/etc/a/ca": "-rw-r--r-- old ca", "/etc/b/key": "-rw-r--r-- key"}
	fresh = map[string]string{"/etc/a/ca": "-rw-r--r-- new ca", "/etc/a/cert": "-rw-r--r-- cert", "/etc/b/key": "-rw------- key"}
	return h, root, old, fresh
}

func staged(t *testing.T, h *readWriter) *Batch {
	t.Helper()
	b := h.Batch()
	b.Atomic()
	must(t, b.Put("/etc/a/ca", []byte("new ca"), self(0o644)), b.Put("/etc/a/cert", []byte("cert"), self(0o644)), b.Put("/etc/b/key", []byte("key"), self(0o600)))
	must(t, b.syncFiles())
	return b
}

// sameFiles compares all files, also staged ones.
func sameFiles(t *testing.T, root string, want map[string]string) {
	t.Helper()
	got := readTree(t, root)
	maps.DeleteFunc(got, func(_, is string) bool { return strings.HasPrefix(is, "d") })
	if !maps.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The next run completes a run that died after any number of renames, before it looks at anything.
// With the intent on the disk all files become new, and before that all stay old. The line that
// keeps it: batch_intents.go, complete (publish). test/torture proves that Commit writes the
// intent.
func TestTogetherOrNotAtAll(t *testing.T) {
	for renames := -1; renames <= 3; renames++ {
		t.Run(fmt.Sprint(renames, " renames"), func(t *testing.T) {
			h, root, old, want := setOf(t)
			b := staged(t, h)
			if renames >= 0 {
				must(t, b.announce())
			} else {
				want = old
			}
			for i := range renames {
				must(t, b.all[i].rename(true))
			}
			asLater(t)
			later := openImage(t, Options{Root: root})
			n, err := later.Recover(context.Background())
			if err != nil || n != min(renames+1, 1) {
				t.Errorf("Recover returns %d, %v", n, err)
			}
			later.RemoveStale([]string{"/etc/a", "/etc/b"})
			sameFiles(t, root, want)
			if n, err := later.Recover(context.Background()); n != 0 || err != nil {
				t.Errorf("again: %d, %v", n, err)
			}
		})
	}
}

func TestCommitLeavesNoIntent(t *testing.T) {
	h, root, _, want := setOf(t)
	must(t, staged(t, h).Commit(context.Background()))
	asLater(t)
	sameFiles(t, root, want)
	if list, err := Interrupted(openImage(t, Options{Root: root})); err != nil || len(list) > 0 {
		t.Errorf("Interrupted returns %q, %v", list, err)
	}
}

// A batch that cannot be completed is undone as a whole, and that is reported.
func TestRecoverTakesBackWhatCannotBeCompleted(t *testing.T) {
	h, root, old, _ := setOf(t)
	b := staged(t, h)
	must(t, b.announce(), b.all[0].rename(true))
	must(t, os.Remove(root+"/etc/b/key"), os.Mkdir(root+"/etc/b/key", 0o755))
	asLater(t)
	later := openImage(t, Options{Root: root})
	if _, err := later.Recover(context.Background()); err == nil || !strings.Contains(err.Error(), "/etc/b/key") {
		t.Errorf("got %v", err)
	}
	delete(old, "/etc/b/key")
	sameFiles(t, root, old)
	if _, err := os.Stat(root + "/etc/b/key"); err != nil {
		t.Error(err)
	}
}

// An intent that a power cut damaged is ignored. An intent that a power cut brought back changes
// nothing that somebody wrote since.
func TestIntentsThatSayNothing(t *testing.T) {
	h, root, _, want := setOf(t)
	b := staged(t, h)
	must(t, b.announce())
	intent, err := os.ReadFile(root + b.intent)
	must(t, err)
	must(t, b.publish(), b.conclude())
	must(t, os.WriteFile(root+"/etc/a/cert", []byte("a person's"), 0o644))
	want["/etc/a/cert"] = "-rw-r--r-- a person's"
	must(t, os.WriteFile(root+b.intent, intent, 0o600), os.WriteFile(root+StateDir+"/batch-ABCDEFGHIJ-00000001.json", intent[:40], 0o600))
	asLater(t)
	if n, err := openImage(t, Options{Root: root}).Recover(context.Background()); n != 2 || err != nil {
		t.Errorf("Recover returns %d, %v, want %v", n, err, 2)
	}
	sameFiles(t, root, want)
}

// A file of a set is neither staged nor in place, since its mount is missing. The set is left whole
// while its mount may still come, and completed when it is there. When the agent no longer waits
// for the mount, it completes the set without that file. A set that cannot be read is left, too.
// The line that keeps it: batch_intents.go, complete (s.temp).
func TestRecoverLeavesASetWithoutItsMount(t *testing.T) {
	for name, away := range map[string]func(dir string) error{
		"no directory":   func(string) error { return nil },
		"a mount point":  func(dir string) error { return os.Mkdir(dir, 0o755) },
		"not to be read": func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			h, root, _, want := setOf(t)
			b := staged(t, h)
			must(t, b.announce(), b.all[0].rename(true))
			asLater(t)
			later := openImage(t, Options{Root: root})
			mounted := readTree(t, root)
			must(t, os.Rename(root+"/etc/b", root+"/away"), away(root+"/etc/b"))
			unmounted := readTree(t, root)
			if _, err := RecoverAtBoot(context.Background(), later.Writer); err == nil || !strings.Contains(err.Error(), "/etc/b") {
				t.Errorf("got %v", err)
			}
			if got := readTree(t, root); !maps.Equal(got, unmounted) {
				t.Errorf("got  %q\nwant %q", got, unmounted)
			}
			must(t, os.RemoveAll(root+"/etc/b"), os.Rename(root+"/away", root+"/etc/b"))
			if got := readTree(t, root); !maps.Equal(got, mounted) {
				t.Errorf("got  %q\nwant %q", got, mounted)
			}
			if n, err := RecoverAtBoot(context.Background(), later.Writer); n != 1 || err != nil {
				t.Errorf("RecoverAtBoot returns %d, %v, want %v", n, err, 1)
			}
			sameFiles(t, root, want)
		})
	}
}

func TestRecoverEndsASetWhoseDirectoryWent(t *testing.T) {
	h, root, _, want := setOf(t)
	must(t, staged(t, h).announce(), os.RemoveAll(root+"/etc/b"))
	asLater(t)
	if n, err := openImage(t, Options{Root: root}).Recover(context.Background()); n != 1 || err != nil {
		t.Errorf("Recover returns %d, %v, want %v", n, err, 1)
	}
	delete(want, "/etc/b/key")
	sameFiles(t, root, want)
}
