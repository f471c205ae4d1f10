package watch

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// routeWatch hears links, addresses, routes, rules and the sysctls of net.*.conf that the kernel
// tells of (netconf). On a node pods come and go by the second, and their links, addresses and
// routes with them: what is nobody's of the interest is dropped after a few comparisons.
type routeWatch struct {
	w      *Watcher
	socket *multicast
	aim    atomic.Pointer[routeAim]
	links  *linkCache // this and what follows: of the reading goroutine
	again  bool       // links are to be listed once more
}

func newRouteWatch(w *Watcher) *routeWatch { return &routeWatch{w: w, links: newLinkCache()} }

func (r *routeWatch) name() Source { return Links }

// routeGroups are joined all: which of them matter changes with the interest, and what does not is
// dropped cheaply.
var routeGroups = []int{
	unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV4_ROUTE,
	unix.RTNLGRP_IPV6_ROUTE,
	unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE, unix.RTNLGRP_IPV4_NETCONF, unix.RTNLGRP_IPV6_NETCONF,
}

func (r *routeWatch) set(i *Interest) (err error) {
	r.aim.Store(aimRoutes(i))
	if r.socket != nil && !r.w.isUnwatched(Links) {
		return r.ask()
	}
	_ = r.socket.close() // what has ended has nothing to tell
	r.links = newLinkCache()
	if r.socket, err = openMulticast(unix.NETLINK_ROUTE, routeGroups, nil, r.handle, r.lost,
		func(err error) { r.w.lose(Links, err) }); err != nil {
		return err
	}
	return r.ask()
}

func (r *routeWatch) close() error { return r.socket.close() }

