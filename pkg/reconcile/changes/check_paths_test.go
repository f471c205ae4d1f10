package changes

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// starting is a systemd that has a job for each unit. test/e2e/mount_test.go uses the real one.
type starting struct{ host.Units }

func (starting) Unit(_ context.Context, name string) (systemd.UnitState, error) {
	return systemd.UnitState{Name: name, Active: "inactive", Job: true}, nil
}

// A mount is awaited whichever program generated its unit, and a plan looks for each unit once. The
// lines that keep it: check_paths.go, pendingMount; pkg/host/facts/unit_files.go, UnitFinder.
func TestMountUnitsAreSoughtOnce(t *testing.T) {
	root := t.TempDir()
	add := func(file string) {
		t.Helper()
		at := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	add("run/systemd/transient/srv-a.mount")
	add("run/systemd/generator.late/srv-b.mount")
	live, err := host.OpenBrief(host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = live.Close() })
	view := func() host.View {
		v := live.View()
		v.Units = starting{}
		return v
	}
	v := view()
	for file, want := range map[string]string{"/srv/a/deep/file": "/srv/a", "/srv/b/file": "/srv/b", "/srv/c/file": ""} {
		if got := pendingMount(t.Context(), v, file); got != want {
			t.Errorf("%s waits for %q, want %q", file, got, want)
		}
	}
	add("run/systemd/generator/srv-c.mount")
	if got := pendingMount(t.Context(), v, "/srv/c/file"); got != "" {
		t.Errorf("the same plan looked for the unit again: it waits for %s", got)
	}
	if got := pendingMount(t.Context(), view(), "/srv/c/file"); got != "/srv/c" {
		t.Errorf("the next plan waits for %q", got)
	}
}
