package tasks

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// in runs body with a host whose network is this namespace.
func in(t *testing.T, ns *netns.NS, body func(h *host.Host)) {
	t.Helper()
	ns.Do(func() {
		h, err := host.Open(t.Context(), host.Options{Root: "/"})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		body(h)
	})
}

// plan plans on a view and fails on an error.
func plan(t *testing.T, task Task, v host.View) *Change {
	t.Helper()
	c, err := task.Plan(t.Context(), v)
	if err != nil {
		t.Fatalf("plan %v: %v", task.Owns(), err)
	}
	return c
}

// converge plans, applies and plans again. The second plan must find nothing. It returns the first
// plan.
func converge(t *testing.T, h *host.Host, task Task) *Change {
	t.Helper()
	c := plan(t, task, h.Live.View())
	if c == nil {
		t.Fatalf("%v: nothing to do", task.Owns())
	}
	if err := task.Apply(t.Context(), h, c); err != nil {
		t.Fatalf("apply %v: %v", task.Owns(), err)
	}
	if again := plan(t, task, h.Live.View()); again != nil {
		t.Fatalf("%v is not right after its apply: %+v", task.Owns(), again)
	}
	if err := task.Apply(t.Context(), h, c); err != nil {
		t.Fatalf("apply %v a second time: %v", task.Owns(), err)
	}
	return c
}

// lines returns the lines that a change prints: key, mark and fields.
func lines(c *Change) []string {
	if c == nil {
		return nil
	}
	var out []string
	for _, it := range c.Items {
		line := string(it.Op) + " " + string(it.Key)
		for _, f := range it.Fields {
			line += ", " + f.Name + " " + f.Before + "→" + f.After
		}
		out = append(out, line)
	}
	return out
}

func wantLines(t *testing.T, c *Change, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, lines(c)); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

