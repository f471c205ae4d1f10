package dryrun

import (
	"fmt"
	"net/netip"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

var networkKinds = []kind{
	{"link", []string{absent, right, content, mode, "wrong address", wrong}, link},
	{"address", []string{absent, right, content, missing, "link to come", "IPv6", "wrong content beside another"}, address},
	{"route", []string{absent, right, content, wrong, missing, "link to come", "IPv6", "blackhole", "next hop out of reach"}, route},
	{"rule", []string{absent, right, content, "IPv6"}, policyRule},
	{"nft table", []string{absent, right, content, "other family", "empty"}, table},
	{"forward accept", []string{absent, right, "two chains", "one of two", missing}, forward},
	{"sysctl", []string{right, content, missing, "optional", "link to come", "no such link", "host-wide", "forwarding", "all and default", "IPv6 forwarding"}, sysctl},
}

// dev makes a bridge for the case, up and with an address.
func (w *world) dev() string {
	name := w.name("br")
	w.sh("ip link add %s type bridge", name)
	w.sh("ip address add 10.%d.0.1/24 dev %s", 100+w.n, name)
	w.sh("ip link set %s up", name)
	return name
}

func link(w *world, state string) []tasks.Task {
	t := tasks.Link{Meta: meta(), Name: w.name("ln"), Kind: "bridge", MTU: 1460, Up: true, MAC: "02:00:00:00:01:02"}
	kind, mtu, mac := "bridge", "1460", t.MAC
	switch state {
	case content:
		mtu = "1400"
	case "wrong address":
		mac = "02:00:00:00:09:09"
	case wrong:
		kind = "veth"
	}
	if state != absent {
		w.sh("ip link add %s address %s type %s", t.Name, mac, kind)
		w.sh("ip link set %s mtu %s", t.Name, mtu)
		if state != mode { // for a link mode means up or down
			w.sh("ip link set %s up", t.Name)
		}
	}
	return []tasks.Task{t}
}

func address(w *world, state string) []tasks.Task {
	t := tasks.Address{Meta: meta(), Prefix: netip.MustParsePrefix(fmt.Sprintf("10.%d.1.1/24", 100+w.n))}
	switch state {
	case missing:
		t.Link = w.name("no")
		return []tasks.Task{t}
	case "link to come":
		t.Link = w.name("ln")
		return []tasks.Task{t, tasks.Link{Meta: meta(), Name: t.Link, Kind: "bridge", Up: true}}
	}
	t.Link = w.dev()
	switch state {
	case right:
		w.sh("ip address add %s dev %s", t.Prefix, t.Link)
	case content:
		w.sh("ip address add %s/28 dev %s", t.Prefix.Addr(), t.Link)
	case "wrong content beside another":
		w.sh("ip address add %s/28 dev %s", t.Prefix.Addr(), t.Link)
		w.sh("ip address add %s/28 dev %s", t.Prefix.Addr().Next(), t.Link) // secondary: it goes with the first one
	case "IPv6":
		t.Prefix = netip.MustParsePrefix(fmt.Sprintf("fd00:%d::1/64", w.n))
	}
	return []tasks.Task{t}
}

func route(w *world, state string) []tasks.Task {
	r := rtnl.Route{Type: "unicast", Dst: netip.MustParsePrefix(fmt.Sprintf("10.200.%d.0/24", w.n)), Gateway: netip.MustParseAddr(fmt.Sprintf("10.%d.0.9", 100+w.n))}
	dst, gw := r.Dst, r.Gateway
	switch state {
	case missing:
		r.Link = w.name("no")
		return []tasks.Task{tasks.Route{Meta: meta(), Route: r}}
	case "link to come":
		r.Link = w.name("ln")
		prefix := netip.PrefixFrom(gw.Next(), 24)
		m := meta()
		m.Requires = append(m.Requires, tasks.AddressKey(r.Link, prefix))
		return []tasks.Task{tasks.Route{Meta: m, Route: r}, tasks.Address{Meta: meta(), Link: r.Link, Prefix: prefix}, tasks.Link{Meta: meta(), Name: r.Link, Kind: "bridge", Up: true}}
	case "blackhole":
		return []tasks.Task{tasks.Route{Meta: meta(), Route: rtnl.Route{Type: "blackhole", Dst: r.Dst}}}
	}
	r.Link = w.dev()
	switch state {
	case right:
		w.sh("ip route add %s via %s dev %s proto 149", dst, gw, r.Link)
	case content:
		w.sh("ip route add %s via %s dev %s proto 149", dst, gw.Next(), r.Link)
	case wrong: // a route of others, which leads another way
		w.sh("ip route add %s via %s dev %s proto static", dst, gw.Next(), r.Link)
	case "IPv6":
		w.sh("ip address add fd01:%d::1/64 dev %s nodad", w.n, r.Link)
		r.Dst, r.Gateway = netip.MustParsePrefix(fmt.Sprintf("fd02:%d::/64", w.n)), netip.MustParseAddr(fmt.Sprintf("fd01:%d::9", w.n))
	case "next hop out of reach":
		r.Gateway = netip.MustParseAddr("172.31.255.1")
	}
	return []tasks.Task{tasks.Route{Meta: meta(), Route: r}}
}

func policyRule(w *world, state string) []tasks.Task {
	r := rtnl.Rule{Family: 4, Priority: 700 + w.n, Src: netip.MustParsePrefix("10.9.0.0/16"), Table: 100 + w.n}
	switch state {
	case right:
		w.sh("ip rule add pref %d from 10.9.0.0/16 lookup %d", r.Priority, r.Table)
	case content: // a rule for another table is another rule
		w.sh("ip rule add pref %d from 10.9.0.0/16 lookup 99", r.Priority)
	case "IPv6":
		r = rtnl.Rule{Family: 6, Priority: 700 + w.n, Mark: 0x80, Mask: 0x80, Table: 100 + w.n}
	}
	return []tasks.Task{tasks.Rule{Meta: meta(), Rule: r}}
}

func table(w *world, state string) []tasks.Task {
	name := w.name("tb")
	t := tasks.Table{Meta: meta(), Table: firewall.Table{Family: "ip", Name: name, Chains: []firewall.Chain{{
		Name: "post", Type: "nat", Hook: "postrouting", Priority: 100,
		Rules: []firewall.NFRule{{SrcIn: []netip.Prefix{netip.MustParsePrefix("10.96.1.0/24")}, OIFNot: "cbr0", Verdict: "masquerade"}},
	}}}}
	switch state {
	case right, content:
		w.converge(t, func() { // nft itself writes such rules in another form
			if state == content {
				w.sh("nft insert rule ip %s post tcp dport 22 accept", name)
			}
		})
	case "other family":
		w.sh("nft add table ip6 %s", name)
	case "empty":
		w.sh("nft add table ip %s", name)
	}
	return []tasks.Task{t}
}

func forward(w *world, state string) []tasks.Task {
	t := tasks.ForwardAccept{Meta: meta(), Link: w.name("fw"), Families: []int{4}}
	chain := func(table, policy string) {
		w.sh("nft add table ip %s", table)
		w.sh("nft add chain ip %s FORWARD { type filter hook forward priority 0 ; policy %s ; }", table, policy)
	}
	switch state {
	case absent:
		chain(w.name("a"), "drop")
	case right:
		chain(w.name("fine"), "accept")
	case "two chains":
		chain(w.name("a"), "drop")
		chain(w.name("b"), "drop")
	case "one of two":
		chain(w.name("a"), "drop")
		chain(w.name("b"), "accept")
	}
	return []tasks.Task{t}
}

func sysctl(w *world, state string) []tasks.Task {
	one := func(key, value string) tasks.Task { return tasks.Sysctl{Meta: meta(), Key: key, Value: value} }
	switch state {
	case missing:
		return []tasks.Task{one(fmt.Sprintf("net.ipv4.no_such_key_%d", w.n), "1")}
	case "optional":
		return []tasks.Task{tasks.Sysctl{Meta: meta(), Key: fmt.Sprintf("net.ipv4.no_such_key_%d", w.n), Value: "1", Optional: true}}
	case "link to come":
		name := w.name("ln")
		return []tasks.Task{one("net.ipv4.conf."+name+".rp_filter", "2"), tasks.Link{Meta: meta(), Name: name, Kind: "bridge"}}
	case "no such link":
		return []tasks.Task{one("net.ipv4.conf."+w.name("no")+".rp_filter", "2")}
	case "host-wide":
		return []tasks.Task{one(fmt.Sprintf("kernel.%s", []string{"panic", "pid_max", "threads-max"}[w.n%3]), "4242")}
	case "forwarding":
		return w.once(state, one("net.ipv4.ip_forward", "1"), one("net.ipv4.conf.all.accept_redirects", "1"), one("net.ipv4.conf.lo.forwarding", "1"))
	case "all and default":
		return w.once(state, one("net.ipv4.conf.default.log_martians", "1"), one("net.ipv4.conf.lo.log_martians", "0"))
	case "IPv6 forwarding":
		return w.once(state, one("net.ipv6.conf.all.forwarding", "1"), one("net.ipv6.conf.lo.forwarding", "1"), one("net.ipv6.conf.default.forwarding", "1"))
	}
	key := "net.ipv4.conf." + w.dev() + ".rp_filter"
	value := map[string]string{right: "1", content: "2"}[state]
	w.sh("sysctl -q -w %s=%s", key, value)
	return []tasks.Task{one(key, "1")}
}

// once adds tasks that each state can have only once.
func (w *world) once(name string, list ...tasks.Task) []tasks.Task {
	if w.made == nil {
		w.made = map[string]bool{}
	}
	if w.made[name] {
		return nil
	}
	w.made[name] = true
	return list
}
