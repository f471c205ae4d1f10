package firewall

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables/expr"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

// nodeRules is a node's own rule set, with parts that the kernel lists in another form than it
// accepts: intervals, sets without a name, maps to chains, matches of xtables.
const nodeRules = `
nft -f - <<'END'
table inet own {
	set admins { type ipv4_addr; flags interval; elements = { 10.0.0.0/8, 192.168.1.1-192.168.1.9, 172.16.0.1 } }
	set seen { type ipv4_addr . inet_service; flags dynamic,timeout; timeout 1h; }
	set nets { type ipv4_addr . ipv4_addr; flags interval; elements = { 10.1.0.0/16 . 10.2.0.0/16, 10.3.0.0/16 . 10.4.0.1 } }
	map ports { type inet_service : verdict; elements = { 22 : jump ssh, 80-89 : drop, 443 : accept } ; flags interval; }
	counter every { }
	chain ssh { ip saddr @admins accept; limit rate 5/minute accept; drop; }
	chain in {
		type filter hook input priority filter - 7; policy drop;
		counter name every
		ct state { established, related } accept
		iifname "lo" accept comment "ours"
		meta l4proto { icmp, ipv6-icmp } counter accept
		tcp dport vmap @ports
		tcp dport { 1-5, 8080, 9000-9100 } accept
		ip saddr . ip daddr @nets accept
		ip6 saddr { fe80::/10, fd00::/8 } accept
		tcp dport 179 jump { ip saddr 10.0.0.1 accept; drop; }
	}
	chain out { type filter hook output priority 3; }
}
table ip own {
	chain post { type nat hook postrouting priority srcnat; ip saddr 10.9.0.0/16 masquerade random,fully-random; }
}
table netdev dev {
	chain c { type filter hook ingress device "lo" priority 0; policy accept; }
}
table arp a {
	chain c { type filter hook input priority 0; arp operation request accept; }
}
table inet kube-x {
	chain forward { type filter hook forward priority 0; }
	chain svc { counter accept; }
}
table inet f2b-table {
	set addr-set-sshd { type ipv4_addr; elements = { 198.51.100.1 } ; }
	chain f2b-chain { type filter hook input priority -1; tcp dport 22 ip saddr @addr-set-sshd reject; }
}
END
iptables-nft -P FORWARD DROP
iptables-nft -N KUBE-SERVICES
iptables-nft -A INPUT -p tcp -m multiport --dports 22,80 -m comment --comment 'a b' -j ACCEPT
iptables-nft -A INPUT -p tcp -m conntrack --ctstate NEW -m tcp ! --dport 9 -j REJECT --reject-with tcp-reset
iptables-nft -A INPUT ! -p udp -m limit --limit 3/min -j LOG --log-prefix x
iptables-nft -A KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m tcp --dport 443 -j ACCEPT
iptables-nft -A FORWARD -j KUBE-SERVICES
iptables-nft -t nat -A POSTROUTING -s 10.8.0.0/16 ! -o lo -j MASQUERADE
ip6tables-nft -A OUTPUT -p ipv6-icmp -m icmp6 --icmpv6-type 135 -j ACCEPT`

var changing = regexp.MustCompile(`counter packets \d+ bytes \d+|# Warning.*\n|limit rate \S+ burst \S+ packets|\[\d+:\d+\]|(?m)^#.*\n`)

// rulesNow returns the rule set as the programs of others list it.
func rulesNow(ns *netns.NS) string {
	list := `{ nft list tables | while read -r t; do nft -s list $t 2>/dev/null; done; iptables-nft-save; ip6tables-nft-save; }`
	text := changing.ReplaceAllString(ns.Run("sh", "-c", list), "")
	blocks := regexp.MustCompile(`(?m)^(?:\}|COMMIT)\n`).Split(text, -1) // tables, whose order does not matter
	slices.Sort(blocks)
	return strings.Join(blocks, "}\n")
}

