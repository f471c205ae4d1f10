package network

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/host"
)

func TestLinkMTU(t *testing.T) {
	eth := host.LinkFact{Name: "eth0", MTU: 9001, Up: true}
	for _, c := range []struct {
		name  string
		links []host.LinkFact
		want  int
	}{
		{"none known", nil, 1460},
		{"only loopback", []host.LinkFact{{Name: "lo", MTU: 65536, Up: true, Loopback: true}}, 1460},
		{"the smallest", []host.LinkFact{eth, {Name: "eth1", MTU: 1500, Up: true}}, 1500},
		{"what is down does not count", []host.LinkFact{eth, {Name: "eth1", MTU: 1500}}, 9001},
		{"point to point does not count", []host.LinkFact{eth, {Name: "wg0", MTU: 1420, Up: true, PtP: true}}, 9001},
		{"dummies do not count", []host.LinkFact{eth, {Name: "nodelocaldns", Kind: "dummy", MTU: 1500, Up: true}}, 9001},
		{"nor our bridge and its ports", []host.LinkFact{eth, {Name: "cbr0", MTU: 1400, Up: true}, {Name: "veth1", MTU: 1400, Up: true, Master: "cbr0"}}, 9001},
		{"docker's bridge does, as in kubenet", []host.LinkFact{eth, {Name: "docker0", Kind: "bridge", MTU: 1500, Up: true}}, 1500},
		{"none is up for a while: devices", []host.LinkFact{{Name: "eth0", MTU: 9001, Physical: true}, {Name: "tunl0", MTU: 1480}, {Name: "cbr0", MTU: 1460, Up: true}}, 9001},
		{"none is up for a while: what has an address", []host.LinkFact{{Name: "bond0", MTU: 8000, Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}}, {Name: "tunl0", MTU: 1480}}, 8000},
		{"none is up, and none will be", []host.LinkFact{{Name: "tunl0", MTU: 1480}, {Name: "cbr0", MTU: 9001, Up: true}}, 1460},
		{"exactly the least", []host.LinkFact{{Name: "eth0", MTU: 576, Up: true}}, 576},
	} {
		got, err := LinkMTU(c.links, BridgeLink)
		if err != nil || got != c.want {
			t.Errorf("%s: got %d, %v; want %d", c.name, got, err, c.want)
		}
	}
	if _, err := LinkMTU([]host.LinkFact{{Name: "slow0", MTU: 575, Up: true}}); err == nil || !strings.Contains(err.Error(), "slow0") {
		t.Errorf("below the least: got %v, want an error that names the link", err)
	}
}

