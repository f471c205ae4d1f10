package model

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
)

// One wrong digit of an address in a node's document makes all other nodes route to an address that
// nobody has. The node itself reports that. The line that keeps it: host_warnings.go, address.
func TestAnAddressThatTheNodeHasNot(t *testing.T) {
	const lo, mine, six = "127.0.0.1/8", "10.77.0.71/24", "fd00:77::71/64"
	services := []netip.Prefix{netip.MustParsePrefix("10.96.0.1/32")}
	for name, c := range map[string]struct {
		kernel   string
		has      []string
		document []string
		says     string // the address; "": no report
	}{
		"its own":                {"6.1.0", []string{lo, mine, six}, []string{"10.77.0.71", "fd00:77::71"}, ""},
		"a wrong digit":          {"6.1.0", []string{lo, mine, six}, []string{"10.77.0.77", "fd00:77::71"}, "10.77.0.77"},
		"of a family it has not": {"6.1.0", []string{lo, mine}, []string{"10.77.0.71", "fd00:77::71"}, "fd00:77::71"},
		"none said":              {"6.1.0", []string{lo, mine}, nil, ""},
		"nothing came up yet":    {"6.1.0", []string{lo}, []string{"10.77.0.77"}, ""},
		"an image":               {"", []string{lo, mine}, []string{"10.77.0.77"}, ""},
	} {
		in := Input{Node: &config.Node{}, Facts: &host.Facts{Kernel: host.KernelFacts{Release: c.kernel}}}
		for _, text := range c.has {
			in.Facts.Links = append(in.Facts.Links, host.LinkFact{Name: "host0", Physical: true, Addresses: []netip.Prefix{netip.MustParsePrefix(text)}})
		}
		in.Facts.Links = append(in.Facts.Links, host.LinkFact{Name: "kube-ipvs0", Addresses: services})
		for _, text := range c.document {
			in.Node.Address = append(in.Node.Address, netip.MustParseAddr(text))
		}
		b := &builder{in: in}
		b.problems()
		if c.says == "" && len(b.notes) > 0 || c.says != "" && (len(b.notes) != 1 || !strings.HasPrefix(b.notes[0].Text, "no link of this node has spec.address "+c.says+",") || !strings.Contains(b.notes[0].Text, "; its links have 10.77.0.71 (host0)")) {
			t.Errorf("%s: it says %v", name, b.notes)
		}
	}
}