// Whatever a program does to the rule set, the former rules are restored and the new ones removed,
// also through a journal. The lines that keep it: ruleset.go, ruleset_restore.go and nft_batch.go,
// all of them.
func TestRestoreRuleSet(t *testing.T) {
	needs.Tool(t, "nft", "iptables-nft", "ip6tables-nft")
	ns := netns.New(t)
	ns.Run("sh", "-ec", nodeRules)
	ns.Do(func() {
		h, ctx := openTest(), t.Context()
		before := rulesNow(ns)
		read, err := h.RuleSet(ctx)
		noError(t, err)
		data, err := json.Marshal(read)
		noError(t, err)
		var was RuleSet
		noError(t, json.Unmarshal(data, &was))
		if changes := tableChanges(was, read); len(changes) > 0 {
			t.Errorf("nothing was done, and it would bring back %v", changes)
		}
		for _, does := range []string{
			"nft flush ruleset",
			"nft delete table inet own",
			"nft flush table inet own",
			"nft add chain inet own out '{ policy drop; }'",
			"nft insert rule inet own in tcp dport '{ 22, 6443 }' drop",
			"nft 'add table inet shut; add chain inet shut c { type filter hook output priority 0; policy drop; }'",
			"nft 'add table netdev shut; add chain netdev shut c { type filter hook ingress device lo priority 1; policy drop; }'",
			"iptables-nft -I OUTPUT -d 10.0.0.0/8 -j DROP; iptables-nft -P INPUT DROP",
			"iptables-nft -t raw -A PREROUTING -j DROP",
			"iptables-nft -N shut; iptables-nft -A shut -j DROP; iptables-nft -I INPUT -j shut",
			"iptables-nft -F; iptables-nft -X; iptables-nft -t nat -F; ip6tables-nft -F",
			"iptables-nft -D INPUT 2",
			"nft delete table ip filter; nft delete table ip nat",
		} {
			ns.Run("sh", "-ec", does)
			if rulesNow(ns) == before {
				t.Errorf("%s: it did nothing", does)
			}
			left, err := h.RestoreRuleSet(ctx, was)
			noError(t, err)
			if diff := cmp.Diff(before, rulesNow(ns)); diff != "" || len(left) > 0 {
				t.Fatalf("%s: not as before, left %q (-before +after):\n%s", does, left, diff)
			}
		}
		// What Kubernetes' own programs, CRI-O, Docker and fail2ban do meanwhile stays.
		ns.Run("sh", "-ec", `nft 'add table ip kube-proxy; add chain ip kube-proxy c { type filter hook input priority 0; }; add rule inet kube-x svc drop'
nft 'add table ip crio-hostports; add chain ip crio-hostports prerouting { type nat hook prerouting priority dstnat; }; add rule ip crio-hostports prerouting tcp dport 9080 dnat to 10.244.1.3:80'
iptables-nft -t nat -N CRIO-HOSTPORTS-MASQ; iptables-nft -t nat -A POSTROUTING -m comment --comment 'kube hostport masquerading' -m conntrack --ctstate DNAT -j CRIO-HOSTPORTS-MASQ
iptables-nft -N KUBE-FIREWALL; iptables-nft -I INPUT -j KUBE-FIREWALL; iptables-nft -A KUBE-SERVICES -d 10.96.0.2/32 -j ACCEPT; iptables-nft -D KUBE-SERVICES 1
iptables-nft -N f2b-web; iptables-nft -A f2b-web -s 198.51.100.3 -j REJECT; iptables-nft -I INPUT -p tcp -m multiport --dports 80 -j f2b-web
nft 'add element inet f2b-table addr-set-sshd { 198.51.100.2 }; add set inet f2b-table addr-set-web { type ipv4_addr; elements = { 198.51.100.4 }; }; add rule inet f2b-table f2b-chain tcp dport 80 ip saddr @addr-set-web reject'
iptables-nft -I FORWARD -o br-0123456789ab -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT; iptables-nft -A FORWARD -i br-0123456789ab ! -o br-0123456789ab -j ACCEPT
iptables-nft -t nat -A POSTROUTING -s 172.31.0.0/24 ! -o br-0123456789ab -j MASQUERADE`)
		theirs := rulesNow(ns)
		_, err = h.RestoreRuleSet(ctx, was)
		noError(t, err)
		if diff := cmp.Diff(theirs, rulesNow(ns)); diff != "" {
			t.Errorf("what others did (-theirs +after):\n%s", diff)
		}
		ns.Run("sh", "-ec", "iptables-nft -A INPUT -j DROP; iptables-nft -I FORWARD -i br-0123456789ab -j DROP")
		_, err = h.RestoreRuleSet(ctx, was)
		noError(t, err)
		if diff := cmp.Diff(theirs, rulesNow(ns)); diff != "" {
			t.Errorf("a rule beside theirs (-theirs +after):\n%s", diff)
		}
	})
}

