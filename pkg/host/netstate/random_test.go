package netstate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/netns"
)

// pieces are objects of a network, and changes are changes of it. N stands for a random number. A
// kernel refuses some of them.
var (
	pieces = []string{
		"ip link set a0 txqueuelen NNN", "ip link set a0 alias aliasN", "ip link set a0 group N", "ip link property add dev a0 altname alt-aN",
		"ip link set a0 mtu 14NN", "ip link set b0 gso_max_size 4NNN gro_max_size 5NNN", "ip link set a0 multicast off", "ip link set b0 allmulticast on",
		"ip link add br0 type bridge ageing_time 2NN00 forward_delay 1N00 priority 4096 mcast_snooping 0 group_fwd_mask 8 no_linklocal_learn 1",
		"ip link set br0 type bridge stp_state 1", "ip link set br0 type bridge vlan_filtering 1 vlan_default_pvid 7",
		"ip link set c0 master br0", "ip link set d0 master br0", "ip link set br0 up",
		"ip link set c0 type bridge_slave cost 1NN priority 2N hairpin on guard on learning off isolated on flood off mcast_flood off neigh_suppress on",
		"ip link set d0 type bridge_slave root_block on fastleave on mcast_to_unicast on bcast_flood off",
		"bridge vlan add vid 1NN dev c0", "bridge vlan add vid 2NN dev c0 pvid untagged", "bridge vlan add vid 3NN-4NN dev d0", "bridge vlan add vid 5NN dev br0 self",
		"bridge vlan del vid 7 dev d0", "bridge fdb add 02:00:00:00:00:NN dev c0 master static",
		"ip link add vx0 type vxlan id 1NN dstport 4789 dev a0 ageing 1NN ttl 1N", "ip link set vx0 up",
		"bridge fdb append 00:00:00:00:00:00 dev vx0 dst 10.0.1.1NN", "bridge fdb append 00:00:00:00:00:00 dev vx0 dst 10.0.1.2NN",
		"bridge fdb add 02:00:00:00:01:NN dev vx0 dst 10.0.1.1NN self permanent",
		"ip link add mac0 link a0 type macvlan mode bridge", "ip link add vl0 link b0 type vlan id 1NN egress 1:N", "ip link add ipv0 link b0 type ipvlan mode l3",
		"ip link add gr0 type gre local 10.0.1.2 remote 10.0.1.9N ttl 1NN", "ip link add ge0 type geneve id NN remote 10.0.1.8N ttl 1N",
		"ip link add bond0 type bond mode active-backup miimon 1NN; ip link set bond0 up", "ip link set e0 down; ip link set e0 master bond0; ip link set e0 up",
		"ip link add vrf0 type vrf table 1NN; ip link set vrf0 up", "ip link set f0 master vrf0", "ip addr add 10.0.7.2/24 dev f0",
		"ip addr add 10.0.1.1N/24 dev a0", "ip addr add 10.0.1.2N/24 dev a0", "ip addr add 10.0.3.2/24 dev br0 metric NN",
		"ip -6 addr add 2001:db8:1::1N/64 dev a0 nodad", "ip -6 addr add 2001:db8:1::2N/64 dev a0 nodad preferred_lft 0", "ip -6 addr add 2001:db8:1::3N/64 dev a0 nodad",
		"ip route add default via 10.0.1.1 metric NN mtu 13NN advmss 12NN initcwnd 1N", "ip route add default via 10.0.2.1 metric 2NN realm 2 rto_min 1NNms",
		"ip route append default via 10.0.2.3", "ip route append default via 10.0.2.4",
		"ip route add 10.9.N.0/24 nexthop via 10.0.1.1 weight N nexthop via 10.0.2.1", "ip route add blackhole 10.8.0.0/16 metric NN", "ip route add prohibit 10.7.0.0/16 table 1N",
		"ip route add 10.6.0.0/16 via 10.0.1.1 table 1NN proto static tos 0x10", "ip route add 10.5.0.0/16 via inet6 2001:db8:2::7 dev b0",
		"ip route add 10.4.0.0/16 encap seg6 mode encap segs fc00::N dev a0", "ip route add 10.3.0.0/16 encap ip id N dst 10.0.1.7 dev a0", "ip route add local 10.2.N.0/24 dev lo table local",
		"ip route add throw 10.1.0.0/16 table 1NN", "ip route add 10.11.0.0/16 via 10.0.2.1 onlink dev b0 quickack 1 congctl cubic",
		"ip -6 route add 2001:db8:7::/64 dev a0 metric 100", "ip -6 route append 2001:db8:7::/64 dev b0 metric 100", "ip -6 route append 2001:db8:7::/64 dev c0 metric 100",
		"ip -6 route add default via 2001:db8:1::1 metric NN", "ip -6 route add 2001:db8:b::/48 via 2001:db8:1::1 src 2001:db8:1::2", "ip -6 route add default via 2001:db8:2::1 metric 1NN pref high", "ip -6 route add unreachable 2001:db8:8::/48",
		"ip -6 route add 2001:db8:9::/48 nexthop via 2001:db8:1::1 weight N nexthop via 2001:db8:2::1",
		"ip nexthop add id 1NN via 10.0.1.1 dev a0", "ip nexthop add id 21 via 10.0.1.1 dev a0; ip nexthop add id 22 via 10.0.2.1 dev b0", "ip nexthop add id 30 group 21,N/22,N",
		"ip nexthop add id 23 via 2001:db8:2::1 dev b0", "ip nexthop add id 24 blackhole", "ip nexthop add id 31 group 21/22 type resilient buckets 32 idle_timer 1NN",
		"ip route add 10.20.0.0/16 nhid 21", "ip route add 10.21.0.0/16 nhid 30", "ip -6 route add 2001:db8:a::/48 nhid 23", "ip route add 10.22.0.0/16 nhid 24", "ip route add 10.23.0.0/16 nhid 31",
		"ip rule add pref 1NN from 10.0.N.0/24 table 1NN", "ip rule add pref 200 fwmark 0xN/0xff lookup 1NN", "ip rule add pref 200 iif a0 ipproto tcp dport 1NN-2NN lookup 2NN",
		"ip rule add pref 200 not to 10.0.0.0/8 lookup main suppress_prefixlength 0", "ip rule add pref 210 uidrange NN-1NN blackhole", "ip rule add pref 211 oif b0 tos 0x10 goto 30000", "ip rule add pref 30000 nop",
		"ip -6 rule add pref 220 from 2001:db8:N::/64 lookup 1NN", "ip -6 rule add pref 220 tun_id N sport 1NN prohibit",
		"ip neigh add 10.0.1.5N lladdr 02:00:00:00:02:NN dev a0 nud permanent", "ip neigh add proxy 10.0.1.6N dev a0", "ip -6 neigh add proxy 2001:db8:1::9N dev b0",
		"ip token set ::NN dev b0",
	}
	changes = []string{
		"ip link set a0 txqueuelen NN", "ip link set a0 alias otherN", "ip link set a0 alias ''", "ip link set a0 group 0", "ip link property del dev a0 altname alt-aN", "ip link set b0 gso_max_size 6NNN gro_max_size 6NNN",
		"ip link set a0 mtu 1500", "ip link set a0 multicast on", "ip link set a0 promisc on", "ip link set b0 allmulticast off", "ip link set a0 address 02:00:00:00:09:NN",
		"ip link set br0 type bridge ageing_time 30000 stp_state 0 mcast_snooping 1 group_fwd_mask 0 vlan_filtering 0", "ip link set br0 type bridge no_linklocal_learn 0 forward_delay 1500",
		"ip link set c0 nomaster", "ip link set d0 nomaster", "ip link set d0 nomaster; ip link add br9 type bridge; ip link set d0 master br9",
		"ip link set c0 type bridge_slave cost 2 priority 3 hairpin off guard off learning on isolated off", "ip link set d0 type bridge_slave root_block off bcast_flood on",
		"bridge vlan del vid 1-4094 dev c0", "bridge vlan add vid 99 dev c0 pvid untagged", "bridge vlan del vid 1-4094 dev d0", "bridge vlan del vid 1-4094 dev br0 self", "ip link set br0 type bridge vlan_default_pvid 8",
		"bridge fdb del 02:00:00:00:00:NN dev c0 master", "bridge fdb flush dev vx0; bridge fdb del 00:00:00:00:00:00 dev vx0", "ip link set vx0 type vxlan ageing 7 ttl 3", "ip link set vx0 down",
		"ip link set mac0 type macvlan mode private", "ip link set vl0 type vlan egress 1:0 reorder_hdr off", "ip link set ipv0 type ipvlan mode l2", "ip link set gr0 type gre local 10.0.1.2 remote 10.0.1.77 ttl 7",
		"ip link set ge0 type geneve ttl 9 remote 10.0.1.9", "ip link set bond0 type bond miimon 7 primary e0", "ip link set e0 nomaster", "ip link set f0 nomaster", "ip link set f0 nomaster; ip link set f0 master br0",
		"ip addr flush dev a0", "ip addr del 10.0.1.2/24 dev a0", "ip -6 addr del 2001:db8:1::1N/64 dev a0", "ip -6 addr del 2001:db8:1::2/64 dev a0", "ip -6 addr flush dev b0 scope global", "ip link set a0 down", "ip link set b0 down; ip link set b0 up", "ip link set br0 down",
		"ip route flush default", "ip route flush table all proto boot", "ip route flush table main", "ip -6 route flush table main proto boot", "ip route del default via 10.0.2.4", "ip route del default via 10.0.2.3",
		"ip route replace default via 10.0.2.9", "ip -6 route del 2001:db8:7::/64 dev a0", "ip -6 route del 2001:db8:7::/64 dev b0", "ip -6 route replace default via 2001:db8:2::9", "ip route flush table local proto boot",
		"ip nexthop del id 21", "ip nexthop flush", "ip nexthop replace id 21 via 10.0.1.99 dev a0", "ip nexthop replace id 22 blackhole", "ip nexthop replace id 30 group 22", "ip nexthop del id 23", "ip nexthop del id 30; ip nexthop add id 30 via 10.0.1.88 dev a0", "ip nexthop add id 77 via 10.0.1.88 dev a0",
		"ip rule del pref 200", "ip rule del pref 210", "ip rule flush; ip rule add pref 32766 lookup main; ip rule add pref 32767 lookup default", "ip -6 rule del pref 220", "ip rule add pref 5 lookup 99", "ip rule del pref 211",
		"ip neigh flush all nud permanent", "ip neigh del proxy 10.0.1.6N dev a0", "ip token set ::9 dev b0",
	}
)

