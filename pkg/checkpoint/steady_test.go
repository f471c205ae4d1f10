package checkpoint

import (
	"testing"
	"time"
)

// A unit that the change starts acts later than it is started, whoever it is of. What runs pods does
// not set up the node's network. The line that keeps it: pkg/tasks/cutoff.go, ActsLate.
func TestUnitsThatActLateAreWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		j    Journal
		want time.Duration
	}{
		"sysctls alone":     {Journal{}, 0},
		"systemd reads":     {Journal{Effects: []string{"daemon-reload"}}, 0},
		"the runtime":       {Journal{Effects: []string{"restart containerd.service", "restart kubelet.service"}}, 0},
		"a mount":           {Journal{Units: []Unit{{Name: "sys-fs-bpf.mount"}}}, 0},
		"udev reads":        {Journal{Effects: []string{"reload systemd-udevd.service"}}, 0},
		"a hook starts":     {Journal{Units: []Unit{{Name: "settle.service"}}}, 3 * time.Second},
		"a hook restarts":   {Journal{Effects: []string{"daemon-reload", "restart settle.service"}}, 3 * time.Second},
		"both":              {Journal{Units: []Unit{{Name: "settle.service"}}, Effects: []string{"reload systemd-networkd.service"}}, 10 * time.Second},
		"networkd reloads":  {Journal{Effects: []string{"reload systemd-networkd.service"}}, 10 * time.Second},
		"firewalld started": {Journal{Units: []Unit{{Name: "firewalld.service"}}}, 10 * time.Second},
	} {
		c.j.Window = 30 * time.Second
		if got := c.j.steady(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
