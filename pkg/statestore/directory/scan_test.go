package directory

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// It takes seconds to make twenty thousand files, so the test fills the listing without them.
func TestListingIsBounded(t *testing.T) {
	info, err := os.Stat("scan_test.go")
	if err != nil {
		t.Fatal(err)
	}
	l := listing{}
	for i := range manifest.MaxObjects {
		if err := l.add(strconv.Itoa(i), seenAs(info, nil)); err != nil {
			t.Fatalf("object %d: %v", i, err)
		}
	}
	if err := l.add("one more", seenAs(info, nil)); !errors.Is(err, manifest.ErrTooMany) {
		t.Errorf("one more than %d: %v", manifest.MaxObjects, err)
	}
}

// A directory is listed once while it does not change, and again when it changes. The line is
// `known.stamp == is.stamp` in names.
func TestScanListsAgainWhatChanged(t *testing.T) {
	dir := t.TempDir()
	make := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	make("c/cluster.yaml", "c/nodes/a.yaml", "c/nodes/b.yaml")
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	look := func(earlier map[string]names) (map[string]names, []string) {
		t.Helper()
		if is := seenAs(os.Stat(filepath.Join(dir, "c/nodes"))); !hostfs.AwaitTick(is.info()) {
			t.Fatal("the clock stands still")
		}
		l, err := scan(t.Context(), root, "c", earlier)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, o := range l.objects {
			names = append(names, o.name)
		}
		return l.dirs, names
	}
	first, all := look(nil)
	known := first["nodes"]
	known.list = known.list[:1] // a wrong list shows whether it was used
	first["nodes"] = known
	again, same := look(first)
	if !slices.Equal(all[:2], same) || len(all) != 3 {
		t.Errorf("nothing happened: %v, then %v", all, same)
	}
	make("c/nodes/c.yaml")
	if err := os.Remove(filepath.Join(dir, "c/nodes/a.yaml")); err != nil {
		t.Fatal(err)
	}
	last, now := look(again)
	if !slices.Equal(now, []string{"cluster.yaml", "nodes/b.yaml", "nodes/c.yaml"}) {
		t.Errorf("a file came and one went: %v", now)
	}
	if err := os.Rename(filepath.Join(dir, "c/nodes"), filepath.Join(dir, "nodes")); err != nil {
		t.Fatal(err)
	}
	if l, err := scan(t.Context(), root, "c", last); err != nil || l.dirs["nodes"].list != nil {
		t.Errorf("the names of a directory that went are kept: %v, %v", l.dirs, err)
	}
}

// A listing knows since when nothing in it has changed: files, names that were added or removed,
// and directories.
func TestListingSaysSinceWhenItRests(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, "c", name) }
	put := func(name string) error { return os.WriteFile(at(name), []byte("text"), 0o644) }
	if err := errors.Join(os.MkdirAll(at("nodes"), 0o755), os.MkdirAll(at("files/d"), 0o755), put("cluster.yaml"), put("nodes/a.yaml"),
		put("nodes/b.yaml"), put("files/d/f")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	look := func(cluster string) *listing {
		t.Helper()
		l, err := scan(t.Context(), root, cluster, nil)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for name, change := range map[string]func() error{
		"a file is written":          func() error { return put("cluster.yaml") },
		"its mode":                   func() error { return os.Chmod(at("nodes/a.yaml"), 0o600) },
		"a name came":                func() error { return put("nodes/c.yaml") },
		"a name went":                func() error { return os.Remove(at("nodes/b.yaml")) },
		"a directory has a new name": func() error { return os.Rename(at("files/d"), at("files/e")) },
		"it was away": func() error {
			return errors.Join(os.Rename(at(""), filepath.Join(dir, "away")), os.Rename(filepath.Join(dir, "away"), at("")))
		},
	} {
		time.Sleep(20 * time.Millisecond) // a tick of the file system's clock
		rested := time.Now()
		time.Sleep(20 * time.Millisecond)
		if look("c").changedSince(rested) {
			t.Errorf("%s: nothing happened yet", name)
		}
		if err := change(); err != nil {
			t.Fatalf("%s: change returns %v", name, err)
		}
		if !look("c").changedSince(rested) {
			t.Errorf("%s: not seen", name)
		}
	}
}

// A file that is written while it is read is not the file that was listed.
func TestReadSeesAChangeMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before := seenAs(f.Stat())
	if c := slurp(f, "f", make([]byte, before.size), before.stamp); c.changed || string(c.data) != "old" {
		t.Errorf("nothing happened: %+v", c)
	}
	if !hostfs.AwaitTick(before.info()) {
		t.Fatal("the clock stands still")
	}
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c := slurp(f, "f", make([]byte, before.size), before.stamp); !c.changed {
		t.Errorf("not seen: %+v", c)
	}
}

// A look at a store with many files that did not change holds each file's stamp, and the whole stat
// of only some of them. The line that keeps it: scan.go, statsAtOnce.
func TestScanAllocates(t *testing.T) {
	const files, mostBytes = 5 * statsAtOnce, 160 // 76, and 143 with the race detector
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "c/files/many"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, "c/files/many", strconv.Itoa(i)), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hostfs.AwaitTick(seenAs(os.Stat(filepath.Join(dir, "c/files/many"))).info())
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l, err := scan(t.Context(), root, "c", nil)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	again, err := scan(t.Context(), root, "c", l.dirs)
	runtime.ReadMemStats(&after)
	if err != nil || len(again.objects) != files || again.sum() != l.sum() {
		t.Fatalf("%d objects, want the same %d: %v", len(again.objects), files, err)
	}
	if each := (after.TotalAlloc - before.TotalAlloc) / files; each > mostBytes {
		t.Errorf("for each file %d bytes, want at most %d", each, mostBytes)
	}
}

// Only root believes what sudo says of its caller.
func TestOwnIDs(t *testing.T) {
	for _, c := range []struct {
		caller int
		sudo   string
		want   []uint32
	}{{0, "", []uint32{0, 0}}, {0, "1000", []uint32{0, 0, 1000}}, {0, "-1", []uint32{0, 0}}, {1000, "1001", []uint32{0, 1000}}} {
		t.Setenv("SUDO_UID", c.sudo)
		if got := ownIDs(c.caller, "SUDO_UID"); !slices.Equal(got, c.want) {
			t.Errorf("caller %d with SUDO_UID=%s: %v, want %v", c.caller, c.sudo, got, c.want)
		}
	}
}