// TestRestoreBringsANetworkOfChanceBack makes random networks, changes them at random, and compares
// what iproute2 lists before the change and after the undo. More seeds test more networks.
func TestRestoreBringsANetworkOfChanceBack(t *testing.T) {
	for seed := range uint64(8) {
		testNetworkOfChance(t, seed)
	}
}

func testNetworkOfChance(t *testing.T, seed uint64) {
	random, ns := rand.New(rand.NewPCG(seed, 0)), netns.New(t)
	var base []string
	for _, l := range []string{"a", "b", "c", "d", "e", "f"} {
		base = append(base, fmt.Sprintf("ip link add %[1]s0 type veth peer name %[1]s1; ip link set %[1]s0 up; ip link set %[1]s1 up", l))
	}
	base = append(base, "ip addr add 10.0.1.2/24 dev a0; ip addr add 10.0.2.2/24 dev b0; ip -6 addr add 2001:db8:1::2/64 dev a0 nodad; ip -6 addr add 2001:db8:2::2/64 dev b0 nodad")
	batches(ns, append(base, some(random, pieces, 0.7)...))
	ns.Do(func() {
		h, ctx, before := openNet(t), t.Context(), picture(t, ns)
		was, err := Read(ctx, h.net)
		ok(t, err)
		done := some(random, changes, 0.3)
		random.Shuffle(len(done), func(i, j int) { done[i], done[j] = done[j], done[i] })
		batches(ns, done)
		if cmp.Equal(before, picture(t, ns)) {
			t.Errorf("seed %d: nothing was changed by\n%s", seed, strings.Join(done, "\n"))
		}
		for range 2 {
			ok(t, h.RemoveAdded(ctx, was))
			ok(t, h.Restore(ctx, was, Made{}))
			if diff := cmp.Diff(before, picture(t, ns)); diff != "" {
				t.Errorf("seed %d: not as before (-before +after):\n%s\nafter\n%s", seed, diff, strings.Join(done, "\n"))
			}
		}
	})
}

