package network

import (
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host"
)

// A mark must say whose a thing is: by a name of the network's own, or by more than a name.
func TestMarksAreNobodyElses(t *testing.T) {
	for _, n := range All() {
		for _, d := range Dangers(n.Leftovers) {
			t.Errorf("%s: %s: %s can be somebody else's: %s", n.Name, d.At, d.What, d.Why)
		}
		for i, m := range n.Leftovers.Routes {
			own := named(m.Link) || m.Pods || m.Type == "local" || m.Type == "blackhole" || cleanup.OwnProtocol(m.Protocol)
			if !own {
				t.Errorf("%s: routes[%d] of table %d: others have routes by link %q", n.Name, i, m.Table, m.Link)
			}
		}
	}
}

// TestDangers: each of these would take away what is another's, and turns green only by being refused.
func TestDangers(t *testing.T) {
	for _, c := range []struct {
		name string
		l    cleanup.Leftovers
	}{
		{"links", cleanup.Leftovers{Links: []cleanup.LinkMark{{Name: "veth*", Kind: "veth"}}}},
		{"links", cleanup.Leftovers{Links: []cleanup.LinkMark{{Name: "eth0", Kind: "vlan"}}}},
		{"links", cleanup.Leftovers{Links: []cleanup.LinkMark{{Name: "*", Kind: "veth", Pods: true}}}},
		{"links", cleanup.Leftovers{Links: []cleanup.LinkMark{{Name: "acme*"}}}},
		{"links", cleanup.Leftovers{Links: []cleanup.LinkMark{{Name: "docker?", Kind: "bridge"}}}},
		{"links", cleanup.Leftovers{Links: []cleanup.LinkMark{{Name: "[a-z]*", Kind: "bridge"}}}},
		{"routes", cleanup.Leftovers{Routes: []cleanup.RouteMark{{Protocol: protocolBoot}}}},
		{"routes", cleanup.Leftovers{Routes: []cleanup.RouteMark{{Table: 254}}}},
		{"routes", cleanup.Leftovers{Routes: []cleanup.RouteMark{{Table: host.AllTables, Protocol: 4}}}},
		{"routes", cleanup.Leftovers{Routes: []cleanup.RouteMark{{Table: 2, Last: 255}}}},
		{"routes", cleanup.Leftovers{Routes: []cleanup.RouteMark{{Link: "e*"}}}},
		{"routes", cleanup.Leftovers{Routes: []cleanup.RouteMark{{Table: 200}}}},
		{"routes", cleanup.Leftovers{Routes: []cleanup.RouteMark{{Table: 10000, Last: 20000}}}},
		{"routes", cleanup.Leftovers{Routes: []cleanup.RouteMark{{Table: 77, Protocol: protocolBoot}}}},
		{"routes", cleanup.Leftovers{Routes: []cleanup.RouteMark{{Table: 77, Via: true, Type: "unicast"}}}},
		{"rules", cleanup.Leftovers{Rules: []cleanup.RuleMark{{Table: 77}}}},
		{"rules", cleanup.Leftovers{Rules: []cleanup.RuleMark{{Table: 10, Last: 50, From: true}}}},
		{"rules", cleanup.Leftovers{Rules: []cleanup.RuleMark{{Table: 77, Marked: true}}}},
		{"rules", cleanup.Leftovers{Rules: []cleanup.RuleMark{{Table: 77, Protocol: protocolBoot}}}},
		{"rules", cleanup.Leftovers{Rules: []cleanup.RuleMark{{Priority: 100}}}},
		{"rules", cleanup.Leftovers{Rules: []cleanup.RuleMark{{Table: 254}}}},
		{"chains", cleanup.Leftovers{Chains: []cleanup.ChainMark{{Table: "nat", Chain: "POSTROUTING"}}}},
		{"chains", cleanup.Leftovers{Chains: []cleanup.ChainMark{{Chain: "KUBE-*"}}}},
		{"chains", cleanup.Leftovers{Chains: []cleanup.ChainMark{{Table: "nat"}}}},
		{"chains", cleanup.Leftovers{Chains: []cleanup.ChainMark{{Comment: "*"}}}},
		{"chains", cleanup.Leftovers{Chains: []cleanup.ChainMark{{Table: "nat", Chain: "CNI-HOSTPORT-MASQ"}}}},
		{"chains", cleanup.Leftovers{Chains: []cleanup.ChainMark{{Chain: "CNI-DN-*"}}}},
		{"tables", cleanup.Leftovers{Tables: []cleanup.TableMark{{Family: "ip6", Name: "cni_hostport"}}}},
		{"portmap", cleanup.Leftovers{Portmap: []string{"*"}}},
		{"tables", cleanup.Leftovers{Tables: []cleanup.TableMark{{Family: "ip", Name: "filter"}}}},
		{"ipsets", cleanup.Leftovers{IPSets: []string{"KUBE-*"}}},
		{"chains", cleanup.Leftovers{Chains: []cleanup.ChainMark{{Set: "*"}}}},
		{"xfrm", cleanup.Leftovers{XFRM: []cleanup.XFRMMark{{ReqID: 1}}}},
		{"xfrm", cleanup.Leftovers{XFRM: []cleanup.XFRMMark{{Priority: 50}}}},
		{"ipvs", cleanup.Leftovers{IPVS: []cleanup.IPVSMark{{Pods: true}}}},
		{"sysctls", cleanup.Leftovers{Sysctls: []cleanup.SysctlMark{{Key: "net.ipv4.ip_forward", Wrote: "1"}}}},
		{"programs", cleanup.Leftovers{Programs: []cleanup.ProgramMark{{Hook: "tc", Name: "*"}}}},
		{"ovs", cleanup.Leftovers{OVS: []cleanup.OVSMark{{Bridges: []string{"*"}}}}},
		{"moved", cleanup.Leftovers{Moved: []cleanup.MovedMark{{Link: "*"}}}},
		{"lines", cleanup.Leftovers{Lines: []cleanup.LineMark{{File: "/etc/iproute2/rt_tables", Line: "77"}}}},
		{"units", cleanup.Leftovers{Units: []string{"kubelet.service"}}},
		{"pins", cleanup.Leftovers{Pins: []string{"/sys/fs/bpf/"}}},
		{"pins", cleanup.Leftovers{Pins: []string{"/etc/acme/"}}},
		{"files", cleanup.Leftovers{Files: []string{"/etc/"}}},
		{"files", cleanup.Leftovers{Files: []string{"/opt/cni/"}}},
		{"files", cleanup.Leftovers{Files: []string{"/opt/cni/bin/"}}},
		{"files", cleanup.Leftovers{Files: []string{"/opt/cni/bin/*"}}},
		{"files", cleanup.Leftovers{Files: []string{"/var/lib/*/"}}},
		{"files", cleanup.Leftovers{Files: []string{"/var/lib/acme/../kubelet/"}}},
		{"files", cleanup.Leftovers{Files: []string{"var/lib/acme"}}},
		{"files", cleanup.Leftovers{Files: []string{"/run/s*/"}}},
	} {
		if !slices.ContainsFunc(Dangers(c.l), func(d Danger) bool { return strings.HasPrefix(d.At, c.name+"[0]") && d.Why != "" }) {
			t.Errorf("%s: nothing dangerous is seen in %+v", c.name, c.l)
		}
	}
}
