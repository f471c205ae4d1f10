package directory

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// Twenty thousand files take a test seconds to make; the listing is filled without them.
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

// A directory is listed once while nothing happens in it, and again when something does. The line
// is `known.stamp == is.stamp` in names.
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
	look := func(earlier *listing) (*listing, []string) {
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
		return l, names
	}
	first, all := look(nil)
	known := first.dirs["nodes"]
	known.list = known.list[:1] // the lie shows whether it was believed
	first.dirs["nodes"] = known
	again, same := look(first)
	if !slices.Equal(all[:2], same) || len(all) != 3 {
		t.Errorf("nothing happened: %v, then %v", all, same)
	}
	make("c/nodes/c.yaml")
	if err := os.Remove(filepath.Join(dir, "c/nodes/a.yaml")); err != nil {
		t.Fatal(err)
	}
	if _, now := look(again); !slices.Equal(now, []string{"cluster.yaml", "nodes/b.yaml", "nodes/c.yaml"}) {
		t.Errorf("a file came and one went: %v", now)
	}
}
