package guard

import (
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
)

// mounted is a kernel with a mount at a path.
type mounted struct {
	host.Kernel
	at string
}

func (v mounted) Mounted(path string) (string, error) {
	if path == v.at {
		return "cgroup2", nil
	}
	return "", host.ErrNotExist
}

// In a tree that a switch removes, mounts are not entered, since not all files of a cgroup can be
// read.
func TestWalkStopsAtMounts(t *testing.T) {
	root := t.TempDir()
	hostroot.Put(t, root, "/run/calico/bird/bird.ctl", "x")
	hostroot.Put(t, root, "/run/calico/cgroup/cgroup.kill", "x")
	live, err := host.OpenView(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	v := live.View()
	v.Kernel = mounted{v.Kernel, "/run/calico/cgroup"}
	keys, err := walk(v, v.Files.Strict(), "/run/calico", nil)
	want := []graph.Key{tasks.FileKey("/run/calico/bird"), tasks.FileKey("/run/calico/bird/bird.ctl"), tasks.FileKey("/run/calico/cgroup")}
	if err != nil || !slices.Equal(keys, want) {
		t.Errorf("walk: %v, %v; want %v", keys, err, want)
	}
}
