package cleanup

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// shared is a host with tables and chains that several owners use.
type shared struct {
	host.Net
	host.Firewall
	over   host.View
	rules  []rtnl.Rule
	routes []rtnl.Route
	chains []firewall.IPTChain // of iptables
	nft    []firewall.IPTChain // of portmap's table
}

func (s shared) Rules(context.Context) ([]rtnl.Rule, error)             { return s.rules, nil }
func (s shared) Routes(context.Context, int) ([]rtnl.Route, error)      { return s.routes, nil }
func (s shared) IPTChains(context.Context) ([]firewall.IPTChain, error) { return s.chains, nil }
func (s shared) NFTChains(_ context.Context, family, _ string) ([]firewall.IPTChain, error) {
	if family != "ip" {
		return nil, nil
	}
	return s.nft, nil
}
func (s shared) Tables(context.Context) ([]firewall.TableName, error) {
	if s.nft == nil {
		return nil, nil
	}
	return []firewall.TableName{{Family: "ip", Name: portmapTable}}, nil
}

func (s shared) view() host.View {
	v := s.over
	v.Net, v.Firewall = s, s
	return v
}

// sharedHost returns a host with these files, by path.
func sharedHost(t *testing.T, files map[string]string) shared {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v, err := host.OpenView(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return shared{over: v.View()}
}

func keysOf(found []item) []string {
	out := []string{}
	for _, f := range found {
		out = append(out, string(f.Key)+"  "+f.Detail)
	}
	slices.Sort(out)
	return out
}

// findTablesOf lists the routes and rules that are removed.
func findTablesOf(t *testing.T, v host.View, l Residue) []string {
	t.Helper()
	l = l.Kernel() // as a switch removes it
	s := Scope{PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}
	rules, err := findRules(t.Context(), v, l, s)
	if err != nil {
		t.Fatal(err)
	}
	routes, err := findRoutes(t.Context(), v, l, s)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, f := range append(rules, routes...) {
		keys = append(keys, string(f.Key))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// The number of a table proves nothing. Each of these selectors finds the network's routes in a
// table that a second uplink also uses, and finds nothing of the uplink.
func TestTablesAreAnybodys(t *testing.T) {
	prefix, addr := netip.MustParsePrefix, netip.MustParseAddr
	route := func(table int, dst, link, gateway string, protocol int) rtnl.Route {
		r := rtnl.Route{Type: "unicast", Dst: prefix(dst), Link: link, Table: table, Protocol: protocol}
		if gateway != "" {
			r.Gateway = addr(gateway)
		}
		return r
	}
	rule := func(priority, table int) rtnl.Rule { return rtnl.Rule{Priority: priority, Family: 4, Table: table} }
	from := func(r rtnl.Rule, src string) rtnl.Rule { r.Src = prefix(src); return r }
	local := route(78, "0.0.0.0/0", "lo", "", 3)
	local.Type = "local"
	narrow := rule(32764, 10)
	narrow.Narrow = true
	uplink := func(table int) ([]rtnl.Rule, []rtnl.Route) {
		return []rtnl.Rule{from(rule(3000, table), "10.78.0.30/32")}, []rtnl.Route{route(table, "0.0.0.0/0", "mgmt0", "10.78.0.1", 3)}
	}
	for _, c := range []struct {
		name   string
		table  int
		files  map[string]string
		l      Residue
		rules  []rtnl.Rule
		routes []rtnl.Route
		want   []string
	}{
		{name: "selectors with only a table that has a name", table: 200, l: Residue{Routes: []RouteSelector{{Table: 200}, {Table: 100, Last: 300}, {Table: 200, Via: true}}, Rules: []RuleSelector{{Table: 200}, {Table: 100, Last: 300, From: true}, {Table: 200, Protocol: 3}}}},
		{name: "a route selector with only a table without a name", l: Residue{Routes: []RouteSelector{{Table: 200}, {Table: 200, Protocol: 3}}},
			routes: []rtnl.Route{route(200, "0.0.0.0/0", "mgmt0", "10.78.0.1", 3)}},
		{name: "route selectors with a table and a protocol that programs share",
			l:      Residue{Routes: []RouteSelector{{Table: 200, Protocol: 1}, {Table: 200, Protocol: 2}, {Table: 200, Protocol: 4}, {Table: 200, Protocol: 9}, {Table: 200, Protocol: 16}}},
			routes: []rtnl.Route{route(200, "10.1.0.0/16", "mgmt0", "", 1), route(200, "10.2.0.0/16", "mgmt0", "", 2), route(200, "10.4.0.0/16", "mgmt0", "", 4), route(200, "10.9.0.0/16", "mgmt0", "", 9), route(200, "0.0.0.0/0", "mgmt0", "10.78.0.1", 16)}},
		{name: "a rule selector with only a table without a name", l: Residue{Rules: []RuleSelector{{Table: 200}, {Table: 200, From: true}}}, rules: []rtnl.Rule{from(rule(3000, 200), "10.78.0.30/32")}},
		{name: "link and mark", table: 200, l: Residue{Routes: []RouteSelector{{Table: 200, Link: "cilium_*"}}, Rules: []RuleSelector{{Table: 200, Mark: 0xd00, Mask: 0xf00}}},
			rules:  []rtnl.Rule{{Priority: 1, Family: 4, Mark: 0xd00, Mask: 0xf00, Table: 200}},
			routes: []rtnl.Route{route(200, "10.244.4.0/24", "cilium_host", "", 2)},
			want:   []string{"route:200/10.244.4.0/24", "rule:ipv4 1 fwmark 0xd00/0xf00 lookup 200"}},
		{name: "type and priority", table: 78, l: Residue{Routes: []RouteSelector{{Table: 78, Type: "local", Link: "lo"}}, Rules: []RuleSelector{{Priority: 32764, Table: 78, Marked: true}}},
			rules:  []rtnl.Rule{{Priority: 32764, Family: 4, Mark: 0x1e61, Mask: 0xffffffff, Table: 78}, from(rule(32764, 78), "10.78.0.31/32")},
			routes: []rtnl.Route{local},
			want:   []string{"route:78/0.0.0.0/0", "rule:ipv4 32764 fwmark 0x1e61/0xffffffff lookup 78"}},
		{name: "protocol", table: 116, l: Residue{Routes: []RouteSelector{{Protocol: 30, Table: rtnl.AllTables}}, Rules: []RuleSelector{{Priority: 2000, Table: 116, All: true}}},
			rules:  []rtnl.Rule{rule(2000, 116)},
			routes: []rtnl.Route{route(116, "10.244.1.5/32", "veth1", "", 30)},
			want:   []string{"route:116/10.244.1.5/32", "rule:ipv4 2000 lookup 116"}},
		{name: "a rule for every packet, beside routes of others", table: 10, l: romanaLike, rules: []rtnl.Rule{rule(32765, 10)},
			routes: []rtnl.Route{route(10, "10.244.2.0/28", "eth0", "10.77.0.1", 3)}},
		{name: "the same in a table that has the network's name", table: 10, l: romanaLike, rules: []rtnl.Rule{rule(32765, 10), narrow},
			files:  map[string]string{"/etc/iproute2/rt_tables": "# 10 nobody\n10\tleft\n"},
			routes: []rtnl.Route{route(10, "10.244.2.0/28", "eth0", "10.77.0.1", 3)},
			want:   []string{"route:10/10.244.2.0/28", "rule:ipv4 32765 lookup 10"}},
		{name: "the same without routes of others", l: romanaLike, rules: []rtnl.Rule{rule(32765, 10)},
			routes: []rtnl.Route{route(10, "10.244.2.0/28", "eth0", "10.77.0.1", 3)},
			want:   []string{"route:10/10.244.2.0/28", "rule:ipv4 32765 lookup 10"}},
		{name: "the same in a table that has another name", l: romanaLike, rules: []rtnl.Rule{rule(32765, 10)},
			files:  map[string]string{"/etc/iproute2/rt_tables.d/mgmt.conf": "0xa mgmt\n"},
			routes: []rtnl.Route{route(10, "10.244.2.0/28", "eth0", "10.77.0.1", 3)}},
		{name: "the same in a table that has both names", l: romanaLike, rules: []rtnl.Rule{rule(32765, 10)},
			files:  map[string]string{"/etc/iproute2/rt_tables": "10 left\n", "/usr/share/iproute2/rt_tables": "10 mgmt\n"},
			routes: []rtnl.Route{route(10, "10.244.2.0/28", "eth0", "10.77.0.1", 3)}},
		{name: "the same in a table that has the network's name twice", table: 10, l: romanaLike, rules: []rtnl.Rule{rule(32765, 10)},
			files:  map[string]string{"/etc/iproute2/rt_tables": "10 left\n", "/usr/share/iproute2/rt_tables": "10 left\n"},
			routes: []rtnl.Route{route(10, "10.244.2.0/28", "eth0", "10.77.0.1", 3)},
			want:   []string{"route:10/10.244.2.0/28", "rule:ipv4 32765 lookup 10"}},
		{name: "tables of a range, one of which has another name", table: 12, l: Residue{Rules: []RuleSelector{{Priority: 111, Table: 10, Last: 50, From: true, Protocol: 2}}},
			files: map[string]string{"/usr/lib/iproute2/rt_tables": "13 mgmt\n"},
			rules: []rtnl.Rule{byKernel(from(rule(111, 11), "10.1.0.7/32")), byKernel(from(rule(111, 12), "10.1.0.8/32")), byKernel(from(rule(111, 13), "10.1.0.9/32")),
				from(rule(111, 14), "10.1.0.9/32")},
			routes: []rtnl.Route{route(11, "0.0.0.0/0", "eth1", "10.1.0.1", 3), route(13, "0.0.0.0/0", "eth3", "10.1.0.1", 3), route(14, "0.0.0.0/0", "eth4", "10.1.0.1", 3)},
			want: []string{"route:11/0.0.0.0/0", "rule:ipv4 111 from 10.1.0.7/32 lookup 11", "rule:ipv4 111 from 10.1.0.8/32 lookup 12",
				"rule:ipv4 111 from 10.1.0.9/32 lookup 13"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := sharedHost(t, c.files)
			if c.table != 0 {
				v.rules, v.routes = uplink(c.table)
			}
			v.rules, v.routes = append(v.rules, c.rules...), append(v.routes, c.routes...)
			if diff := cmp.Diff(c.want, findTablesOf(t, v.view(), c.l)); diff != "" {
				t.Errorf("what is found (-want +got):\n%s", diff)
			}
		})
	}
}

func byKernel(r rtnl.Rule) rtnl.Rule { r.Protocol = 2; return r }

// romanaLike has a table whose rule and routes look like a person's.
var romanaLike = Residue{
	Rules: []RuleSelector{{Table: 10, All: true}}, Routes: []RouteSelector{{Table: 10, Pods: true, Via: true, Protocol: 3}},
	Lines: []LineSelector{{File: "/etc/iproute2/rt_tables", Line: "10 left"}},
}

// published returns the chains that portmap has in table nat: one for each container, given as
// NAME/ID, and those for all containers.
func published(containers ...string) []firewall.IPTChain {
	chain := func(name string, builtin bool, rules ...firewall.IPTRule) firewall.IPTChain {
		return firewall.IPTChain{Backend: firewall.BackendLegacy, Family: "ip", Table: "nat", Name: name, Builtin: builtin, Rules: rules}
	}
	out := []firewall.IPTChain{
		chain("PREROUTING", true, firewall.IPTRule{Target: "CNI-HOSTPORT-DNAT"}, firewall.IPTRule{Target: "KUBE-SERVICES"}),
		chain("POSTROUTING", true, firewall.IPTRule{Comments: []string{"CNI portfwd requiring masquerade"}, Target: "CNI-HOSTPORT-MASQ"}),
		chain("KUBE-SERVICES", false, firewall.IPTRule{Target: "RETURN"}),
		chain("CNI-HOSTPORT-SETMARK", false, firewall.IPTRule{Target: "MARK"}),
		chain("CNI-HOSTPORT-MASQ", false, firewall.IPTRule{Target: "MASQUERADE"}),
	}
	all := chain("CNI-HOSTPORT-DNAT", false)
	for _, c := range containers {
		network, id := filepath.Dir(c), filepath.Base(c)
		dn := "CNI-DN-" + id
		out = append(out, chain(dn, false, firewall.IPTRule{Target: "CNI-HOSTPORT-SETMARK"}, firewall.IPTRule{Target: "DNAT"}))
		if network != "." {
			all.Rules = append(all.Rules, firewall.IPTRule{Comments: []string{fmt.Sprintf("dnat name: %q id: %q", network, id)}, Target: dn})
		}
	}
	return append(out, all)
}

// portmap's chains belong to all networks that publish ports. A container's chain is removed by the
// name of its network, and the common chains with the last container.
func TestPublishedPortsOfOthersStay(t *testing.T) {
	cached := map[string]string{"/var/lib/cni/results/left-7-eth0": fmt.Sprintf(`{"config":%q}`, base64.StdEncoding.EncodeToString([]byte(`{"plugins":[{"type":"ptp"}]}`)))}
	ofAll := []string{
		"iptables:ip/legacy/nat/CNI-HOSTPORT-DNAT", "iptables:ip/legacy/nat/CNI-HOSTPORT-MASQ", "iptables:ip/legacy/nat/CNI-HOSTPORT-SETMARK",
		"iptables:ip/legacy/nat/POSTROUTING", "iptables:ip/legacy/nat/PREROUTING"}
	dn := func(id string) string { return "iptables:ip/legacy/nat/CNI-DN-" + id }
	other := firewall.IPTChain{Backend: firewall.BackendLegacy, Family: "ip", Table: "nat", Name: "MINE", Rules: []firewall.IPTRule{{Target: "CNI-HOSTPORT-SETMARK"}}}
	for _, c := range []struct {
		name   string
		l      Residue
		chains []firewall.IPTChain
		want   []string
	}{
		{"beside podman", Residue{Portmap: []string{"left"}}, published("podman/1", "left/2", "left-over/3"), []string{dn("2"), "iptables:ip/legacy/nat/CNI-HOSTPORT-DNAT"}},
		{"alone", Residue{Portmap: []string{"left"}}, published("left/2", "left/3"), append([]string{dn("2"), dn("3")}, ofAll...)},
		{"no container is left", Residue{Portmap: []string{"left"}}, published(), ofAll},
		{"no rule leads to the chain", Residue{Portmap: []string{"left"}}, published("9", "podman/1"), []string{dn("9")}},
		{"a chain of another program jumps to the mark chain", Residue{Portmap: []string{"left"}}, append(published("left/2"), other), []string{dn("2"), "iptables:ip/legacy/nat/CNI-HOSTPORT-DNAT"}},
		{"a container of a network with the same name and other plugins", Residue{Portmap: []string{"left"}, Types: []string{"calico"}}, published("left/7"), nil},
		{"a container of this network, by its plugins", Residue{Portmap: []string{"left"}, Types: []string{"ptp"}}, published("left/7"), append([]string{dn("7")}, ofAll...)},
		{"the plugins of this network are not known", Residue{Portmap: []string{"left"}}, published("left/7"), append([]string{dn("7")}, ofAll...)},
		{"this network does not use portmap", Residue{Chains: []ChainSelector{{Chain: "LEFT"}}}, published("left/2"), nil},
		{"a chain selector matches portmap's chains", Residue{Chains: []ChainSelector{{Chain: "CNI-HOSTPORT-*"}, {Table: "nat", Chain: "CNI-DN-*"}}}, published("podman/1"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := sharedHost(t, cached)
			v.chains = c.chains
			found, err := findChains(t.Context(), v.view(), c.l, Scope{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, string(f.Key))
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, slices.Compact(got)); diff != "" {
				t.Errorf("what is found (-want +got):\n%s", diff)
			}
		})
	}
}

// A rule in portmap's nft table names only its container. libcni's file says to which network the
// container belongs.
func TestPublishedPortsOfOthersStayInNFT(t *testing.T) {
	table := func(comments ...string) []firewall.IPTChain {
		chain := func(name string, rules ...firewall.IPTRule) firewall.IPTChain {
			return firewall.IPTChain{Backend: firewall.BackendNFT, Family: "ip", Table: portmapTable, Name: name, Rules: rules}
		}
		ports := chain("hostports")
		for _, c := range comments {
			ports.Rules = append(ports.Rules, firewall.IPTRule{Comments: []string{c}})
		}
		return []firewall.IPTChain{ports, chain("hostports_all", firewall.IPTRule{Target: "hostports"}), chain("prerouting", firewall.IPTRule{Target: "hostports_all"})}
	}
	files := map[string]string{"/var/lib/cni/results/left-a1-eth0": "{}", "/var/lib/cni/results/podman-b2-eth0": "{}", "/var/lib/cni/results/left-over-c3-eth0": "{}"}
	const key = "nft:ip/cni_hostport  "
	for _, c := range []struct {
		name   string
		l      Residue
		chains []firewall.IPTChain
		want   []string
	}{
		{"alone", Residue{Portmap: []string{"left"}}, table("a1"), []string{key + "nft table"}},
		{"empty", Residue{Portmap: []string{"left"}}, table(), []string{key + "nft table"}},
		{"beside podman", Residue{Portmap: []string{"left"}}, table("b2", "a1"), []string{key + "the rules of its containers"}},
		{"podman's", Residue{Portmap: []string{"left"}}, table("b2"), []string{}},
		{"a network whose name begins with this one", Residue{Portmap: []string{"left"}}, table("c3"), []string{}},
		{"a container of no known network", Residue{Portmap: []string{"left"}}, table("d4"), []string{}},
		{"the table has a chain of a person", Residue{Portmap: []string{"left"}}, append(table("a1"), firewall.IPTChain{Name: "mine", Rules: []firewall.IPTRule{{Target: "ACCEPT"}}}), []string{key + "the rules of its containers"}},
		{"a table selector matches portmap's table", Residue{Tables: []TableSelector{{Family: "ip", Name: "cni_*"}}}, table("b2"), []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := sharedHost(t, files)
			v.nft = c.chains
			found, err := findTables(t.Context(), v.view(), c.l, Scope{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, keysOf(found)); diff != "" {
				t.Errorf("what is found (-want +got):\n%s", diff)
			}
		})
	}
}
