package watch

import (
	"cmp"
	"encoding/binary"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// routeWatch watches links, addresses, routes, rules, and the sysctls of net.*.conf that the kernel
// reports (netconf). Pods start and end all the time, with their links, addresses and routes. So
// messages that do not matter are dropped in the kernel, by a filter.
type routeWatch struct {
	multicast
	aim   atomic.Pointer[routeAim]
	links *linkCache // links and again belong to the reading goroutine
	again bool       // the links must be listed again

	mu      sync.Mutex // for listing and the filter
	listing bool       // the kernel lists the links, and nothing is dropped meanwhile
}

func newRouteWatch(w *Watcher) *routeWatch {
	r := &routeWatch{multicast: multicast{listener: listener{w: w, source: Links}, protocol: unix.NETLINK_ROUTE,
		groups: routeGroups}}
	r.received, r.lost = r.handle, r.forget
	return r
}

// routeGroups are always all joined: the interest changes, and to drop other messages is cheap.
var routeGroups = []int{
	unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR, unix.RTNLGRP_IPV4_ROUTE,
	unix.RTNLGRP_IPV6_ROUTE,
	unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE, unix.RTNLGRP_IPV4_NETCONF, unix.RTNLGRP_IPV6_NETCONF,
}

func (r *routeWatch) set(i *Interest) error {
	r.aim.Store(aimRoutes(i))
	if r.ended() {
		r.links = newLinkCache()
		if err := r.listen(); err != nil {
			return err
		}
	}
	return r.ask()
}

// ask makes the kernel list all links on the socket of the events. So the indexes of links are
// known in the order in which they change. Until the list has ended no message is dropped, because
// the filter must know these indexes.
func (r *routeWatch) ask() error {
	r.mu.Lock()
	r.listing = true
	err := r.setFilter(nil)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = r.file.Write(sys.Message(unix.RTM_GETLINK, unix.NLM_F_REQUEST|unix.NLM_F_DUMP, 0, rtnl.LinkQuestion()))
	return err
}

// narrow has the kernel drop what does not matter, after a list of links. If the interest is a
// newer one, another list is under way, and narrow does nothing.
func (r *routeWatch) narrow(aim *routeAim) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.aim.Load() != aim {
		return
	}
	r.listing = false
	if err := r.setFilter(aim.program(slices.Collect(maps.Keys(r.links.names)))); err != nil {
		_ = r.setFilter(nil) // a filter saves time, and nothing else depends on it
	}
}

// setFilter replaces the filter of the socket; nil: none.
func (r *routeWatch) setFilter(filter []unix.SockFilter) error {
	raw, err := r.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if filter != nil {
			failed = attach(int(fd), filter)
			return
		}
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DETACH_FILTER, 0)
		if errors.Is(failed, unix.ENOENT) { // it has none
			failed = nil
		}
	})
	return errors.Join(err, failed)
}

// forget drops the known states of links after lost messages, and lists the links again.
func (r *routeWatch) forget() {
	clear(r.links.seen)
	r.w.trigger(Links, tooMany, true)
	r.list()
}

// relist lists the links again, unless the kernel lists them now.
func (r *routeWatch) relist() {
	r.mu.Lock()
	listing := r.listing
	r.mu.Unlock()
	if !listing {
		r.list()
	}
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
		case unix.NLMSG_ERROR: // EBUSY: another list is still being sent
			r.again = true
		case unix.NLMSG_DONE:
			if !r.again {
				r.narrow(aim)
			} else {
				r.again = false
				r.list()
			}
		case unix.RTM_NEWLINK, unix.RTM_DELLINK:
			before := len(r.links.names)
			if what = r.links.changed(aim, m, kind == unix.RTM_DELLINK); what != "" {
				source = Links
			}
			if len(r.links.names) > before { // before the event: the filter must know the index
				r.relist()
			}
		case unix.RTM_NEWADDR, unix.RTM_DELADDR:
			source, what = aim.address(m, kind == unix.RTM_DELADDR, r.links)
		case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
			source, what = aim.route(m, kind == unix.RTM_DELROUTE, r.links)
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

// routeAim is an interest in a form that is quickly compared with messages.
type routeAim struct {
	links     map[string]bool
	addresses map[netip.Addr]bool
	holders   map[string][]netip.Addr
	uplink    DefaultRoute
	routes    map[routeKey]bool
	rules     map[ruleKey]bool
	conf      map[string]bool // of net.*.conf: "all", "default" and links, for reported keys
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
		rules: map[ruleKey]bool{}, conf: map[string]bool{}, holders: i.Holders, uplink: i.Default,
	}
	for l := range i.Holders {
		a.links[l] = true
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
			a.links[r.Link] = true // the kernel removes a route with its link without a message
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
			a.links[link] = true // its keys exist as long as the link
		}
		if SysctlNotifies(key) {
			a.conf[cmp.Or(link, "all")] = true
		}
	}
	return a
}