// A table of iptables that was not there has chains of Kubernetes by now. They stay, with the
// rules that lead to them. The rest of the table goes. The line that keeps it: ruleset_restore.go,
// shared.
func TestRestoreRuleSetOfATableThatCame(t *testing.T) {
	needs.Tool(t, "nft", "iptables-nft")
	ns := netns.New(t)
	ns.Do(func() {
		h, ctx := openTest(), t.Context()
		was, err := h.RuleSet(ctx)
		noError(t, err)
		ns.Run("sh", "-ec", "iptables-nft -N KUBE-FIREWALL; iptables-nft -A KUBE-FIREWALL -s 198.51.100.3 -j DROP; iptables-nft -A INPUT -j KUBE-FIREWALL")
		theirs := rulesNow(ns)
		ns.Run("sh", "-ec", "iptables-nft -A INPUT -j DROP; iptables-nft -P INPUT DROP; iptables-nft -t raw -A PREROUTING -j DROP")
		left, err := h.RestoreRuleSet(ctx, was)
		noError(t, err)
		if diff := cmp.Diff(theirs, rulesNow(ns)); diff != "" || len(left) > 0 {
			t.Errorf("left %q (-theirs +after):\n%s", left, diff)
		}
	})
}

// The rule set of iptables has the protocol of a match beside the rule. The line that keeps it:
// ruleset_restore.go, ofProtocol.
func TestWhatLoadsTheProtocol(t *testing.T) {
	header := func(offset, length uint32) expr.Any {
		return &expr.Payload{Base: expr.PayloadBaseNetworkHeader, Offset: offset, Len: length}
	}
	for _, c := range []struct {
		e    expr.Any
		want bool
	}{
		{&expr.Meta{Key: expr.MetaKeyL4PROTO}, true}, {&expr.Meta{Key: expr.MetaKeyIIFNAME}, false}, {header(9, 1), true}, {header(6, 1), true},
		{header(1, 1), false}, {header(6, 2), false}, {&expr.Payload{Base: expr.PayloadBaseTransportHeader, Offset: 9, Len: 1}, false}, {&expr.Cmp{}, false},
	} {
		if got := ofProtocol(c.e); got != c.want {
			t.Errorf("%+v: %t, want %t", c.e, got, c.want)
		}
	}
}

// firewalld's table for its reload drops all new connections. An undo neither creates it, where the
// rule set was read in the middle of a reload, nor removes it below firewalld. The line that keeps
// it: ruleset.go, ruleSet (reloadTable).
func TestRestoreRuleSetLeavesFirewalldsReload(t *testing.T) {
	needs.Tool(t, "nft")
	const reloads = "add table inet firewalld_policy_drop; add chain inet firewalld_policy_drop filter_input { type filter hook input priority 9; policy drop; }"
	for _, c := range [][2]string{{reloads, "delete table inet firewalld_policy_drop"}, {"add table inet own", reloads}} {
		ns := netns.New(t)
		ns.Run("nft", c[0])
		ns.Do(func() {
			h, ctx := openTest(), t.Context()
			was, err := h.RuleSet(ctx)
			noError(t, err)
			ns.Run("nft", c[1])
			theirs := rulesNow(ns)
			_, err = h.RestoreRuleSet(ctx, was)
			noError(t, err)
			if diff := cmp.Diff(theirs, rulesNow(ns)); diff != "" {
				t.Errorf("%s (-theirs +after):\n%s", c[1], diff)
			}
		})
	}
}

