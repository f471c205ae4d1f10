package tasks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// A unit of an image is enabled and masked by links, also one of ours before its file is there. The
// lines that keep it: unit_state_image.go, linksOf and planLinks.
func TestUnitStateInAnImage(t *testing.T) {
	h, root := onDisk(t)
	ok(t, os.MkdirAll(root+"/usr/lib/systemd/system", 0o755))
	ok(t, os.WriteFile(root+"/usr/lib/systemd/systemd", nil, 0o755))
	ok(t, os.WriteFile(root+"/usr/lib/systemd/system/x.service", []byte("[Service]\nExecStart=true\n[Install]\nWantedBy=multi-user.target a.target\nRequiredBy=b.target\nAlias=y.service\n"), 0o644))
	ok(t, os.WriteFile(root+"/usr/lib/systemd/system/static.service", []byte("[Service]\nExecStart=true\n"), 0o644))
	ok(t, h.Close())
	h, err := host.Open(t.Context(), host.Options{Root: root})
	ok(t, err)
	t.Cleanup(func() { h.Close() })

	converge(t, h, UnitState{Name: "x.service", Enabled: new(true), Active: new(true)})
	for _, link := range []string{"multi-user.target.wants/x.service", "a.target.wants/x.service", "b.target.requires/x.service", "y.service"} {
		if target, err := os.Readlink(filepath.Join(root, unitDir, link)); err != nil || target != "/usr/lib/systemd/system/x.service" {
			t.Errorf("%s leads to %q (%v)", link, target, err)
		}
	}
	converge(t, h, UnitState{Name: "static.service", Masked: new(true)})
	if target, err := os.Readlink(filepath.Join(root, unitDir, "static.service")); err != nil || target != "/dev/null" {
		t.Errorf("masked: %q (%v)", target, err)
	}
	wantError(t, UnitState{Name: "static.service", Enabled: new(true)}, h.Live.View(), "masked by")
	empty := filepath.Join(root, unitDir, "empty.service")
	ok(t, os.WriteFile(empty, nil, 0o644))
	wantLines(t, plan(t, UnitState{Name: "empty.service", Masked: new(true)}, h.Live.View()))
	wantError(t, UnitState{Name: "empty.service", Enabled: new(true)}, h.Live.View(), "masked by")
	wantError(t, UnitState{Name: "none.service", Enabled: new(true)}, h.Live.View(), "none.service")
	if c := plan(t, UnitState{Name: "x.service", Active: new(true)}, h.Live.View()); c != nil {
		t.Errorf("nothing can be started in an image: %+v", c)
	}

	// A unit of ours is known before its file is there, where a mask is in its place.
	ok(t, os.Symlink("/dev/null", filepath.Join(root, unitDir, "u.service")))
	file := Unit{Name: "u.service", Content: []byte("[Service]\nExecStart=true\n[Install]\nWantedBy=c.target\n")}
	state := UnitState{Name: "u.service", Enabled: new(true), Active: new(true)}
	pending := host.NewPending(nil)
	pending.Add(plan(t, file, h.Live.View()).Pending...)
	wantLines(t, plan(t, state, pending.Over(h.Live.View())), "~ unit:u.service, enabled →enabled")
	converge(t, h, file)
	converge(t, h, state)
	if _, err := os.Readlink(filepath.Join(root, unitDir, "c.target.wants/u.service")); err != nil {
		t.Error(err)
	}
	converge(t, h, DropIn{Unit: "x.service", Name: "10-a.conf", Content: []byte("[Service]\n")})
	wantFile(t, filepath.Join(root, unitDir, "x.service.d/10-a.conf"), "[Service]\n", 0o644, 0)
	converge(t, h, Mount{What: "bpffs", Where: "/sys/fs/bpf", Type: "bpf"})
	if _, err := os.Readlink(filepath.Join(root, unitDir, "local-fs.target.wants/sys-fs-bpf.mount")); err != nil {
		t.Error(err)
	}
}

func TestNoSystemdHere(t *testing.T) {
	h, err := host.Open(t.Context(), host.Options{Sandbox: true})
	ok(t, err)
	t.Cleanup(func() { h.Close() })
	v := asked(h, DaemonReload, "file:x")
	for _, task := range []Task{
		UnitState{Name: "x.service", Enabled: new(true)},
		Effect{Action: ActionDaemonReload},
		Mount{What: "bpffs", Where: "/mnt/no-such-place", Type: "bpf"},
	} {
		if c := plan(t, task, v); c == nil || c.NotApplicable != "no systemd here" {
			t.Errorf("%v: planned %+v", task.Owns(), c)
		}
	}
}

func TestMountThatCannotBe(t *testing.T) {
	h, _ := onDisk(t)
	wantError(t, Mount{What: "x", Where: "relative", Type: "tmpfs"}, h.Live.View(), "absolute path")
	wantError(t, Mount{What: "x\nExecStart=y", Where: "/x", Type: "tmpfs"}, h.Live.View(), "line end")
}