// SysctlNotifies reports whether the kernel reports each change of a key, by netconf
// (net/ipv4/devinet.c, devinet_conf_proc; net/ipv6/addrconf.c). For other keys, only writes through
// the host's procfs are noticed, so the caller must also read them from time to time.
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

func (a *routeAim) address(m []byte, gone bool, links *linkCache) (Source, string) {
	if len(m) < unix.SizeofIfAddrmsg {
		return "", ""
	}
	body := behind(m, unix.SizeofIfAddrmsg)
	local, ok := netip.AddrFromSlice(sys.Attribute(body, unix.IFA_LOCAL))
	peer, _ := netip.AddrFromSlice(sys.Attribute(body, unix.IFA_ADDRESS))
	if !ok {
		local = peer
	}
	has, holds := a.holders[links.names[int32(binary.NativeEndian.Uint32(m[4:]))]]
	switch {
	case a.addresses[local], holds && slices.Contains(has, local) == gone:
		return Addresses, local.String()
	case a.addresses[peer]:
		return Addresses, peer.String()
	}
	return "", ""
}

func (a *routeAim) route(m []byte, gone bool, links *linkCache) (Source, string) {
	if len(m) < unix.SizeofRtMsg || a.ignoresRoutes() {
		return "", ""
	}
	table, dst := int(m[4]), netip.IPv4Unspecified()
	if m[0] == unix.AF_INET6 {
		dst = netip.IPv6Unspecified()
	}
	body := behind(m, unix.SizeofRtMsg)
	if ip, ok := netip.AddrFromSlice(sys.Attribute(body, unix.RTA_DST)); ok {
		dst = ip
	}
	table = cmp.Or(sys.Number(sys.Attribute(body, unix.RTA_TABLE)), table)
	prefix := netip.PrefixFrom(dst, int(m[1]))
	link, _ := links.names[int32(sys.Number(sys.Attribute(body, unix.RTA_OIF)))]
	moved := prefix.Bits() == 0 && table == unix.RT_TABLE_MAIN && a.moves(prefix, link, gone)
	if moved || a.routes[routeKey{table, prefix}] {
		return Routes, prefix.String()
	}
	return "", ""
}

// ignoresRoutes reports that no route is an event.
func (a *routeAim) ignoresRoutes() bool { return len(a.routes) == 0 && len(a.holders) == 0 }

// moves reports whether a default route on a link that is added or gone may move the node's to
// another link.
func (a *routeAim) moves(dst netip.Prefix, link string, gone bool) bool {
	if len(a.holders) == 0 || a.uplink.Link != "" && dst.Addr().Is6() && !a.uplink.IPv6 {
		return false
	}
	return gone == (link != "" && link == a.uplink.Link)
}

func (a *routeAim) rule(m []byte) (Source, string) {
	if len(m) == 0 || len(a.rules) == 0 {
		return "", ""
	}
	// struct fib_rule_hdr has the size of rtmsg.
	priority := sys.Number(sys.Attribute(behind(m, unix.SizeofRtMsg), unix.FRA_PRIORITY))
	if a.rules[ruleKey{m[0], priority}] {
		return Rules, "a rule of that priority"
	}
	return "", ""
}

// netconf returns which net.*.conf directory changed: -1 is "all", -2 "default" (linux/netconf.h).
func (a *routeAim) netconf(m []byte, links *linkCache) (Source, string) {
	const ifindex, headPadded = 1, 4 // NETCONFA_IFINDEX; struct netconfmsg is one byte
	link := sys.Attribute(behind(m, headPadded), ifindex)
	if len(link) != 4 {
		return "", ""
	}
	of := "all"
	if index := int32(binary.NativeEndian.Uint32(link)); index >= 0 {
		of = links.names[index]
	}
	if a.conf[of] {
		return Sysctls, "conf." + of
	}
	return "", ""
}

// behind returns the attributes of a message with a header of head bytes.
func behind(m []byte, head int) []byte { return m[min(len(m), head):] }
