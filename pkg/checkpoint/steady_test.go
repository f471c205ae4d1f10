package checkpoint

import (
	"testing"
	"time"
)

// A cold boot with units of the user's own must not wait for a network that nobody sets up anew.
func TestOnlyUnitsOfTheNetworkAreWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		j    Journal
		want time.Duration
	}{
		"sysctls alone":     {Journal{}, 0},
		"a unit of a user":  {Journal{Units: []Unit{{Name: "settle.service"}}, Effects: []string{"daemon-reload", "restart settle.service"}}, 0},
		"networkd reloads":  {Journal{Effects: []string{"reload systemd-networkd.service"}}, 10 * time.Second},
		"firewalld started": {Journal{Units: []Unit{{Name: "firewalld.service"}}}, 10 * time.Second},
	} {
		c.j.Window = 30 * time.Second
		if got := c.j.steady(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