var numbers = regexp.MustCompile("N+")

// some returns lines chosen at random, with random numbers in them.
func some(random *rand.Rand, lines []string, part float64) (out []string) {
	for _, line := range lines {
		if random.Float64() < part {
			out = append(out, numbers.ReplaceAllStringFunc(line, func(n string) (number string) {
				for range n {
					number += strconv.Itoa(1 + random.IntN(8))
				}
				return number
			}))
		}
	}
	return out
}

// batches runs lines. It gives consecutive lines of one program to one process of it, and goes on
// after a line that fails.
func batches(ns *netns.NS, lines []string) {
	script, last := "", ""
	for line := range strings.SplitSeq(strings.Join(lines, "; "), "; ") {
		tool, rest, _ := strings.Cut(line, " ")
		if of6, is := strings.CutPrefix(rest, "-6 "); is {
			tool, rest = tool+" -6", of6
		}
		if tool != last {
			script, last = script+"\nEND\n"+tool+" -force -batch - <<'END'", tool
		}
		script += "\n" + rest
	}
	_, _ = ns.Try("sh", "-c", strings.TrimPrefix(script, "\nEND\n")+"\nEND\n")
}

// picture returns what iproute2 lists of a network, without counters and timers. It has one line
// for each setting of a link, and one for each other object, sorted if their order has no meaning.
func picture(t *testing.T, ns *netns.NS) (out []string) {
	for _, what := range []string{
		"ip -d -j link", "ip -d -j addr", "ip -d -j -4 route show table all", "ip -d -j -6 route show table all", "ip -d -j -4 rule", "ip -d -j -6 rule", "ip -d -j nexthop", "ip -j token",
		"bridge -j vlan", "bridge -j fdb", "ip -j neigh show nud permanent", "ip -j neigh show proxy",
	} {
		var list []map[string]any
		if text := ns.Run("sh", "-c", what); strings.TrimSpace(text) != "" {
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				t.Fatalf("%s: %v\n%s", what, err, text)
			}
		}
		var ordered, others []string
		for _, o := range list {
			of := o["ifname"]
			switch {
			case what == "ip -d -j link":
				others = append(others, leaves(fmt.Sprint(of), o)...)
			case what == "ip -d -j addr":
				for _, a := range o["addr_info"].([]any) {
					ordered = append(ordered, fmt.Sprint(of, " ", text(a)))
				}
			case o["protocol"] == "kernel" && o["table"] == "local": // a moment after its address
			case what == "bridge -j fdb" && (o["state"] == "" || o["state"] == "permanent" && o["dst"] == nil): // learned, or the kernel's
			case strings.Contains(what, "neigh"), strings.Contains(what, "fdb"), o["protocol"] == "kernel":
				others = append(others, text(o))
			default:
				ordered = append(ordered, text(o))
			}
		}
		slices.Sort(others)
		for _, l := range append(ordered, others...) {
			if !strings.Contains(l, "fe80::") && !strings.Contains(l, "ff00::") { // these come when there is a carrier
				out = append(out, what+": "+l)
			}
		}
	}
	return out
}