func fails(t *testing.T, task Task, v host.View, words ...string) error {
	t.Helper()
	c, err := task.Plan(t.Context(), v)
	if err == nil {
		t.Fatalf("%v: no error, but %v", task.Owns(), lines(c))
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
	return err
}

func TestLink(t *testing.T) {
	ns := netns.New(t)
	in(t, ns, func(h *host.Host) {
		bridge := Link{Name: "cbr0", Kind: "bridge", MTU: 1450, Up: true, MAC: "0A:58:0A:00:00:01"}
		wantLines(t, converge(t, h, bridge), "+ link:cbr0, kind →bridge, mtu →1450, mac →0A:58:0A:00:00:01, state →up")
		shown := ns.Run("ip", "-d", "link", "show", "cbr0")
		for _, want := range []string{"mtu 1450", ",UP", "0a:58:0a:00:00:01", "bridge forward_delay"} {
			if !strings.Contains(shown, want) {
				t.Errorf("ip does not show %q:\n%s", want, shown)
			}
		}

		// The task notices and repairs drift of each setting.
		ns.Run("ip", "link", "set", "cbr0", "mtu", "1500")
		ns.Run("ip", "link", "set", "cbr0", "down")
		wantLines(t, converge(t, h, bridge), "~ link:cbr0, mtu 1500→1450, state down→up")

		// The task leaves alone a setting that it does not want.
		ns.Run("ip", "link", "set", "cbr0", "mtu", "1500")
		wantLines(t, plan(t, Link{Name: "cbr0", Kind: "bridge"}, h.Live.View()))

		ns.Run("ip", "link", "add", "flip0", "type", "veth", "peer", "name", "flop0")
		fails(t, Link{Name: "flip0", Kind: "bridge"}, h.Live.View(), "flip0", "a veth", "not a bridge", "ip link del flip0")
		fails(t, Link{Name: "lo", Kind: "bridge"}, h.Live.View(), "the loopback")
	})
}

func TestAddress(t *testing.T) {
	ns := netns.New(t)
	in(t, ns, func(h *host.Host) {
		v4 := Address{Link: "cbr0", Prefix: netip.MustParsePrefix("10.96.1.1/24")}
		v6 := Address{Link: "cbr0", Prefix: netip.MustParsePrefix("fd00:1::1/64")}
		if err := fails(t, v4, h.Live.View(), "link cbr0"); !graph.IsWait(err) {
			t.Errorf("an absent link is waited for, not: %v", err)
		}

		// In a dry run the planned link counts as there.
		pending := host.NewPending(nil)
		link := Link{Name: "cbr0", Kind: "bridge", Up: true}
		pending.Add(plan(t, link, h.Live.View()).Pending...)
		wantLines(t, plan(t, v4, pending.Over(h.Live.View())), "+ address:cbr0/10.96.1.1/24")
		if diff := cmp.Diff([]graph.Key{"link:cbr0"}, v4.needs()); diff != "" {
			t.Errorf("what the address needs (-want +got):\n%s", diff)
		}

		converge(t, h, link)
		converge(t, h, v4)
		converge(t, h, v6)
		for _, change := range []struct{ cmd, want string }{
			{"10.96.1.1/24 10.96.1.1/16", "~ address:cbr0/10.96.1.1/24, network /16→/24"},
			{"fd00:1::1/64 fd00:1::1/80", "~ address:cbr0/fd00:1::1/64, network /80→/64"},
		} {
			from, to, _ := strings.Cut(change.cmd, " ")
			ns.Run("ip", "addr", "del", from, "dev", "cbr0")
			ns.Run("ip", "addr", "add", to, "dev", "cbr0")
			task := v4
			if strings.Contains(from, ":") {
				task = v6
			}
			wantLines(t, converge(t, h, task), change.want)
		}
		shown := ns.Run("ip", "addr", "show", "cbr0", "scope", "global")
		if strings.Count(shown, "inet") != 2 || !strings.Contains(shown, "10.96.1.1/24") || !strings.Contains(shown, "fd00:1::1/64") {
			t.Errorf("two addresses are wanted, 10.96.1.1/24 and fd00:1::1/64: %s", shown)
		}
		// The kernel removes a second address of a network with the first one, and the task keeps
		// it (pkg/host/rtnl/addresses.go, DelAddress).
		ns.Run("ip", "addr", "del", "10.96.1.1/24", "dev", "cbr0")
		ns.Run("ip", "addr", "add", "10.96.1.1/28", "dev", "cbr0")
		ns.Run("ip", "addr", "add", "10.96.1.2/28", "dev", "cbr0")
		converge(t, h, v4)
		if shown := ns.Run("ip", "-4", "addr", "show", "cbr0"); !strings.Contains(shown, "10.96.1.1/24") || !strings.Contains(shown, "10.96.1.2/28") {
			t.Errorf("10.96.1.1/24 and 10.96.1.2/28 are wanted: %s", shown)
		}
	})
}

func TestRoute(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "up1")
	ns.Run("ip", "link", "set", "up1", "up")
	ns.Run("ip", "link", "set", "up0", "up")
	ns.Run("ip", "addr", "add", "192.0.2.2/24", "dev", "up0")
	ns.Run("ip", "addr", "add", "2001:db8::2/64", "dev", "up0", "nodad")
	in(t, ns, func(h *host.Host) {
		route := Route{Route: rtnl.Route{Dst: netip.MustParsePrefix("10.96.2.0/24"), Gateway: netip.MustParseAddr("192.0.2.12")}}
		wantLines(t, converge(t, h, route), "+ route:254/10.96.2.0/24, via →192.0.2.12")
		moved := route
		moved.Gateway, moved.MTU = netip.MustParseAddr("192.0.2.13"), 1400
		wantLines(t, converge(t, h, moved), "~ route:254/10.96.2.0/24, via 192.0.2.12→192.0.2.13, mtu →1400")
		if got := ns.Run("ip", "route", "show", "proto", "149"); strings.TrimSpace(got) != "10.96.2.0/24 via 192.0.2.13 dev up0 mtu 1400" {
			t.Errorf("one route by 192.0.2.13 with mtu 1400 is wanted: %s", got)
		}
		v6 := Route{Route: rtnl.Route{Dst: netip.MustParsePrefix("fd00:2::/64"), Gateway: netip.MustParseAddr("2001:db8::12"), Link: "up0"}}
		wantLines(t, converge(t, h, v6), "+ route:254/fd00:2::/64, via →2001:db8::12, dev →up0")
		hole := Route{Route: rtnl.Route{Type: "blackhole", Dst: netip.MustParsePrefix("10.96.0.0/11"), Metric: 9000, Table: 100}}
		wantLines(t, converge(t, h, hole), "+ route:100/10.96.0.0/11 metric 9000, type →blackhole")

		// A route of another program is right if it leads the same way. Otherwise the error says
		// whose it is and what to do.
		ns.Run("ip", "route", "add", "10.96.3.0/24", "via", "192.0.2.14", "proto", "static")
		theirs := Route{Route: rtnl.Route{Dst: netip.MustParsePrefix("10.96.3.0/24"), Gateway: netip.MustParseAddr("192.0.2.14")}}
		wantLines(t, plan(t, theirs, h.Live.View()))
		theirs.Gateway = netip.MustParseAddr("192.0.2.15")
		err := fails(t, theirs, h.Live.View(), "10.96.3.0/24", "via 192.0.2.14 dev up0", "protocol 4", "metric")
		if !errors.Is(err, rtnl.ErrUnmanagedRoute) {
			t.Errorf("%v is not ErrUnmanagedRoute", err)
		}
		fails(t, Route{Route: rtnl.Route{Dst: netip.MustParsePrefix("192.0.2.0/24"), Link: "up0", Gateway: netip.MustParseAddr("192.0.2.1")}}, h.Live.View(), "protocol 2")

		// There is no route to the next hop: the plan says so, and so does the kernel.
		lost := Route{Route: rtnl.Route{Dst: netip.MustParsePrefix("10.96.9.0/24"), Gateway: netip.MustParseAddr("198.51.100.7")}}
		fails(t, lost, h.Live.View(), "198.51.100.7 is in no network of a link of this host")
		to := host.NewPending(nil)
		to.Add(host.Fact{Key: "address:up0/198.51.100.1/24", Address: &rtnl.Address{Link: "up0", Prefix: netip.MustParsePrefix("198.51.100.1/24")}})
		coming := lost
		coming.Link = "up0"
		wantLines(t, plan(t, coming, to.Over(h.Live.View())), "+ route:254/10.96.9.0/24, via →198.51.100.7, dev →up0")
		err = lost.Apply(t.Context(), h, nil)
		if err == nil || !strings.Contains(err.Error(), "198.51.100.7 is in no network of a link of this host") || graph.IsTransient(err) {
			t.Errorf("a next hop out of reach: %v", err)
		}

		// The node needs its default route.
		if c := plan(t, Route{Route: rtnl.Route{Dst: netip.MustParsePrefix("0.0.0.0/0"), Gateway: netip.MustParseAddr("192.0.2.1")}}, h.Live.View()); c.Disruption != MayCutOff {
			t.Errorf("a default route: disruption %d", c.Disruption)
		}

		// A route by a planned link is planned. A route by a link that nothing makes waits.
		by := Route{Route: rtnl.Route{Dst: netip.MustParsePrefix("10.96.4.0/24"), Link: "cbr0"}}
		if err := fails(t, by, h.Live.View(), "link cbr0"); !graph.IsWait(err) {
			t.Errorf("an absent link is waited for, not: %v", err)
		}
		pending := host.NewPending(nil)
		pending.Add(host.Fact{Key: "link:cbr0"})
		wantLines(t, plan(t, by, pending.Over(h.Live.View())), "+ route:254/10.96.4.0/24, dev →cbr0")
	})
}

