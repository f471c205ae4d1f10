package cleanup

import (
	"net/netip"
	"testing"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/residue"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// fits fails unless a selector matches a thing, and does not match it after any of the changes.
func fits[T any](t *testing.T, selector any, matches func(T) bool, thing T, changes ...func(*T)) {
	t.Helper()
	if !matches(thing) {
		t.Errorf("%+v does not match %+v", selector, thing)
	}
	for _, change := range changes {
		other := thing
		change(&other)
		if matches(other) {
			t.Errorf("%+v also matches %+v", selector, other)
		}
	}
}

// A thing is the network's only if all that a selector says is true of it. The lines that keep it:
// matches of each selector; iptables.go, inChain and ofRule.
func TestAllThatASelectorSaysIsTrue(t *testing.T) {
	const link = "left0"
	pod, other := netip.MustParsePrefix("10.8.0.7/32"), netip.MustParsePrefix("192.0.2.7/32")
	s := Scope{PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.8.0.0/16")}}

	rule := RuleSelector{Priority: 99, Mark: 2, Mask: 6, Table: 2005, IIF: "left*", Protocol: 80, From: true, To: true, Pods: true}
	fits(t, rule, func(r rtnl.Rule) bool { return rule.matches(r, s) },
		rtnl.Rule{Priority: 99, Mark: 2, Mask: 6, Table: 2005, IIF: link, Protocol: 80, Src: pod, Dst: pod},
		func(r *rtnl.Rule) { r.Priority = 98 }, func(r *rtnl.Rule) { r.Mark = 4 }, func(r *rtnl.Rule) { r.Mask = 7 },
		func(r *rtnl.Rule) { r.Table = 2006 }, func(r *rtnl.Rule) { r.IIF = "eth0" }, func(r *rtnl.Rule) { r.Protocol = 81 },
		func(r *rtnl.Rule) { r.Src = netip.Prefix{} }, func(r *rtnl.Rule) { r.Dst = netip.Prefix{} },
		func(r *rtnl.Rule) { r.Src, r.Dst = other, other })
	for _, own := range []rtnl.Rule{{Table: 254, Src: pod}, {Table: 254, Dst: pod}} { // one of both is enough
		if !(RuleSelector{Pods: true}).matches(own, s) {
			t.Errorf("a rule of pods does not match: %+v", own)
		}
	}
	rules := RuleSelector{Priority: 99, Table: 20, Last: 22, Marked: true}
	fits(t, rules, func(r rtnl.Rule) bool { return rules.matches(r, s) }, rtnl.Rule{Priority: 99, Table: 22, Mark: 1},
		func(r *rtnl.Rule) { r.Table = 19 }, func(r *rtnl.Rule) { r.Table = 23 }, func(r *rtnl.Rule) { r.Mark = 0 })
	all := RuleSelector{Table: 20, All: true}
	fits(t, all, func(r rtnl.Rule) bool { return all.matches(r, s) }, rtnl.Rule{Table: 20},
		func(r *rtnl.Rule) { r.OIF = link }, func(r *rtnl.Rule) { r.Narrow = true })
	// What every program that uses a table may have does not show the owner of a rule or a route.
	for _, m := range []RuleSelector{
		{Priority: 99, To: true}, {Priority: 99, Table: rtnl.MainTable}, {To: true, Table: rtnl.MainTable}, {Protocol: 4},
	} {
		if !m.weak() {
			t.Errorf("%+v shows the owner of a rule", m)
		}
	}
	for _, m := range []RuleSelector{
		{Mark: 1}, {Mask: 1}, {IIF: link}, {Protocol: 80}, {Protocol: 2}, {Pods: true}, {Priority: 99, To: true, Table: rtnl.MainTable},
	} {
		if m.weak() {
			t.Errorf("%+v does not show the owner of a rule", m)
		}
	}
	for _, m := range []RouteSelector{{}, {Type: "unicast"}, {Protocol: 3}, {Via: true}} {
		if !m.weak() {
			t.Errorf("%+v shows the owner of a route", m)
		}
	}
	for _, m := range []RouteSelector{{Type: "blackhole"}, {Protocol: 80}, {Link: link}} {
		if m.weak() {
			t.Errorf("%+v does not show the owner of a route", m)
		}
	}

	route := RouteSelector{Table: 20, Protocol: 80, Link: "left*", Pods: true, Via: true, Type: "unicast"}
	fits(t, route, func(r rtnl.Route) bool { return route.matches(r, s) },
		rtnl.Route{Table: 20, Protocol: 80, Link: link, Dst: pod, Gateway: other.Addr(), Type: "unicast"},
		func(r *rtnl.Route) { r.Table = 21 }, func(r *rtnl.Route) { r.Protocol = 81 }, func(r *rtnl.Route) { r.Link = "eth0" },
		func(r *rtnl.Route) { r.Dst = other }, func(r *rtnl.Route) { r.Gateway = netip.Addr{} }, func(r *rtnl.Route) { r.Type = "local" })
	routes := RouteSelector{Table: 20, Last: 22, Protocol: 80}
	fits(t, routes, func(r rtnl.Route) bool { return routes.matches(r, s) }, rtnl.Route{Table: 21, Protocol: 80},
		func(r *rtnl.Route) { r.Table = 19 }, func(r *rtnl.Route) { r.Table = 23 })

	port := LinkSelector{Name: "left*", Kind: "veth", Master: "lefty", MAC: "02:53:*", Alias: "LEFT:*", Pods: true}
	fits(t, port, func(l rtnl.Link) bool { return port.matches(l, l.Up) }, // of pods, in place of up
		rtnl.Link{Name: link, Kind: "veth", Master: "lefty", MAC: "02:53:00:00:00:01", Alias: "LEFT:1", Up: true},
		func(l *rtnl.Link) { l.Name = "eth0" }, func(l *rtnl.Link) { l.Kind = "bridge" }, func(l *rtnl.Link) { l.Master = "br0" },
		func(l *rtnl.Link) { l.MAC = "02:54:00:00:00:01" }, func(l *rtnl.Link) { l.Alias = "" }, func(l *rtnl.Link) { l.Up = false })

	chain := ChainSelector{Table: "nat", Chain: "LEFT*"}
	fits(t, chain, chain.inChain, firewall.IPTChain{Table: "nat", Name: "LEFT-POST"},
		func(c *firewall.IPTChain) { c.Table = "filter" }, func(c *firewall.IPTChain) { c.Name = "POST" })
	of := ChainSelector{Comment: "left:*", Target: "LEFT*", In: "left*", Out: "left*", Set: "left4:*"}
	fits(t, of, of.ofRule, firewall.IPTRule{Comments: []string{"x", "left:1"}, Target: "LEFT-FWD", In: link, Out: link, Sets: []string{"left4:a"}},
		func(r *firewall.IPTRule) { r.Comments = []string{"x"} }, func(r *firewall.IPTRule) { r.Target = "DROP" },
		func(r *firewall.IPTRule) { r.In = "" }, func(r *firewall.IPTRule) { r.Out = "" }, func(r *firewall.IPTRule) { r.Sets = nil })
	for _, m := range []ChainSelector{{Comment: "x"}, {Target: "x"}, {In: "x"}, {Out: "x"}, {Set: "x"}} {
		if !m.ofRules() || chain.ofRules() {
			t.Errorf("%+v matches whole chains, or %+v rules", m, chain)
		}
	}

	here := []rtnl.Address{{Link: link, Prefix: pod}, {Link: "eth0", Prefix: other}}
	service := IPVSSelector{Link: link, Pods: true}
	at := func(p netip.Prefix) netip.AddrPort { return netip.AddrPortFrom(p.Addr(), 443) }
	fits(t, service, func(v residue.IPVSService) bool { return service.matches(v, here, s) },
		residue.IPVSService{Addr: at(pod), Servers: []netip.Addr{pod.Addr()}},
		func(v *residue.IPVSService) { v.Addr = at(other) }, func(v *residue.IPVSService) { v.Mark = 1 },
		func(v *residue.IPVSService) { v.Servers = nil }, func(v *residue.IPVSService) { v.Servers = []netip.Addr{pod.Addr(), other.Addr()} })
	unless := IPVSSelector{Unless: "kube-ipvs0"}
	if theirs := append(here, rtnl.Address{Link: "kube-ipvs0"}); unless.matches(residue.IPVSService{}, theirs, s) || !unless.matches(residue.IPVSService{}, here, s) {
		t.Errorf("%+v does not go by the link", unless)
	}

	policy := XFRMSelector{Mark: 2, Mask: 6, ReqID: 1, IfID: 3, Priority: 9, States: true, Pods: true}
	fits(t, policy, func(x residue.XFRM) bool { return policy.matches(x, s) },
		residue.XFRM{Policy: true, Src: pod, Dst: pod, Mark: 0x12, Mask: 0x16, ReqID: 1, IfID: 3, Priority: 9},
		func(x *residue.XFRM) { x.Mark = 0x14 }, func(x *residue.XFRM) { x.Mask = 0x12 }, func(x *residue.XFRM) { x.ReqID = 2 },
		func(x *residue.XFRM) { x.IfID = 0 }, func(x *residue.XFRM) { x.Priority = 8 }, func(x *residue.XFRM) { x.Policy = false },
		func(x *residue.XFRM) { x.Src = other }, func(x *residue.XFRM) { x.Dst = other })
	for _, m := range []XFRMSelector{{ReqID: 1, States: true}, {ReqID: 1, Priority: 9}, {ReqID: 1, Pods: true}, {ReqID: 1, Mark: 2}} {
		if m.matches(residue.XFRM{ReqID: 1, Src: pod, Dst: pod, Priority: 9}, s) {
			t.Errorf("%+v matches a state without a mark", m)
		}
	}
}
