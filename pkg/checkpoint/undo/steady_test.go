package undo

import (
	"testing"
	"time"
)

// A unit that the change starts may act later than its start, whichever program it belongs to. A
// unit that only runs pods does not set up the node's network. The line that keeps it:
// pkg/tasks/revert_costs.go, ActsLate.
func TestUnitsThatActLateAreWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		l    Log
		want time.Duration
	}{
		"sysctls alone":     {Log{}, 0},
		"systemd reads":     {Log{Effects: []string{"daemon-reload"}}, 0},
		"the runtime":       {Log{Effects: []string{"restart containerd.service", "restart kubelet.service"}}, 0},
		"a mount":           {Log{Units: []Unit{{Name: "sys-fs-bpf.mount"}}}, 0},
		"udev reads":        {Log{Effects: []string{"reload systemd-udevd.service"}}, 0},
		"a hook starts":     {Log{Units: []Unit{{Name: "settle.service"}}}, 3 * time.Second},
		"a hook restarts":   {Log{Effects: []string{"daemon-reload", "restart settle.service"}}, 3 * time.Second},
		"both":              {Log{Units: []Unit{{Name: "settle.service"}}, Effects: []string{"reload systemd-networkd.service"}}, 10 * time.Second},
		"networkd reloads":  {Log{Effects: []string{"reload systemd-networkd.service"}}, 10 * time.Second},
		"firewalld started": {Log{Units: []Unit{{Name: "firewalld.service"}}}, 10 * time.Second},
	} {
		if got := c.l.Steady(30 * time.Second); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
