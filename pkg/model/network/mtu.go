package network

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/host"
)

// The figures of kubenet's MTU rule, pkg/kubelet/dockershim/network/kubenet/kubenet_linux.go up to
// Kubernetes 1.23.
const (
	minimumMTU  = 576
	minimumMTU6 = 1280 // RFC 8200, section 5
	fallbackMTU = 1460
)

// LinkMTU is the rule of kubenet: the smallest MTU among the links that are up, not loopback and
// not point-to-point. Left out is what is ours (the named links and what is enslaved to them: else
// the rule would feed on its own result) and dummies, which carry nothing off the node. While none
// is up it goes by those that will be, devices and what has an address: a link that is down for a
// minute must not change what pods send. Without any it is 1460. Below 576 is an error that names
// the link.
func LinkMTU(links []host.LinkFact, ours ...string) (int, error) {
	up := func(l host.LinkFact) bool { return l.Up }
	later := func(l host.LinkFact) bool { return l.Physical || len(l.Addresses) > 0 }
	for _, counts := range []func(host.LinkFact) bool{up, later} {
		mtu, which := smallestMTU(links, ours, counts)
		switch {
		case mtu == 0:
		case mtu < minimumMTU:
			return 0, fmt.Errorf("choose the MTU of the pods: link %s has MTU %d, below the %d that every IPv4 host "+
				"must take: raise it, or set `mtu` under the network",
				which, mtu, minimumMTU)
		default:
			return mtu, nil
		}
	}
	return fallbackMTU, nil
}

// smallestMTU is that of the links that count and are not ours, and the name of the first that has
// it; 0 where there are none.
func smallestMTU(links []host.LinkFact, ours []string, counts func(host.LinkFact) bool) (mtu int, which string) {
	for _, l := range links {
		switch {
		case !counts(l), l.Loopback, l.PtP, l.Kind == "dummy", l.MTU == 0:
		case slices.Contains(ours, l.Name), slices.Contains(ours, l.Master):
		case mtu == 0 || l.MTU < mtu:
			mtu, which = l.MTU, l.Name
		}
	}
	return mtu, which
}

// encapsulation is what a network puts around pods' packets between nodes, in bytes.
type encapsulation struct {
	by   string // "VXLAN"; "": pods' packets go as they are
	sure int    // what it adds to every packet for another node
	most int    // what it may add, where that is more: over IPv6, to nodes of other subnets, by its own reserve
}

// fitMTU holds an MTU of the documents against the links. Pods' packets that no link of the node
// takes with the encapsulation around them are refused: the outer packet is split or dropped, and
// what is dropped is lost without a word. What may not fit is a warning; without encapsulation it
// is never more, for then the node itself tells pods the link's MTU (ICMP). An MTU of 0 is the
// network's own rule, and no matter.
//
// The link is the default route's, which networks take when they are not told otherwise. They may
// be told otherwise by what no document here says: so only what the widest device does not take
// either is refused.
func (b *Built) fitMTU(in Input, path string, mtu int, e encapsulation) error {
	uplink, widest := uplinks(in.Facts)
	switch most := max(e.sure, e.most); {
	case mtu == 0 || len(in.Facts.Links) == 0:
	case uplink.Name == "":
		b.note(Info, in.Origin(path), "%s is %d, which is not held against a link: this node has no default route yet",
			path, mtu)
	case uplink.MTU == 0:
	case e.by != "" && mtu+e.sure > widest.MTU:
		return fmt.Errorf("use %s with an MTU of %d (%s): %s%s, and %s has MTU %d: large packets to other nodes would "+
			"be split or lost; set %s to %d at most, or raise the link's",
			in.Node.Networking.Name(), mtu, in.Origin(path), e.by, adds(e.sure), widest.Name, widest.MTU, path,
			widest.MTU-e.sure)
	case most == 0 && mtu > uplink.MTU:
		b.note(Warning, in.Origin(path),
			"pods' packets of %d do not pass %s, whose MTU is %d: large ones depend on ICMP that no firewall may "+
				"drop; set %s to %d at most",
			mtu, uplink.Name, uplink.MTU, path, uplink.MTU)
	case mtu+most > uplink.MTU:
		b.note(Warning, in.Origin(path),
			"pods' packets of %d and up to %d of encapsulation do not pass %s, whose MTU is %d: large ones get lost; "+
				"set %s to %d at most",
			mtu, most, uplink.Name, uplink.MTU, path, uplink.MTU-most)
	}
	return nil
}

// adds says how much an encapsulation adds to what the documents give.
func adds(bytes int) string {
	if bytes == 0 {
		return " is inside of it"
	}
	return fmt.Sprintf(" adds %d", bytes)
}

// uplinks are the default route's link and the link with the largest MTU that may carry packets
// between nodes: a device that is up, or the default route's.
func uplinks(f *host.Facts) (uplink, widest host.LinkFact) {
	for _, l := range f.Links {
		if l.Name == f.Uplink {
			uplink = l
		}
	}
	widest = uplink
	for _, l := range f.Links {
		if l.Physical && l.Up && l.MTU > widest.MTU {
			widest = l
		}
	}
	return uplink, widest
}

// overIPv6 tells that nodes reach each other by IPv6 addresses.
func overIPv6(in Input) bool { return in.Facts.Address.IsValid() && !in.Facts.Address.Unmap().Is4() }
