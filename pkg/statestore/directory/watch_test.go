package directory

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// The look of every ten seconds lists no directory without a change, also where a manifest is added
// or removed. The lines that keep it: watch.go, Watch and glance; scan.go, scan.
func TestALookListsNoDirectoryAgain(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		at := filepath.Join(dir, "c", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("cluster.yaml")
	for i := range 200 {
		write(fmt.Sprintf("nodes/node-%d.yaml", i))
	}
	if is := seenAs(os.Stat(filepath.Join(dir, "c/nodes"))); !hostfs.AwaitTick(is.info()) {
		t.Fatal("the clock stands still")
	}
	d, err := New(dir, "c", nil)
	if err != nil {
		t.Fatal(err)
	}
	first, dirs := d.glance(t.Context(), nil)
	whole := testing.AllocsPerRun(3, func() { d.glance(t.Context(), nil) })
	again := testing.AllocsPerRun(3, func() { d.glance(t.Context(), dirs) })
	if whole-again < 200 {
		t.Errorf("a look takes %.0f objects, another one after it %.0f", whole, again)
	}
	if now, _ := d.glance(t.Context(), dirs); now != first {
		t.Error("nothing happened, and it is another one")
	}
	write("manifest")
	published, none := d.glance(t.Context(), dirs)
	if err := os.Remove(filepath.Join(dir, "c/manifest")); err != nil {
		t.Fatal(err)
	}
	if now, _ := d.glance(t.Context(), none); published == first || now != first {
		t.Error("the manifest makes no difference, or stays one")
	}
}

// A long look delays the next one, but never by more than a minute. The line that keeps it:
// watch.go, rest.
func TestASlowLookDelaysTheNextALittle(t *testing.T) {
	const tick = 10 * time.Second
	for took, want := range map[time.Duration]time.Duration{
		time.Millisecond: tick, 20 * time.Millisecond: 40 * time.Second, 100 * time.Millisecond: time.Minute, time.Hour: time.Minute,
	} {
		if got := rest(took, tick); got != want {
			t.Errorf("after a look of %s the pause is %s, want %s", took, got, want)
		}
	}
}
