package facts

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host/systemd"
)

// On a split /usr, systemd reads /lib before /usr/lib. Where /lib is a link, a unit has the path
// below /usr. The lines that keep it: unit_files.go, existingUnitDirs;
// pkg/host/systemd/unit_dirs.go, VendorUnitDirs.
func TestSplitUsr(t *testing.T) {
	root := t.TempDir()
	const below = "/systemd/system/kubelet.service"
	write(t, root+"/usr/lib"+below, "[Service]\nExecStart=/usr/bin/kubelet\n")
	write(t, root+"/lib"+below, "[Service]\nExecStart=/bin/kubelet\n")
	for _, want := range []string{"/lib", "/usr/lib"} {
		u, err := ReadUnitFile(sourcesOf(t, Options{Root: root}).files, "kubelet.service")
		if err != nil || u.Fragment != want+below {
			t.Errorf("the unit is %s, want that in %s (%v)", u.Fragment, want, err)
		}
		noError(t, os.RemoveAll(root+"/lib"), os.Symlink("usr/lib", root+"/lib"))
	}
}

// A unit's file in each directory counts before those of lower priority, and a mount unit is found
// in each. The lines that keep it: unit_files.go, ReadUnitFile and UnitFinder.
func TestEachUnitDirCounts(t *testing.T) {
	root := t.TempDir()
	for _, dir := range slices.Backward(systemd.UnitDirs) {
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