// ask has the kernel list all links on the same socket, among the events: so the numbers of links
// are known in the order in which they change.
func (r *routeWatch) ask() error {
	const size = unix.NLMSG_HDRLEN + unix.SizeofIfInfomsg + unix.SizeofRtAttr + 4
	msg := make([]byte, size)
	binary.NativeEndian.PutUint32(msg, size)
	binary.NativeEndian.PutUint16(msg[4:], unix.RTM_GETLINK)
	binary.NativeEndian.PutUint16(msg[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	mask := msg[unix.NLMSG_HDRLEN+unix.SizeofIfInfomsg:]
	const skipStats = 1 << 3 // RTEXT_FILTER_SKIP_STATS, linux/rtnetlink.h
	binary.NativeEndian.PutUint16(mask, unix.SizeofRtAttr+4)
	binary.NativeEndian.PutUint16(mask[2:], unix.IFLA_EXT_MASK)
	binary.NativeEndian.PutUint32(mask[4:], skipStats)
	_, err := r.socket.file.Write(msg)
	return err
}

// lost forgets what was known of links: it may not be so any more.
func (r *routeWatch) lost() {
	clear(r.links.seen)
	r.w.trigger(Links, "too many events", true)
	r.list()
}

func (r *routeWatch) list() {
	if err := r.ask(); err != nil {
		r.w.lose(Links, err)
	}
}

func (r *routeWatch) handle(b []byte) {
	aim := r.aim.Load()
	for kind, m := range messages(b) {
		source, what := Source(""), ""
		switch kind {
		case unix.NLMSG_ERROR: // EBUSY: a list was asked for while another one comes
			r.again = true
		case unix.NLMSG_DONE:
			if r.again {
				r.again = false
				r.list()
			}
		case unix.RTM_NEWLINK, unix.RTM_DELLINK:
			if what = r.links.changed(aim, m, kind == unix.RTM_DELLINK); what != "" {
				source = Links
			}
		case unix.RTM_NEWADDR, unix.RTM_DELADDR:
			source, what = aim.address(m)
		case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
			source, what = aim.route(m)
		case unix.RTM_NEWRULE, unix.RTM_DELRULE:
			source, what = aim.rule(m)
		case unix.RTM_NEWNETCONF:
			source, what = aim.netconf(m, r.links)
		}
		if source != "" {
			r.w.trigger(source, what, false)
		}
	}
}

// routeAim is an interest in the form in which events are held against it.
type routeAim struct {
	links     map[string]bool
	addresses map[netip.Addr]bool
	routes    map[routeKey]bool
	rules     map[ruleKey]bool
	conf      map[string]bool // of net.*.conf: "all", "default" and links, as far as the kernel tells
}

type routeKey struct {
	table int
	dst   netip.Prefix
}

type ruleKey struct {
	family   byte
	priority int
}

func aimRoutes(i *Interest) *routeAim {
	a := &routeAim{
		links: map[string]bool{}, addresses: map[netip.Addr]bool{}, routes: map[routeKey]bool{},
		rules: map[ruleKey]bool{}, conf: map[string]bool{},
	}
	for _, l := range i.Links {
		a.links[l] = true
	}
	for _, ip := range i.Addresses {
		a.addresses[ip.Unmap()] = true
	}
	for _, r := range i.Routes {
		r = r.Canonical()
		a.routes[routeKey{r.Table, r.Dst}] = true
		if r.Link != "" {
			a.links[r.Link] = true // a route goes with its link, without a word
		}
		if r.Source.IsValid() {
			a.addresses[r.Source] = true // and with its source address
		}
	}
	for _, r := range i.Rules {
		family := byte(unix.AF_INET)
		if r.Family == 6 {
			family = unix.AF_INET6
		}
		a.rules[ruleKey{family, r.Priority}] = true
	}
	for _, key := range i.Sysctls {
		link := kernel.SysctlLink(key)
		if link != "" {
			a.links[link] = true // its keys come and go with it
		}
		if SysctlNotifies(key) {
			a.conf[cmp.Or(link, "all")] = true
		}
	}
	return a
}

// SysctlNotifies says that the kernel tells of each change of a key, by netconf
// (net/ipv4/devinet.c, devinet_conf_proc; net/ipv6/addrconf.c). Of other keys who writes through
// the host's procfs is heard, and nobody else: they have to be looked at, too.
func SysctlNotifies(key string) bool {
	if key == "net.ipv4.ip_forward" {
		return true
	}
	parts := strings.Split(key, ".")
	if len(parts) != 5 || parts[0] != "net" || parts[2] != "conf" {
		return false
	}
	switch parts[4] {
	case "forwarding", "ignore_routes_with_linkdown":
		return parts[1] == "ipv4" || parts[1] == "ipv6"
	case "rp_filter", "proxy_arp", "bc_forwarding":
		return parts[1] == "ipv4"
	case "proxy_ndp":
		return parts[1] == "ipv6"
	}
	return false
}

func (a *routeAim) address(m []byte) (Source, string) {
	for kind, value := range netlinkAttributes(m, unix.SizeofIfAddrmsg) {
		if kind != unix.IFA_LOCAL && kind != unix.IFA_ADDRESS {
			continue
		}
		if ip, ok := netip.AddrFromSlice(value); ok && a.addresses[ip] {
			return Addresses, ip.String()
		}
	}
	return "", ""
}

func (a *routeAim) route(m []byte) (Source, string) {
	if len(m) < unix.SizeofRtMsg || len(a.routes) == 0 {
		return "", ""
	}
	table, dst := int(m[4]), netip.IPv4Unspecified()
	if m[0] == unix.AF_INET6 {
		dst = netip.IPv6Unspecified()
	}
	for kind, value := range netlinkAttributes(m, unix.SizeofRtMsg) {
		switch {
		case kind == unix.RTA_DST:
			if ip, ok := netip.AddrFromSlice(value); ok {
				dst = ip
			}
		case kind == unix.RTA_TABLE && len(value) == 4:
			table = int(binary.NativeEndian.Uint32(value))
		}
	}
	prefix := netip.PrefixFrom(dst, int(m[1]))
	if a.routes[routeKey{table, prefix}] {
		return Routes, prefix.String()
	}
	return "", ""
}

func (a *routeAim) rule(m []byte) (Source, string) {
	if len(m) == 0 || len(a.rules) == 0 {
		return "", ""
	}
	priority := 0
	for kind, value := range netlinkAttributes(m, unix.SizeofRtMsg) { // struct fib_rule_hdr is as long
		if kind == unix.FRA_PRIORITY && len(value) == 4 {
			priority = int(binary.NativeEndian.Uint32(value))
		}
	}
	if a.rules[ruleKey{m[0], priority}] {
		return Rules, "a rule of that priority"
	}
	return "", ""
}

// netconf tells which set of net.*.conf changed: -1 is "all", -2 "default" (linux/netconf.h).
func (a *routeAim) netconf(m []byte, links *linkCache) (Source, string) {
	const ifindex, headPadded = 1, 4 // NETCONFA_IFINDEX; struct netconfmsg is one byte
	for kind, value := range netlinkAttributes(m, headPadded) {
		if kind != ifindex || len(value) != 4 {
			continue
		}
		of := "all"
		if index := int32(binary.NativeEndian.Uint32(value)); index >= 0 {
			of = links.names[index]
		}
		if a.conf[of] {
			return Sysctls, "conf." + of
		}
	}
	return "", ""
}
