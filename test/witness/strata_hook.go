package witness

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/test/node"
)

// hooks run ip, sysctl, nft and systemctl at once: what they change of links, addresses, routes,
// rules, the network's sysctls, rule sets and units is the agent's to take back.
func (d draw) hooks() Change {
	h := Hook{Name: fmt.Sprintf("more-%d.service", d.IntN(100)), BeforeKubelet: d.percent(50)}
	var lines []string
	for range 1 + d.IntN(3) {
		ignore := ""
		if d.percent(90) {
			ignore = "-" // a command that fails fails nobody
		}
		lines = append(lines, "ExecStart="+ignore+d.command())
	}
	h.Manifest = "Type=oneshot\nRemainAfterExit=yes\n" + strings.Join(lines, "\n")
	return Change{Hooks: []Hook{h}}
}

// command is a line of ExecStart.
func (d draw) command() string {
	switch pick(d, "ip", "ip", "ip", "nft", "nft", "sysctl", "systemctl") {
	case "ip":
		return "/usr/sbin/ip " + d.ip()
	case "sysctl":
		s := d.sysctl()
		return fmt.Sprintf("/usr/sbin/sysctl -w %q", s.Key+"="+s.Value)
	case "nft":
		return fmt.Sprintf("/usr/sbin/nft %q", d.nft())
	}
	// What is disabled or masked acts at the next boot, after the watch: nobody takes that back.
	verb := pick(d, "is-active", "status", "show")
	if d.wild {
		verb = pick(d, "stop", "restart", "kill", "try-restart")
	}
	return "/usr/bin/systemctl --no-pager " + verb + " " + d.unit()
}

// ip is what the program is called with.
func (d draw) ip() string {
	if !d.wild {
		return pick(d,
			fmt.Sprintf("link add more%d type bridge", d.IntN(10)),
			fmt.Sprintf("link set host0 mtu %d", d.mtu()),
			fmt.Sprintf("address add 10.200.%d.1/32 dev lo", d.IntN(256)),
			"route replace "+d.prefix()+" via "+node.Gateway4,
			fmt.Sprintf("rule add pref %d to %s lookup main", 1000+d.IntN(1000), d.prefix()))
	}
	link := pick(d, "host0", "host0", pick(d, links...))
	hop := pick(d, "via "+d.neighbour(), "via "+node.Gateway4, "dev "+pick(d, links...))
	switch pick(d, "link", "address", "route", "route6", "rule") {
	case "link":
		return "link set " + link + " " + pick(d, "down", "up", "arp off", "multicast off",
			"allmulticast on", "promisc on", "nomaster", "txqueuelen 0",
			fmt.Sprintf("mtu %d", d.mtu()), fmt.Sprintf("address 02:00:00:00:00:%02x", d.IntN(256)))
	case "address":
		return pick(d, "address flush dev "+link, "-6 address flush dev "+link,
			"address add "+d.prefix()+" dev "+link, "address del "+node4+"/24 dev host0",
			"address add "+d.address()+"/32 dev lo", "address replace "+node4+"/32 dev host0")
	case "route":
		kind := pick(d, "", "", "blackhole ", "unreachable ", "prohibit ")
		if kind != "" {
			hop = ""
		}
		to := pick(d, "default", d.prefix(), d.prefix())
		return "route " + pick(d, "add", "replace", "append") + " " + kind + to + " " + hop
	case "route6":
		return "-6 route " + pick(d, "del default", "add blackhole "+d.prefix6(),
			"replace default via fd00:77::"+fmt.Sprint(2+d.IntN(200))+" dev host0",
			"flush dev "+link)
	}
	return fmt.Sprintf("rule add pref %d %s %s %s", d.IntN(2000),
		pick(d, "from", "to"), pick(d, "all", d.prefix()),
		pick(d, "blackhole", "unreachable", "prohibit", "lookup main", "lookup 100"))
}

// nft is a rule set with one chain.
func (d draw) nft() string {
	if !d.wild {
		return chain(pick(d, "input", "output", "prerouting", "forward"), 10, "accept") +
			"; add rule inet more c counter"
	}
	if d.percent(10) {
		return "flush ruleset"
	}
	hook, priority := pick(d, "input", "input", "output"), d.IntN(200)-100
	if hook == "input" && d.percent(50) {
		return d.firewall(priority)
	}
	out := chain(hook, priority, pick(d, "accept", "accept", "drop"))
	for range 1 + d.IntN(3) {
		out += "; add rule inet more c " + d.match(hook) + " " +
			pick(d, "accept", "accept", "drop", "drop", "reject", "counter")
	}
	return out
}

// firewall is a rule set as hosts have them: what the node began is answered, and some of what
// others begin is let in.
func (d draw) firewall(priority int) string {
	out := chain("input", priority, "drop") + "; add rule inet more c ct state established,related accept"
	if d.percent(70) {
		out += "; add rule inet more c meta l4proto { icmp, icmpv6 } accept"
	}
	for range 1 + d.IntN(3) {
		out += "; add rule inet more c " + d.match("input") + " accept"
	}
	return out
}

// chain makes the chain c of the table more.
func chain(hook string, priority int, policy string) string {
	return fmt.Sprintf("add table inet more; add chain inet more c "+
		"{ type filter hook %s priority %d ; policy %s ; }", hook, priority, policy)
}

// match is a condition of a rule.
func (d draw) match(hook string) string {
	if hook == "input" && d.percent(30) {
		return pick(d, "iifname lo", "iifname host0", "iifname != host0",
			fmt.Sprintf("tcp dport %d-65535", d.IntN(1<<16)))
	}
	return pick(d, "ct state invalid", "ct state new", "meta l4proto tcp", "meta l4proto udp",
		"meta l4proto icmpv6", "meta nfproto ipv6", "udp dport 53", "udp sport 53",
		"ip saddr "+d.prefix(), "ip daddr "+d.prefix(), "tcp flags syn",
		fmt.Sprintf("meta length > %d", d.IntN(3000)), "")
}
