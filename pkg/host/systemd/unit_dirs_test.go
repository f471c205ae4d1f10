package systemd_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host/systemd"
)

// The directories of units are those of systemd, in its order. A systemd that was built for a /usr
// in one place does not read /lib. The line that keeps it: unit_dirs.go, UnitDirs.
func TestUnitDirsAreThoseOfSystemd(t *testing.T) {
	out, err := exec.Command("systemd-analyze", "--system", "unit-paths").Output()
	if err != nil {
		t.Skipf("systemd-analyze: %v", err)
	}
	ours, theirs := slices.Clone(systemd.UnitDirs), strings.Fields(string(out))
	if split := "/lib/systemd/system"; !slices.Contains(theirs, split) {
		ours = slices.DeleteFunc(ours, func(dir string) bool { return dir == split })
	}
	if !slices.Equal(ours, theirs) {
		t.Errorf("ours are\n%s\nthose of systemd\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
}