// TestFitMTU compares MTUs of documents with links. An MTU that no link allows is refused, and for
// one that may not fit there is a note.
func TestFitMTU(t *testing.T) {
	eth := host.LinkFact{Name: "eth0", MTU: 1500, Up: true, Physical: true}
	jumbo := host.LinkFact{Name: "eth1", MTU: 9000, Up: true, Physical: true}
	vxlan := encapsulation{by: "VXLAN", sure: 50, most: 70}
	for _, c := range []struct {
		name         string
		links        []host.LinkFact
		uplink       string
		mtu          int
		adds         encapsulation
		refused, say string
	}{
		{name: "the network's own rule", links: []host.LinkFact{eth}, uplink: "eth0", adds: vxlan},
		{name: "no links, as off the node", mtu: 9000, adds: vxlan},
		{name: "no MTU known of the link", links: []host.LinkFact{{Name: "eth0", Up: true, Physical: true}}, uplink: "eth0", mtu: 9000, adds: vxlan},
		{name: "no default route yet", links: []host.LinkFact{eth}, mtu: 9000, adds: vxlan, say: "no default route yet"},
		{name: "the link's own, with nothing around it", links: []host.LinkFact{eth}, uplink: "eth0", mtu: 1500},
		{name: "more than the link's, with nothing around it", links: []host.LinkFact{eth}, uplink: "eth0", mtu: 1501, say: "to 1500 at most"},
		{name: "the largest that always fits", links: []host.LinkFact{eth}, uplink: "eth0", mtu: 1430, adds: vxlan},
		{name: "fits but for IPv6", links: []host.LinkFact{eth}, uplink: "eth0", mtu: 1450, adds: vxlan, say: "to 1430 at most"},
		{name: "never fits", links: []host.LinkFact{eth}, uplink: "eth0", mtu: 1451, adds: vxlan, refused: "VXLAN adds 50, and eth0 has MTU 1500"},
		{name: "never fits, with what must fit", links: []host.LinkFact{eth}, uplink: "eth0", mtu: 1451, adds: vxlan, refused: "to 1450 at most"},
		{name: "jumbo", links: []host.LinkFact{jumbo}, uplink: "eth1", mtu: 8930, adds: vxlan},
		{name: "another device takes it", links: []host.LinkFact{eth, jumbo}, uplink: "eth0", mtu: 8930, adds: vxlan, say: "do not pass eth0"},
		{name: "no device takes it", links: []host.LinkFact{eth, jumbo}, uplink: "eth0", mtu: 8960, adds: vxlan, refused: "eth1 has MTU 9000"},
		{name: "one that is down does not count", links: []host.LinkFact{eth, {Name: "eth1", MTU: 9000, Physical: true}}, uplink: "eth0", mtu: 8930, adds: vxlan, refused: "eth0 has MTU 1500"},
		{name: "a bridge of pods does not count", links: []host.LinkFact{eth, {Name: "cni0", Kind: "bridge", MTU: 9000, Up: true}}, uplink: "eth0", mtu: 8930, adds: vxlan, refused: "eth0 has MTU 1500"},
		{name: "a container's uplink is no device", links: []host.LinkFact{{Name: "eth0", Kind: "veth", MTU: 1500, Up: true}}, uplink: "eth0", mtu: 1480, adds: vxlan, refused: "eth0 has MTU 1500"},
		{name: "what the MTU is of", links: []host.LinkFact{eth}, uplink: "eth0", mtu: 9001, adds: encapsulation{by: "tunnel vxlan"}, refused: "tunnel vxlan is inside of it"},
		{name: "only between subnets", links: []host.LinkFact{eth}, uplink: "eth0", mtu: 1490, adds: encapsulation{most: 20}, say: "to 1480 at most"},
	} {
		var b Built
		err := b.fitMTU(Input{Node: &config.Node{}, Facts: &host.Facts{Links: c.links, Uplink: c.uplink}}, "spec.networking.x.mtu", c.mtu, c.adds)
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: got error %v, want %q", c.name, err, c.refused)
		}
		if said := fmt.Sprint(b.Notes); (len(b.Notes) > 0) != (c.say != "") || !strings.Contains(said, c.say) {
			t.Errorf("%s: says %s, want %q", c.name, said, c.say)
		}
	}
}

// TestCalicoAdds: if only packets between subnets are encapsulated, no packet is sure to be. Pods
// of both families send packets over IPv6.
func TestCalicoAdds(t *testing.T) {
	on := true
	for _, c := range []struct {
		calico networks.Calico
		v4, v6 bool
		want   encapsulation
	}{
		{networks.Calico{}, true, false, encapsulation{most: 20}},
		{networks.Calico{IPIPMode: "Always"}, true, false, encapsulation{by: "IPIP", sure: 20, most: 20}},
		{networks.Calico{IPIPMode: "Never"}, true, false, encapsulation{}},
		{networks.Calico{EncapsulationMode: "none"}, true, true, encapsulation{}},
		{networks.Calico{EncapsulationMode: "vxlan"}, true, false, encapsulation{most: 50}},
		{networks.Calico{EncapsulationMode: "vxlan", VXLANMode: "Always"}, true, true, encapsulation{by: "VXLAN", sure: 50, most: 70}},
		{networks.Calico{EncapsulationMode: "vxlan", VXLANMode: "Always"}, false, true, encapsulation{by: "VXLAN", sure: 70, most: 70}},
		{networks.Calico{IPIPMode: "Always", WireguardEnabled: &on}, true, false, encapsulation{by: "WireGuard", sure: 60, most: 60}},
		{networks.Calico{EncapsulationMode: "none", WireguardEnabled: &on}, false, true, encapsulation{by: "WireGuard", sure: 80, most: 80}},
	} {
		in := Input{Node: &config.Node{Networking: networks.Networking{Calico: &c.calico}}, Facts: &host.Facts{}, V4: c.v4, V6: c.v6}
		if got := calicoAdds(in); got != c.want {
			t.Errorf("%+v (IPv4 %v, IPv6 %v): got %+v, want %+v", c.calico, c.v4, c.v6, got, c.want)
		}
	}
}