// runs matches names of values that are no settings.
var runs = regexp.MustCompile(`^(operstate|qdisc|state|no|id|bridge_id|.*_timer|designated_.*|topology_change.*|root_.*|.*_life_time|promiscuity|tentative|tso_max_size)$`)

func text(v any) string {
	out, _ := json.Marshal(settled(v)) // it came from JSON
	return string(out)
}

// settled returns a value without counters and timers.
func settled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if id, is := v["id"]; is && v["scope"] != nil { // a nexthop object
			v["object"] = id
		}
		for k, e := range v {
			if v[k] = settled(e); runs.MatchString(k) {
				delete(v, k)
			}
		}
	case []any:
		v = slices.DeleteFunc(v, func(e any) bool {
			return slices.Contains([]any{"LOWER_UP", "NO-CARRIER", "linkdown", "dead"}, e)
		})
		for i, e := range v {
			v[i] = settled(e)
		}
		if len(v) > 0 && strings.Contains(text(v[0]), "weight") { // next hops of IPv6 have no order
			slices.SortFunc(v, func(a, b any) int { return strings.Compare(text(a), text(b)) })
		}
		return v
	}
	return v
}

// leaves returns lines for the values of an object.
func leaves(name string, o map[string]any) (out []string) {
	for k, v := range settled(o).(map[string]any) {
		if inner, is := v.(map[string]any); is {
			out = append(out, leaves(name+" "+k, inner)...)
		} else {
			out = append(out, name+" "+k+" "+text(v))
		}
	}
	return out
}
