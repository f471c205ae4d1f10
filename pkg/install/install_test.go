package install

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host"
	hostsystemd "github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/service"
	"github.com/netwright/netwright/systemd"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// The program of a unit is found wherever packages, images and people install units, and only
// people's own is removed. The lines that keep it: install.go, installedProgram; remove.go.
func TestUnitsInEachDirectory(t *testing.T) {
	const program = "/opt/n/bin/" + programName
	for _, dir := range hostsystemd.InstalledUnitDirs {
		root := t.TempDir()
		hostroot.Put(t, root, program, "")
		hostroot.Put(t, root, dir+"/"+service.Unit, systemd.WithProgram(systemd.Agent, program))
		files, err := host.OpenFiles(host.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		if got := installedProgram(files); got != program {
			t.Errorf("with the unit in %s the program is %q", dir, got)
		}
		_ = files.Close()
		_, err = Installation{Host: host.Options{Root: root}}.DryRunRemove(t.Context())
		if refused := err != nil && strings.Contains(err.Error(), "a package brought "+dir); refused != (dir != hostsystemd.AdminUnitDir) {
			t.Errorf("with the unit in %s: %v", dir, err)
		}
	}
}

// An installation takes no checkpoint, and its plan names no class of a change. A package brings
// the preset of its units itself: one in /etc would stay when the package goes. The lines that
// keep it: install.go, each (Class) and unitTasks (own).
func TestPlanOfAnInstallation(t *testing.T) {
	for _, packaged := range []bool{false, true} {
		root := t.TempDir()
		for _, path := range []string{"/usr/bin/" + programName, "/etc/os-release", "/usr/lib/systemd/systemd"} {
			hostroot.Put(t, root, path, "")
		}
		if packaged {
			for _, unit := range units {
				hostroot.Put(t, root, "/usr/lib/systemd/system/"+unit.name, unit.text)
			}
		}
		program := blob.Of([]byte("\x7fELF"))
		plan, err := Installation{Host: host.Options{Root: root}, Program: program, Arch: runtime.GOARCH, Enable: true}.DryRun(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		preset := slices.ContainsFunc(plan.Steps, func(s report.Step) bool { return s.Key == "file:"+presetFile })
		if preset == packaged {
			t.Errorf("with the units of a package (%v): the preset is written: %v", packaged, preset)
		}
		if plan.Class != "" || plan.ClassWhy != "" {
			t.Errorf("the class is %q (%s)", plan.Class, plan.ClassWhy)
		}
	}
}

// A unit that a person masked stays masked, with and without a package, and the warning says how
// it starts again. The line that keeps it: install.go, masked.
func TestAMaskedUnitStaysMasked(t *testing.T) {
	for _, dir := range []string{"/etc/systemd/system/", "/run/systemd/system/"} {
		root := t.TempDir()
		for _, path := range []string{"/usr/bin/" + programName, "/etc/os-release", "/usr/lib/systemd/systemd"} {
			hostroot.Put(t, root, path, "")
		}
		link := filepath.Join(root, dir, service.Unit)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink("/dev/null", link)); err != nil {
			t.Fatal(err)
		}
		plan, err := Installation{Host: host.Options{Root: root}, Program: blob.Of([]byte("agent")), Arch: runtime.GOARCH, Enable: true}.DryRun(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, step := range plan.Steps {
			keys = append(keys, step.Key)
		}
		said := slices.ContainsFunc(plan.Notes, func(n report.Note) bool { return strings.Contains(n.Text, "systemctl unmask "+service.Unit) })
		if slices.Contains(keys, "file:"+unitsDir+service.Unit) || slices.Contains(keys, "unit:"+service.Unit) || !said {
			t.Errorf("masked in %s: the plan has %q, and says %v", dir, keys, plan.Notes)
		}
	}
}

// A copy that an install with another prefix or a package brought is named, because a shell may
// find it first, and nothing updates it.
func TestOtherCopiesAreNamed(t *testing.T) {
	root := t.TempDir()
	const program = "/opt/netwright/bin/" + programName
	for _, path := range []string{"/usr/bin/" + programName, program, "/etc/os-release", "/usr/lib/systemd/systemd"} {
		hostroot.Put(t, root, path, "")
	}
	hostroot.Put(t, root, "/etc/systemd/system/"+service.Unit, systemd.WithProgram(systemd.Agent, program))
	view, err := host.OpenView(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	_, notes, err := Installation{Arch: view.Facts.Arch}.tasks(t.Context(), view.View())
	var warned []string
	for _, n := range notes {
		if n.Level == "warning" {
			warned = append(warned, n.Text)
		}
	}
	if text := strings.Join(warned, "\n"); err != nil || !strings.HasPrefix(text, "/usr/bin/netwright is another copy") || len(warned) != 1 {
		t.Errorf("tasks warns %q, %v", text, err)
	}
}

// Root runs the program. So no other user may replace it, or a directory on the way to it.
func TestOnlyRootMayReplaceTheProgram(t *testing.T) {
	needs.Root(t)
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := host.OpenFiles(host.Options{Root: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	prefix := dir + "/theirs/agent"
	for _, c := range []struct {
		uid  int
		mode os.FileMode
		want string
	}{{0, 0o755, ""}, {0, 0o775, ""}, {0, 0o777 | os.ModeSticky, ""}, {0, 0o777, "belongs to user 0 and has mode -rwxrwxrwx"}, {1000, 0o755, "belongs to user 1000"}} {
		if err := errors.Join(os.RemoveAll(filepath.Dir(prefix)), os.MkdirAll(prefix, 0o755), os.Chown(filepath.Dir(prefix), c.uid, 0),
			os.Chmod(filepath.Dir(prefix), c.mode)); err != nil {
			t.Fatal(err)
		}
		got, err := Installation{Host: host.Options{Root: "/"}, Prefix: prefix}.program(files)
		if c.want == "" && (err != nil || got != prefix+"/bin/netwright") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("below a directory of user %d with mode %v: program returns %q, %v", c.uid, c.mode, got, err)
		}
	}
}
