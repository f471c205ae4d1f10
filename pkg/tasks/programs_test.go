package tasks

import (
	"testing"

	"github.com/netwright/netwright/pkg/graph"
)

// If a change runs programs with unknown effects, an undo keeps more of the state before it. The
// line that keeps it: kind_lookup.go, RunsPrograms.
func TestRunsPrograms(t *testing.T) {
	hook := UnitState{Name: "hook.service"}
	for _, c := range []struct {
		task Task
		key  graph.Key
		want bool
	}{
		{hook, hook.Owns()[0], true},
		{Removal{Key: hook.Owns()[0], Remover: hook}, hook.Owns()[0], true},
		{Unit{Name: "hook.service"}, UnitFileKey("hook.service"), true},
		{Effect{Action: ActionRestart, Unit: "hook.service"}, Restart("hook.service"), true},
		{nil, Restart("hook.service"), true},
		{nil, Restart("containerd.service"), false},
		{nil, Restart("systemd-networkd.service"), false},
		{nil, DaemonReload, false},
		{File{Path: "/etc/hosts"}, FileKey("/etc/hosts"), false},
		{nil, LinkKey("br9"), false},
	} {
		if got := RunsPrograms(c.task, c.key); got != c.want {
			t.Errorf("%T %s: RunsPrograms returns %v, want %v", c.task, c.key, got, c.want)
		}
	}
}
