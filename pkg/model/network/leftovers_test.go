package network

import (
	"path"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/tasks"
)

// A mark must say whose a thing is: by a name of the network's own, or by more than a name.
func TestMarksAreNobodyElses(t *testing.T) {
	for _, n := range All() {
		l := n.Leftovers
		for _, m := range l.Links {
			if common := strings.HasPrefix(m.Name, "veth") || strings.HasPrefix(m.Name, "eth"); common && m.Master == "" && !m.Pods || m.Kind == "" {
				t.Errorf("%s: link %+v can be somebody else's", n.Name, m)
			}
		}
		for _, m := range l.Routes {
			if m.Protocol == 0 && m.Table == 0 && m.Link == "" || m.Protocol == protocolBoot && !m.Pods && m.Link == "" && m.Table == 0 {
				t.Errorf("%s: route %+v can be somebody else's", n.Name, m)
			}
		}
		for _, m := range l.Rules {
			if m.Mark == 0 && m.Table == 0 && !m.Pods {
				t.Errorf("%s: rule %+v can be somebody else's", n.Name, m)
			}
		}
		for _, m := range l.Chains {
			if strings.HasPrefix(m.Chain, "*") || m.Chain == "" && m.Comment == "" && m.Target == "" ||
				(m == tasks.ChainMark{Table: m.Table, Chain: m.Chain}) && strings.Contains(" INPUT OUTPUT FORWARD PREROUTING POSTROUTING ", " "+m.Chain+" ") {
				t.Errorf("%s: iptables %+v can be somebody else's", n.Name, m)
			}
		}
		for _, m := range l.XFRM {
			if m.Mask == 0 && m.IfID == 0 && m.ReqID == 0 || m.ReqID == 1 && m.Mask == 0 && m.Priority == 0 {
				t.Errorf("%s: IPsec %+v can be somebody else's", n.Name, m)
			}
		}
		for _, m := range l.IPVS {
			if m.Link == "" && !m.Pods || m.Unless == "" {
				t.Errorf("%s: IPVS %+v can be somebody else's", n.Name, m)
			}
		}
		for _, m := range l.Sysctls {
			if m.Key == "" || m.Wrote == "" || m.Default == "" || m.Wrote == m.Default {
				t.Errorf("%s: sysctl %+v says no value to go back to", n.Name, m)
			}
		}
		for _, m := range l.Lines {
			if !path.IsAbs(m.File) || len(strings.Fields(m.Line)) < 2 {
				t.Errorf("%s: line %+v can be somebody else's", n.Name, m)
			}
		}
		var patterns []string
		for _, m := range l.Programs {
			patterns = append(patterns, m.Name)
			if m.Hook != "tc" && m.Hook != "xdp" && m.Hook != "cgroup" {
				t.Errorf("%s: program %+v is at no hook", n.Name, m)
			}
		}
		for _, m := range l.OVS {
			patterns = append(append(append(patterns, m.Bridges...), m.Tunnels...), m.Datapath)
		}
		for _, m := range l.Moved {
			patterns = append(patterns, m.Link)
		}
		for _, m := range l.Links {
			patterns = append(patterns, m.Name)
		}
		for _, m := range l.Chains {
			patterns = append(patterns, m.Chain, m.Comment, m.Target)
		}
		for _, m := range l.Tables {
			patterns = append(patterns, m.Name)
		}
		for _, p := range append(append(patterns, l.IPSets...), append(l.Pins, l.Files...)...) {
			if _, err := path.Match(p, ""); err != nil || strings.HasPrefix(p, "*") {
				t.Errorf("%s: pattern %q: %v", n.Name, p, err)
			}
		}
		for _, p := range append(l.Pins, l.Files...) {
			if trimmed := strings.TrimSuffix(p, "/"); !path.IsAbs(p) || path.Clean(trimmed) != trimmed || strings.Count(trimmed, "/") < 2 {
				t.Errorf("%s: %q is no path that can be removed", n.Name, p)
			}
		}
	}
}