func TestRule(t *testing.T) {
	ns := netns.New(t)
	in(t, ns, func(h *host.Host) {
		rule := Rule{Rule: rtnl.Rule{Priority: 700, Family: 4, Src: netip.MustParsePrefix("10.96.1.0/24"), Mark: 1, Table: 100}}
		wantLines(t, converge(t, h, rule), "+ rule:ipv4 700 from 10.96.1.0/24 fwmark 0x1/0xffffffff lookup 100")
		if !strings.Contains(ns.Run("ip", "rule"), "700:\tfrom 10.96.1.0/24 fwmark 0x1 lookup 100 proto 149") {
			t.Error(ns.Run("ip", "rule"))
		}
		ns.Run("ip", "-6", "rule", "add", "pref", "701", "to", "fd00::/8", "lookup", "101")
		wantLines(t, plan(t, Rule{Rule: rtnl.Rule{Priority: 701, Family: 6, Dst: netip.MustParsePrefix("fd00::/8"), Table: 101}}, h.Live.View()))
		if c := plan(t, Rule{Rule: rtnl.Rule{Priority: 702, Family: 4, Table: 100}}, h.Live.View()); c.Disruption != MayCutOff {
			t.Errorf("a rule for all packets: disruption %d", c.Disruption)
		}
	})
}

func TestTable(t *testing.T) {
	ns := netns.New(t)
	in(t, ns, func(h *host.Host) {
		table := Table{Table: firewall.Table{Family: "inet", Name: "netwright", Chains: []firewall.Chain{{
			Name: "postrouting", Type: "nat", Hook: "postrouting", Priority: 100,
			Rules: []firewall.NFRule{{SrcIn: []netip.Prefix{netip.MustParsePrefix("10.96.1.0/24")}, OIFNot: "cbr0", Verdict: "masquerade"}},
		}}}}
		c := converge(t, h, table)
		wantLines(t, c, "+ nft:inet/netwright")
		if got := ns.Run("nft", "-y", "list", "table", "inet", "netwright"); got != string(c.Items[0].After) {
			t.Errorf("the plan said\n%s\nand nft shows\n%s", c.Items[0].After, got)
		}
		ns.Run("nft", "insert rule inet netwright postrouting tcp dport 22 accept")
		c = converge(t, h, table)
		wantLines(t, c, "~ nft:inet/netwright")
		if !strings.Contains(string(c.Items[0].Before), "# unknown rule: meta cmp payload cmp immediate") {
			t.Errorf("before: %s", c.Items[0].Before)
		}
		table.Chains[0].Hook = "nowhere"
		fails(t, table, h.Live.View(), "nowhere", "postrouting")
	})
}

func TestNothingOfTheNetworkInAnImage(t *testing.T) {
	v, err := host.OpenView(t.Context(), host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, task := range []Task{
		Link{Name: "cbr0", Kind: "bridge"}, Address{Link: "cbr0", Prefix: netip.MustParsePrefix("10.0.0.1/24")},
		Route{Route: rtnl.Route{Dst: netip.MustParsePrefix("10.0.0.0/24"), Link: "cbr0"}}, Rule{Rule: rtnl.Rule{Priority: 7, Family: 4, Table: 9}},
		Table{Table: firewall.Table{Family: "ip", Name: "x"}},
	} {
		if c := plan(t, task, v.View()); c == nil || c.NotApplicable == "" {
			t.Errorf("%v: plan returns %+v", task.Owns(), c)
		}
	}
}
