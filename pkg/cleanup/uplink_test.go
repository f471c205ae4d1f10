package cleanup

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/test/netns"
)

// The machine's own addresses and routes return to the device. Those that the network added for
// itself do not, as OVN-Kubernetes does on br-ex.
func TestUplinkHasNothingOfTheNetwork(t *testing.T) {
	ns := netns.New(t)
	for _, line := range []string{
		"link add up0 type veth peer name up1", "link set up1 up", "link add br-ex type bridge", "link set up0 master br-ex up", "link set br-ex up",
		"addr add 192.0.2.2/24 dev br-ex", "route add default via 192.0.2.1", "route add 198.51.100.0/24 via 192.0.2.3",
		"addr add 169.254.169.2/29 dev br-ex", "route add 169.254.169.1/32 dev br-ex src 192.0.2.2",
		"route add 10.96.0.0/16 via 169.254.169.4 dev br-ex src 169.254.169.2",
		"addr add fd69::2/125 dev br-ex nodad", "route add fd00:96::/112 via fd69::4 dev br-ex",
	} {
		ns.Run("ip", strings.Fields(line)...)
	}
	in(t, ns, func(h *host.Host) {
		added := []netip.Prefix{netip.MustParsePrefix("169.254.169.0/29"), netip.MustParsePrefix("fd69::/112")}
		if err := h.ResidueWriter().RestoreUplink(t.Context(), "br-ex", "up0", "", added); err != nil {
			t.Fatal(err)
		}
	})
	ns.Run("ip", "link", "del", "br-ex")
	state := ns.Run("ip", "-4", "-o", "addr") + ns.Run("ip", "-6", "-o", "addr") + ns.Run("ip", "route") + ns.Run("ip", "-6", "route")
	for _, want := range []string{"up0    inet 192.0.2.2/24", "default via 192.0.2.1 dev up0", "198.51.100.0/24 via 192.0.2.3 dev up0"} {
		if !strings.Contains(state, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, bad := range []string{"169.254.169.", "10.96.0.0/16", "fd69::", "fd00:96::"} {
		if strings.Contains(state, bad) {
			t.Errorf("%s is left", bad)
		}
	}
	if t.Failed() {
		t.Log(state)
	}
}
