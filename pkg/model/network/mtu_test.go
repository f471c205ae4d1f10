package network

import (
	"strings"
	"testing"

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
