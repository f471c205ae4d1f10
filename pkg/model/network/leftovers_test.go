package network

import (
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// A mark must say whose a thing is: by a name of the network's own, or by more than a name.
func TestMarksAreNobodyElses(t *testing.T) {
	for _, n := range All() {
		for _, d := range Dangers(n.Leftovers) {
			t.Errorf("%s: %s: %s can be somebody else's: %s", n.Name, d.At, d.What, d.Why)
		}
		for i, m := range n.Leftovers.Routes {
			own := named(m.Link) || m.Pods || m.Type == "local" || m.Type == "blackhole" || tasks.OwnProtocol(m.Protocol)
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
		l    tasks.Leftovers
	}{
		{"links", tasks.Leftovers{Links: []tasks.LinkMark{{Name: "veth*", Kind: "veth"}}}},
		{"links", tasks.Leftovers{Links: []tasks.LinkMark{{Name: "eth0", Kind: "vlan"}}}},
		{"links", tasks.Leftovers{Links: []tasks.LinkMark{{Name: "*", Kind: "veth", Pods: true}}}},
		{"links", tasks.Leftovers{Links: []tasks.LinkMark{{Name: "acme*"}}}},
		{"links", tasks.Leftovers{Links: []tasks.LinkMark{{Name: "docker?", Kind: "bridge"}}}},
		{"links", tasks.Leftovers{Links: []tasks.LinkMark{{Name: "[a-z]*", Kind: "bridge"}}}},
		{"routes", tasks.Leftovers{Routes: []tasks.RouteMark{{Protocol: protocolBoot}}}},
		{"routes", tasks.Leftovers{Routes: []tasks.RouteMark{{Table: 254}}}},
		{"routes", tasks.Leftovers{Routes: []tasks.RouteMark{{Table: host.AllTables, Protocol: 4}}}},
		{"routes", tasks.Leftovers{Routes: []tasks.RouteMark{{Table: 2, Last: 255}}}},
		{"routes", tasks.Leftovers{Routes: []tasks.RouteMark{{Link: "e*"}}}},
		{"routes", tasks.Leftovers{Routes: []tasks.RouteMark{{Table: 200}}}},
		{"routes", tasks.Leftovers{Routes: []tasks.RouteMark{{Table: 10000, Last: 20000}}}},
		{"routes", tasks.Leftovers{Routes: []tasks.RouteMark{{Table: 77, Protocol: protocolBoot}}}},
		{"routes", tasks.Leftovers{Routes: []tasks.RouteMark{{Table: 77, Via: true, Type: "unicast"}}}},
		{"rules", tasks.Leftovers{Rules: []tasks.RuleMark{{Table: 77}}}},
		{"rules", tasks.Leftovers{Rules: []tasks.RuleMark{{Table: 10, Last: 50, From: true}}}},
		{"rules", tasks.Leftovers{Rules: []tasks.RuleMark{{Table: 77, Marked: true}}}},
		{"rules", tasks.Leftovers{Rules: []tasks.RuleMark{{Table: 77, Protocol: protocolBoot}}}},
		{"rules", tasks.Leftovers{Rules: []tasks.RuleMark{{Priority: 100}}}},
		{"rules", tasks.Leftovers{Rules: []tasks.RuleMark{{Table: 254}}}},
		{"chains", tasks.Leftovers{Chains: []tasks.ChainMark{{Table: "nat", Chain: "POSTROUTING"}}}},
		{"chains", tasks.Leftovers{Chains: []tasks.ChainMark{{Chain: "KUBE-*"}}}},
		{"chains", tasks.Leftovers{Chains: []tasks.ChainMark{{Table: "nat"}}}},
		{"chains", tasks.Leftovers{Chains: []tasks.ChainMark{{Comment: "*"}}}},
		{"chains", tasks.Leftovers{Chains: []tasks.ChainMark{{Table: "nat", Chain: "CNI-HOSTPORT-MASQ"}}}},
		{"chains", tasks.Leftovers{Chains: []tasks.ChainMark{{Chain: "CNI-DN-*"}}}},
		{"tables", tasks.Leftovers{Tables: []tasks.TableMark{{Family: "ip6", Name: "cni_hostport"}}}},
		{"portmap", tasks.Leftovers{Portmap: []string{"*"}}},
		{"tables", tasks.Leftovers{Tables: []tasks.TableMark{{Family: "ip", Name: "filter"}}}},
		{"ipsets", tasks.Leftovers{IPSets: []string{"KUBE-*"}}},
		{"chains", tasks.Leftovers{Chains: []tasks.ChainMark{{Set: "*"}}}},
		{"xfrm", tasks.Leftovers{XFRM: []tasks.XFRMMark{{ReqID: 1}}}},
		{"xfrm", tasks.Leftovers{XFRM: []tasks.XFRMMark{{Priority: 50}}}},
		{"ipvs", tasks.Leftovers{IPVS: []tasks.IPVSMark{{Pods: true}}}},
		{"sysctls", tasks.Leftovers{Sysctls: []tasks.SysctlMark{{Key: "net.ipv4.ip_forward", Wrote: "1"}}}},
		{"programs", tasks.Leftovers{Programs: []tasks.ProgramMark{{Hook: "tc", Name: "*"}}}},
		{"ovs", tasks.Leftovers{OVS: []tasks.OVSMark{{Bridges: []string{"*"}}}}},
		{"moved", tasks.Leftovers{Moved: []tasks.MovedMark{{Link: "*"}}}},
		{"lines", tasks.Leftovers{Lines: []tasks.LineMark{{File: "/etc/iproute2/rt_tables", Line: "77"}}}},
		{"units", tasks.Leftovers{Units: []string{"kubelet.service"}}},
		{"pins", tasks.Leftovers{Pins: []string{"/sys/fs/bpf/"}}},
		{"pins", tasks.Leftovers{Pins: []string{"/etc/acme/"}}},
		{"files", tasks.Leftovers{Files: []string{"/etc/"}}},
		{"files", tasks.Leftovers{Files: []string{"/opt/cni/"}}},
		{"files", tasks.Leftovers{Files: []string{"/opt/cni/bin/"}}},
		{"files", tasks.Leftovers{Files: []string{"/opt/cni/bin/*"}}},
		{"files", tasks.Leftovers{Files: []string{"/var/lib/*/"}}},
		{"files", tasks.Leftovers{Files: []string{"/var/lib/acme/../kubelet/"}}},
		{"files", tasks.Leftovers{Files: []string{"var/lib/acme"}}},
		{"files", tasks.Leftovers{Files: []string{"/run/s*/"}}},
	} {
		if !slices.ContainsFunc(Dangers(c.l), func(d Danger) bool { return strings.HasPrefix(d.At, c.name+"[0]") && d.Why != "" }) {
			t.Errorf("%s: nothing dangerous is seen in %+v", c.name, c.l)
		}
	}
}
