package cleanup

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/residue"
	"github.com/netwright/netwright/pkg/host/rtnl"
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

// Addresses move back only to a device that is certainly the one they came from, because without
// its addresses and routes the machine is cut off. The line that keeps it: uplink.go, uplinkOf.
func TestUplinkIsTheOnlyDeviceOfItsLink(t *testing.T) {
	device := func(name, master, mac string) rtnl.Link {
		return rtnl.Link{Name: name, Physical: true, Master: master, MAC: mac}
	}
	bridge, ovs, twin := rtnl.Link{Name: "azure2", Kind: "bridge", MAC: "02:01"}, rtnl.Link{Name: "br-ex", Kind: "openvswitch", MAC: "02:01"}, rtnl.Link{Name: "vhost0", MAC: "02:01"}
	paths := []residue.Datapath{{Ports: []string{"br-ex", "eth0"}}, {Ports: []string{"other", "eth1"}}}
	running := residue.OVS{Ports: map[string][]string{"br-ex": {"eth1", "patch-br-ex-to-br-int"}}}
	for name, c := range map[string]struct {
		link  rtnl.Link
		links []rtnl.Link
		db    residue.OVS
		want  string
	}{
		"the port of a bridge":                        {bridge, []rtnl.Link{device("eth0", "azure2", "02:01"), device("eth1", "", "02:01"), {Name: "veth1", Kind: "veth", Master: "azure2"}}, residue.OVS{}, "eth0"},
		"two ports of a bridge":                       {bridge, []rtnl.Link{device("eth0", "azure2", ""), device("eth1", "azure2", "")}, residue.OVS{}, ""},
		"a bridge without a device":                   {bridge, []rtnl.Link{device("eth0", "", "02:01"), {Name: "veth1", Kind: "veth", Master: "azure2"}}, residue.OVS{}, ""},
		"the only device in the datapath":             {ovs, []rtnl.Link{device("eth0", "ovs-system", ""), device("eth1", "ovs-system", "")}, residue.OVS{}, "eth0"},
		"a device that the database names":            {ovs, []rtnl.Link{device("eth0", "ovs-system", ""), device("eth1", "ovs-system", "")}, running, "eth1"},
		"a device with the same MAC":                  {twin, []rtnl.Link{device("eth0", "", "02:01"), device("eth1", "", "02:02"), {Name: "veth1", Kind: "veth", MAC: "02:01"}}, residue.OVS{}, "eth0"},
		"two devices with the same MAC, as in a bond": {twin, []rtnl.Link{device("eth0", "", "02:01"), device("eth1", "", "02:01")}, residue.OVS{}, ""},
	} {
		if got := uplinkOf(c.link, append(c.links, c.link), paths, c.db); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A bridge of Open vSwitch is the network's if it is one of its bridges, or is patched to one. Its
// name is not enough: OpenStack uses br-ex, too. The line that keeps it: uplink.go, bridgeIsTheirs.
func TestBridgeOfOpenVSwitchIsTheirsByItsPatch(t *testing.T) {
	l := Residue{OVS: []OVSSelector{{Bridges: []string{"br-int"}}}}
	ports := func(of ...string) residue.OVS {
		return residue.OVS{Ports: map[string][]string{"br-ex": of, "br-int": {"patch-br-int-to-br-ex"}}}
	}
	with := func(ports ...string) []residue.Datapath { return []residue.Datapath{{Ports: ports}} }
	for name, c := range map[string]struct {
		bridge    string
		db        residue.OVS
		datapaths []residue.Datapath
		want      bool
	}{
		"their own":          {"br-int", residue.OVS{}, nil, true},
		"patched to theirs":  {"br-ex", ports("eth0", "patch-br-ex_n1-to-br-int"), nil, true},
		"patched to another": {"br-ex", ports("eth0", "patch-br-ex-to-br-tun"), nil, false},
		"a port that is named so and is no patch":     {"br-ex", ports("eth0", "br-ex-to-br-int"), nil, false},
		"not patched, in one datapath with theirs":    {"br-ex", ports("eth0"), with("br-ex", "br-int"), false},
		"without a database, in a datapath of theirs": {"br-ex", residue.OVS{}, with("br-ex", "br-int", "eth0"), true},
		"without a database, in another datapath":     {"br-ex", residue.OVS{}, append(with("br-ex", "eth0"), with("br-int")...), false},
	} {
		if got := l.bridgeIsTheirs(c.bridge, c.db, c.datapaths); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
