package cleanup

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

// in opens the host in a network namespace.
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

// plan plans, and fails on an error.
func plan(t *testing.T, task tasks.Task, v host.View) *tasks.Change {
	t.Helper()
	c, err := task.Plan(t.Context(), v)
	if err != nil {
		t.Fatalf("plan %v: %v", task.Owns(), err)
	}
	return c
}

// converge plans, applies twice and plans again. The second plan must find nothing. It returns the
// first plan.
func converge(t *testing.T, h *host.Host, task tasks.Task) *tasks.Change {
	t.Helper()
	c := plan(t, task, h.Live.View())
	if c == nil {
		t.Fatalf("%v: nothing to do", task.Owns())
	}
	for range 2 {
		if err := task.Apply(t.Context(), h, c); err != nil {
			t.Fatalf("apply %v: %v", task.Owns(), err)
		}
		if again := plan(t, task, h.Live.View()); again != nil {
			t.Fatalf("%v is not right after its apply: %+v", task.Owns(), again)
		}
	}
	return c
}

// left makes what an invented network leaves. Beside that it makes things whose names differ by one
// letter, or that belong to others.
var left = []string{
	// These belong to the machine.
	"ip link add up0 type veth peer name up1", "ip addr add 192.0.2.2/24 dev up0", "ip link set up0 up", "ip link set up1 up",
	"ip route add default via 192.0.2.1",
	// These belong to the network.
	"ip link add lefty type bridge", "ip link add left1 type veth peer name left1p", "ip link set left1 master lefty", "ip link set left1 up", "ip link set lefty up",
	"ip link add left.vx type vxlan id 4096 dstport 4789 dev up0",
	"ip link add vethab type veth peer name vethabp", "ip link set vethab up", "ip link set vethabp up", "ip route add 10.8.0.7/32 dev vethab",
	// The route that leads vethcd to a pod is removed before the link. vethef has a pod's address.
	"ip link add vethcd type veth peer name vethcdp", "ip link set vethcd up", "ip link set vethcdp up", "ip route add 10.8.0.8/32 dev vethcd",
	"ip link add vethef type veth peer name vethefp", "ip link set vethef up", "ip link set vethefp up", "ip addr add 10.8.0.9/32 dev vethef",
	"ip route add 10.8.1.0/24 via 192.0.2.3 proto kernel", "ip route add blackhole 10.8.2.0/24 proto 80", "ip route add 10.99.0.0/16 via 192.0.2.3 table 2005 proto kernel",
	"ip rule add pref 99 fwmark 0x200000/0x200000 lookup 2005", "ip rule add pref 512 from 10.8.0.7 lookup main",
	"ip rule add pref 100 lookup local", "ip rule del pref 0",
	"iptables-legacy -N LEFT-FWD", "iptables-legacy -A LEFT-FWD -j ACCEPT", "iptables-legacy -A FORWARD -j LEFT-FWD",
	"iptables-nft -t nat -N LEFT-POST", "iptables-nft -t nat -A POSTROUTING -m comment --comment left:1 -j MASQUERADE",
	"ip6tables-nft -A FORWARD -o lefty -j DROP",
	"nft add table inet left-masq", "ipset create left4:a hash:ip",
	"iptables-legacy -A INPUT -m set --match-set left4:a src -j DROP", "iptables-nft -A INPUT -m set ! --match-set left4:a src -m comment --comment x -j DROP",
	"ip link add leftal type veth peer name leftalp", "ip link set leftal alias LEFT:pool:1", "ip link add leftmac address 02:53:00:00:00:01 type bridge",
	"ip rule add pref 1024 iif vethab lookup 256",
	"iptables-nft -A FORWARD -i left-1234 -j ACCEPT",
	"sysctl -qw net.core.xfrm_acq_expires=3600", // how long a state without a key lasts
	"ip xfrm state allocspi src 192.0.2.2 dst 192.0.2.3 proto esp reqid 1 mode tunnel mark 0x12340d00 mask 0xffff0f00 min 0x11 max 0x11",
	"ip xfrm policy add src 10.8.0.0/24 dst 10.8.1.0/24 dir out mark 0x20000 mask 0x20000 tmpl src 192.0.2.2 dst 192.0.2.4 proto esp spi 0x22 mode transport",
	"ip xfrm state allocspi src 192.0.2.2 dst 192.0.2.4 proto esp mode transport min 0x22 max 0x22",
	"ip xfrm policy add src 10.8.0.0/24 dst 10.8.1.0/24 dir fwd priority 2975 tmpl src 0.0.0.0 dst 192.0.2.2 proto esp reqid 1 mode tunnel",
	"ip xfrm policy add src 10.8.0.0/24 dst 10.8.2.0/24 dir out tmpl src 192.0.2.2 dst 192.0.2.5 proto esp reqid 11 mode tunnel",
	"ip xfrm state allocspi src 192.0.2.2 dst 192.0.2.5 proto esp reqid 11 mode tunnel min 0x31 max 0x31",
	"sysctl -qw net.ipv4.conf.up0.arp_ignore=1",
	// These belong to others.
	"ip xfrm policy add src 172.16.0.0/24 dst 10.8.2.0/24 dir out tmpl src 192.0.2.2 dst 192.0.2.6 proto esp reqid 11 mode tunnel",
	"ip xfrm policy add src 172.16.1.0/24 dst 10.8.2.0/24 dir out tmpl src 192.0.2.2 dst 192.0.2.6 proto esp reqid 13 mode tunnel",
	"ip xfrm state allocspi src 192.0.2.2 dst 192.0.2.6 proto esp reqid 11 mode tunnel min 0x32 max 0x32",
	"ip xfrm state allocspi src 192.0.2.2 dst 192.0.2.5 proto esp reqid 12 mode tunnel min 0x33 max 0x33",
	"ip link add leftax type veth peer name leftaxp", "ip link set leftax alias LEFX:pool:1", "ip link add leftmax address 02:54:00:00:00:01 type bridge",
	"ip rule add pref 1024 iif vethzz lookup 256",
	"iptables-nft -A FORWARD -i left_1234 -j ACCEPT",
	"ip xfrm state allocspi src 192.0.2.2 dst 192.0.2.3 proto esp reqid 1 mode tunnel mark 0xc00 mask 0xf00 min 0x12 max 0x12",
	"ip xfrm state allocspi src 192.0.2.2 dst 192.0.2.4 proto esp mode transport min 0x23 max 0x23",
	"ip xfrm policy add src 10.8.0.0/24 dst 10.8.1.0/24 dir in priority 2975 tmpl src 0.0.0.0 dst 192.0.2.2 proto esp reqid 2 mode tunnel",
	"sysctl -qw net.ipv4.conf.up0.arp_announce=1",
	"ip link add leftx type veth peer name leftxp", "ip link add vethzz type veth peer name vethzzp", "ip link set vethzz up", "ip link set vethzzp up",
	"ip route add 10.9.0.7/32 dev vethzz", "ip route add 10.80.0.0/16 via 192.0.2.3", "ip route add blackhole 10.9.2.0/24 proto 81",
	"ip rule add pref 98 fwmark 0x200000/0x200000 lookup 2006",
	"iptables-legacy -N LEFT-FWX", "iptables-nft -t nat -A POSTROUTING -m comment --comment left_1 -j MASQUERADE",
	"nft add table inet left-masqx", "nft add table ip left-masq", "ipset create left4a hash:ip",
	"iptables-legacy -A INPUT -m set --match-set left4a src -j DROP", "iptables-nft -A INPUT -m set ! --match-set left4a src -m comment --comment x -j DROP",
}

