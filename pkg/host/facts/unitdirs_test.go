package facts

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// The directories of units are those of systemd, in its order. The line that keeps it:
// unit_files.go, UnitDirs.
func TestUnitDirsAreThoseOfSystemd(t *testing.T) {
	out, err := exec.Command("systemd-analyze", "--system", "unit-paths").Output()
	if err != nil {
		t.Skipf("systemd-analyze: %v", err)
	}
	const split = "/lib/systemd/system" // the same directory as in /usr/lib, or a choice of the distribution
	ours := slices.DeleteFunc(slices.Clone(UnitDirs), func(dir string) bool { return dir == split })
	theirs := slices.DeleteFunc(strings.Fields(string(out)), func(dir string) bool { return dir == split })
	if !slices.Equal(ours, theirs) {
		t.Errorf("ours are\n%s\nthose of systemd\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
}

// A unit's file in each directory counts before those of lower priority, and a mount unit is found
// in each. The lines that keep it: unit_files.go, ReadUnitFile and UnitFinder.
func TestEachUnitDirCounts(t *testing.T) {
	root := t.TempDir()
	for _, dir := range slices.Backward(UnitDirs) {
		name := strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-") + ".mount"
		write(t, path.Join(root, dir, "kubelet.service"), "[Service]\nExecStart=/usr/bin/kubelet\n")
		write(t, path.Join(root, dir, name), "[Mount]\n")
		files := sourcesOf(t, Options{Root: root}).files
		u, err := ReadUnitFile(files, "kubelet.service")
		if err != nil || u.Fragment != path.Join(dir, "kubelet.service") {
			t.Errorf("with one in %s the unit is %s, %v", dir, u.Fragment, err)
		}
		if !NewUnitFinder(files).Has(name) {
			t.Errorf("the mount unit in %s is not found", dir)
		}
	}
}

// A pass looks for units only in the directories that exist. The line that keeps it: gatherer.go,
// newGatherer.
func TestMissingUnitDirsAreLookedAtOnce(t *testing.T) {
	root := t.TempDir()
	write(t, path.Join(root, "/usr/lib/systemd/system/kubelet.service"), "[Service]\nExecStart=/usr/bin/kubelet\n")
	write(t, path.Join(root, "/run/systemd/transient/kubelet.service.d/x.conf"), "[Service]\nExecStart=\nExecStart=/opt/kubelet\n")
	g := newGatherer(sourcesOf(t, Options{Root: root}), &Facts{})
	if want := []string{"/run/systemd/transient", "/usr/lib/systemd/system"}; !slices.Equal(g.dirs, want) {
		t.Errorf("it looks in %v, want %v", g.dirs, want)
	}
	if g.kubelet(); g.facts.Kubelet.Program != "/opt/kubelet" {
		t.Errorf("kubelet is %q", g.facts.Kubelet.Program)
	}
}