// Tables of every kind that people make are restored whole, also if the kernel lists a part in a
// form that it does not accept. The lines that keep it: ruleset.go, ruleMessage and
// elementMessage; ruleset.go, elements.
func TestRestoreRuleSetOfEveryForm(t *testing.T) {
	needs.Tool(t, "nft", "iptables-nft", "ip6tables-nft")
	const chain = "chain c { type filter hook input priority 0; "
	var tables strings.Builder
	for i, body := range []string{
		"set s { type ipv4_addr; flags interval,timeout; timeout 1h; elements = { 10.0.0.0/8, 172.16.0.1-172.16.0.9 timeout 5h }; }",
		"set s { type ipv4_addr; flags interval,timeout; elements = { 10.0.0.0/8 timeout 1h, 12.0.0.0/8 }; }",
		"set s { type ipv4_addr; flags timeout; timeout 1h; elements = { 10.0.0.1 timeout 5h, 10.0.0.2 }; }",
		"set s { type ipv4_addr . ipv4_addr; flags interval,timeout; timeout 1h; elements = { 10.0.0.0/8 . 10.0.0.1 timeout 5h }; }",
		chain + "meter m { ip saddr limit rate 5/second } accept; }",
		chain + "ct count over 5 reject with tcp reset; }",
		"set s { type ipv4_addr; flags dynamic; }; " + chain + "add @s { ip saddr counter }; }",
		"set s { type ipv4_addr; size 65535; flags dynamic; }; " + chain + "add @s { ip saddr ct count over 3 } drop; }",
		"set s { type ipv4_addr; flags dynamic,timeout; }; " + chain + "add @s { ip saddr timeout 5m }; update @s { ip saddr }; }",
		"set s { type ipv4_addr; flags dynamic,timeout; timeout 60s; }; " + chain + "tcp dport 22 ct state new add @s { ip saddr limit rate over 3/minute } drop; }",
		"map m { type ipv4_addr : mark; flags dynamic,timeout; timeout 1m; }; " + chain + "update @m { ip saddr timeout 2m : mark }; }",
		"chain d { accept; }; map m { type ipv4_addr : verdict; flags interval; elements = { 10.0.0.0/8 : goto d, 11.0.0.1 : jump d }; }",
		"counter a { }; map m { type inet_service : counter; elements = { 80 : \"a\" }; }; " + chain + "counter name tcp dport map @m; }",
		"quota q { over 500 mbytes; }; limit l { rate 400/minute; }; " + chain + "quota name \"q\" drop; limit name \"l\" accept; }",
	} {
		fmt.Fprintf(&tables, "table ip t%d {\n%s\n}\n", i, strings.ReplaceAll(body, "; ", "\n"))
	}
	ns := netns.New(t)
	ns.Run("sh", "-ec", "nft -f - <<'END'\n"+tables.String()+"END")
	ns.Do(func() {
		h, ctx := openTest(), t.Context()
		before := rulesNow(ns)
		was, err := h.RuleSet(ctx)
		noError(t, err)
		ns.Run("nft", "flush", "ruleset")
		left, err := h.RestoreRuleSet(ctx, was)
		noError(t, err)
		if diff := cmp.Diff(before, rulesNow(ns)); diff != "" || len(left) > 0 {
			t.Errorf("not as before, left %q (-before +after):\n%s", left, diff)
		}
	})
}

// What is not restored is reported by the name that nft has for it, for every family.
func TestRestoreRuleSetNamesWhatItLeaves(t *testing.T) {
	needs.Tool(t, "nft")
	ns := netns.New(t)
	ns.Run("nft", "table arp mine { chain c { type filter hook input priority 0; }; }")
	ns.Do(func() {
		h, ctx := openTest(), t.Context()
		was, err := h.RuleSet(ctx)
		noError(t, err)
		was.Tables[0].Chains[0].Message = nil // no kernel accepts this
		ns.Run("nft", "flush", "ruleset")
		left, err := h.RestoreRuleSet(ctx, was)
		noError(t, err)
		if len(left) != 1 || !strings.HasPrefix(left[0], "nft table arp mine (") {
			t.Errorf("left %q", left)
		}
	})
}