func TestCleanupTakesWhatIsMarkedAndNothingElse(t *testing.T) {
	for _, tool := range []string{"iptables-legacy", "iptables-nft", "ipset", "nft"} {
		needs.Tool(t, tool)
	}
	ns := netns.New(t)
	for _, line := range left {
		f := strings.Fields(line)
		ns.Run(f[0], f[1:]...)
	}
	dir := t.TempDir()
	for _, name := range []string{"10-left.conflist", "lib/left/a/b", "lib/leftx/a", "bin/left", "keep"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "lib/leftx"), filepath.Join(dir, "lib/left/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tables"), []byte("# tables\n77\tleft\n77 leftx\n177 left\n77 left # not this\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	pods := netip.MustParsePrefix("10.8.0.0/16")
	task := tasks.Cleanup{Network: "left", Residue: Selection{Scope: Scope{PodCIDRs: []netip.Prefix{pods}, Retain: []graph.Key{tasks.FileKey(dir + "/keep")}}, Residue: Residue{
		Links: []LinkSelector{{Name: "lefty", Kind: "bridge"}, {Name: "left[0-9]", Master: "lefty"}, {Name: "left.vx"}, {Name: "veth*", Kind: "veth", Pods: true},
			{Name: "up0"}, {Name: "lo"}, {Name: "left*", Kind: "veth", Alias: "LEFT:*"}, {Name: "left*", Kind: "bridge", MAC: "02:53:*"}},
		XFRM:    []XFRMSelector{{Mark: 0xd00, Mask: 0xf00}, {Mark: 0x20000, Mask: 0x20000, States: true}, {ReqID: 1, Priority: 2975}, {ReqID: 11, Pods: true, States: true}, {Mark: 0x40000, ReqID: 13}},
		Sysctls: []SysctlSelector{{Key: "net.ipv4.conf.up0.arp_ignore", Wrote: "1", Default: "0"}, {Key: "net.ipv4.conf.up0.arp_announce", Wrote: "2", Default: "0"}, {Key: "net.no.such", Wrote: "1", Default: "0"}},
		Lines:   []LineSelector{{File: dir + "/tables", Line: "77 left"}, {File: dir + "/tables", Line: "78 left"}, {File: dir + "/none", Line: "1 2"}},
		Routes:  []RouteSelector{{Protocol: 80, Type: "blackhole"}, {Pods: true, Protocol: 2}, {Table: 2005, Link: "up0"}, {Table: rtnl.AllTables, Link: "lefty"}, {Link: "vethc*"}},
		Rules:   []RuleSelector{{Table: 2005, Mark: 0x200000}, {Priority: 512, Pods: true}, {Table: 255}, {Priority: 1024, IIF: "vetha*", Table: 200, Last: 300}},
		Chains:  []ChainSelector{{Chain: "LEFT-FWD"}, {Chain: "LEFT-POST"}, {Table: "nat", Comment: "left:*"}, {Chain: "FORWARD", Out: "lefty", Target: "DROP"}, {Chain: "FORWARD", In: "left-*"}, {Chain: "INPUT", Set: "left4:*"}, {Chain: "FORWARD"}},
		Tables:  []TableSelector{{Family: "inet", Name: "left-masq"}}, IPSets: []string{"left4:*"}, LocalRule: true,
		Files: []string{dir + "/10-left.conflist", dir + "/lib/left/", dir + "/*/left", dir + "/keep", dir + "/no/such/"},
	}}}
	in(t, ns, func(h *host.Host) {
		c := converge(t, h, task)
		if c.Disruption != tasks.MayCutOff {
			t.Error("a cleanup without a checkpoint")
		}
		var got []string
		for _, item := range c.Items {
			got = append(got, string(item.Op)+" "+strings.ReplaceAll(string(item.Key), dir, "")+": "+item.Fields[0].Name)
		}
		want := []string{
			"- rule:ipv4 100 lookup local: back to priority 0",
			"- rule:ipv4 99 fwmark 0x200000/0x200000 lookup 2005: lookup 2005",
			"- rule:ipv4 512 from 10.8.0.7/32 lookup 254: lookup 254",
			"- rule:ipv4 1024 iif vethab lookup 256: lookup 256",
			"- route:2005/10.99.0.0/16: 10.99.0.0/16 via 192.0.2.3 dev up0 proto 2 table 2005",
			"- route:254/10.8.0.8/32: 10.8.0.8/32 dev vethcd proto 3 table 254",
			"- route:254/10.8.1.0/24: 10.8.1.0/24 via 192.0.2.3 dev up0 proto 2 table 254",
			"- route:254/10.8.2.0/24: blackhole 10.8.2.0/24 proto 80 table 254",
			"- iptables:ip/nft/nat/POSTROUTING: rule --comment \"left:1\" -j MASQUERADE",
			"- iptables:ip/nft/nat/LEFT-POST: chain with 0 rules",
			"- iptables:ip/nft/filter/FORWARD: rule -i left-1234 -j ACCEPT",
			"- xfrm:state 192.0.2.2/32 192.0.2.3/32 spi 0x11 mark 0x12340d00/0xffff0f00 reqid 1: IPsec",
			"- xfrm:policy out 10.8.0.0/24 10.8.1.0/24 spi 0x22 mark 0x20000/0x20000: IPsec",
			"- xfrm:state 192.0.2.2/32 192.0.2.4/32 spi 0x22: IPsec",
			"- xfrm:policy fwd 10.8.0.0/24 10.8.1.0/24 reqid 1: IPsec",
			"- xfrm:policy out 10.8.0.0/24 10.8.2.0/24 reqid 11: IPsec",
			"- xfrm:state 192.0.2.2/32 192.0.2.5/32 spi 0x31 reqid 11: IPsec",
			"- link:leftal: veth, down", "- link:leftmac: bridge, down",
			"- sysctl:net.ipv4.conf.up0.arp_ignore: 1, back to 0", "- line:/tables#77 left: line",
			"- iptables:ip/nft/filter/INPUT: rule --match-set left4:a --comment \"x\" -j DROP", "- iptables:ip/legacy/filter/INPUT: rule --match-set left4:a -j DROP",
			"- iptables:ip6/nft/filter/FORWARD: rule -o lefty -j DROP",
			"- iptables:ip/legacy/filter/FORWARD: rule -j LEFT-FWD",
			"- iptables:ip/legacy/filter/LEFT-FWD: chain with 1 rule",
			"- nft:inet/left-masq: nft table",
			"- ipset:left4:a: ipset",
			"- link:left1: veth, up, port of lefty", "- link:lefty: bridge, up", "- link:left.vx: vxlan, down", "- link:vethab: veth, up",
			"- link:vethcd: veth, up", "- link:vethef: veth, up",
			"- file:/10-left.conflist: file", "- file:/lib/left: directory", "- file:/bin/left: file",
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what is found (-want +got):\n%s", diff)
		}
	})

	has := func(command string, wants ...string) {
		t.Helper()
		f := strings.Fields(command)
		out := ns.Run(f[0], f[1:]...)
		for _, want := range wants {
			text, absent := strings.CutPrefix(want, "no ")
			if strings.Contains(out, text) == absent {
				t.Errorf("%s: want %s\n%s", command, want, out)
			}
		}
	}
	has("ip -o link", "up0", "leftx", "vethzz@", "no lefty", "no left1", "no left.vx", "no vethab", "no vethcd", "no vethef")
	has("ip route show table all", "default via 192.0.2.1 dev up0", "10.9.0.7 dev vethzz", "10.80.0.0/16", "blackhole 10.9.2.0/24", "no 10.8.", "no table 2005")
	has("ip rule", "0:\tfrom all lookup local", "98:\tfrom all fwmark 0x200000/0x200000 lookup 2006", "no 99:", "no 512:", "no 100:")
	has("iptables-legacy-save", "LEFT-FWX", "no LEFT-FWD", "left4a", "no left4:a")
	has("iptables-nft-save", "left4a", "no left4:a", "left_1", "no left:1", "no LEFT-POST")
	has("ip6tables-nft-save", "no lefty")
	has("nft list tables", "inet left-masqx", "table ip left-masq", "no inet left-masq\n")
	has("ipset list -n", "left4a", "no left4:a")
	has("ip xfrm state", "spi 0x00000012", "spi 0x00000023", "no spi 0x00000011", "no spi 0x00000022",
		"spi 0x00000032", "spi 0x00000033", "no spi 0x00000031")
	has("ip xfrm policy", "dir in", "src 172.16.0.0/24 dst 10.8.2.0/24", "src 172.16.1.0/24", "no src 10.8.0.0/24 dst 10.8.2.0/24", "no dir fwd")
	has("sysctl net.ipv4.conf.up0", "arp_ignore = 0", "arp_announce = 1")
	has("ip -d link", "LEFX:pool:1", "leftmax", "no LEFT:", "no leftmac")
	has("cat "+dir+"/tables", "# tables\n77 leftx\n177 left\n77 left # not this\n")
	has("stat -c %a "+dir+"/tables", "640")
	has("find "+dir, "/keep", "/lib/leftx/a", "no /lib/left/", "no 10-left", "no /bin/left")
}

// A selector may match everything. What the host itself needs is not found even then.
func TestCleanupNeverFindsWhatTheHostStandsOn(t *testing.T) {
	ns := netns.New(t)
	for _, line := range []string{"link add up0 type veth peer name up1", "addr add 192.0.2.2/24 dev up0", "link set up0 up", "link set up1 up", "route add default via 192.0.2.1"} {
		ns.Run("ip", strings.Fields(line)...)
	}
	everything := tasks.Cleanup{Network: "all", Residue: Selection{Residue: Residue{LocalRule: true,
		Links: []LinkSelector{{Name: "up0"}, {Name: "lo"}}, Routes: []RouteSelector{{Table: rtnl.AllTables}}, Rules: []RuleSelector{{}}}}}
	in(t, ns, func(h *host.Host) {
		if c := plan(t, everything, h.Live.View()); c != nil {
			t.Errorf("plan returns %+v", c.Items)
		}
	})
}

// A search that fails is an error of the plan and of the removal. Where it is the search for what
// the network's current mode uses, nothing is removed. The lines that keep it: find_and_remove.go,
// Find, Remove and besides.
func TestCleanupThatCannotLookIsAnError(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"/etc", "/opt"} {
		if err := os.Mkdir(root+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("loop", root+"/etc/loop"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/opt/left", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	unreadable, left := Residue{Files: []string{"/etc/loop/*"}}, Residue{Files: []string{"/opt/left"}}
	for name, s := range map[string]Selection{
		"the residue":      {Residue: unreadable},
		"the current mode": {Residue: left, Scope: Scope{Current: unreadable}},
	} {
		if found, err := s.Find(t.Context(), h.Live.View()); err == nil {
			t.Errorf("%s: Find returns %v", name, found)
		}
		if err := s.Remove(t.Context(), h); err == nil {
			t.Errorf("%s: Remove returns no error", name)
		}
		if _, err := os.Stat(root + "/opt/left"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Selection{Residue: left}).Remove(t.Context(), h); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root + "/opt/left"); err == nil {
		t.Error("nothing was removed")
	}
	v := sharedHost(t, map[string]string{"/etc/iproute2/rt_tables/mgmt": ""}).view()
	if found, err := findRoutes(t.Context(), v, romanaLike, Scope{}); err == nil {
		t.Errorf("names of tables that cannot be read: %v", found)
	}
}
