package network

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
)

// The numbers of kubenet's MTU rule, from pkg/kubelet/dockershim/network/kubenet/kubenet_linux.go
// up to Kubernetes 1.23.
const (
	minimumMTU  = 576
	minimumMTU6 = 1280 // RFC 8200, section 5
	fallbackMTU = 1460
)

// LinkMTU returns the MTU by the rule of kubenet: the smallest MTU of the links that are up, except
// loopback and point-to-point links.
//
// It also leaves out the links in ours and their ports, because these have the MTU that an earlier
// call chose. It leaves out dummy links, which carry no packets off the node. While no link is up,
// it uses the links that will be: devices, and links with an address. So a link that is down for a
// minute does not change the MTU of the pods. Without any such link the MTU is 1460. An MTU below
// 576 is an error that names the link.
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

// smallestMTU returns the smallest MTU of the links that count and are not ours, and the name of
// the first link that has it; 0 if there is no such link.
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

// encapsulation is how many bytes a network adds to packets of pods between nodes.
type encapsulation struct {
	by   string // "VXLAN"; "": nothing is added
	sure int    // what it adds to every packet to another node
	// most is what it may add if that is more: over IPv6, to nodes of other subnets, or by a
	// reserve of its own.
	most int
}

// fitMTU compares an MTU of the documents with the MTU of the node's links.
//
// It returns an error if no link takes packets of that size with the encapsulation: the outer
// packet would be split or dropped, and nobody learns of the loss. It adds a warning if such a
// packet may not fit. Without encapsulation it only warns, because then the node itself tells pods
// the link's MTU by ICMP. An MTU of 0 means the network's own rule and is not checked.
//
// The link is that of the default route, which networks use by default. A network may be configured
// to use another one without any document that says so. So the error appears only if the device
// with the largest MTU does not take the packet either.
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

// adds returns what an encapsulation adds to the MTU of the documents, for a message.
func adds(bytes int) string {
	if bytes == 0 {
		return " is inside of it"
	}
	return fmt.Sprintf(" adds %d", bytes)
}

// uplinks returns the link of the default route, and the link with the largest MTU that may carry
// packets between nodes: a device that is up, or the link of the default route.
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

// overIPv6 reports whether nodes reach each other by IPv6 addresses.
func overIPv6(in Input) bool { return in.Facts.Address.IsValid() && !in.Facts.Address.Unmap().Is4() }

// ConfMTU returns the MTU in the documents that the network's own program shall write into the
// conf; 0: the program chooses it, the conf has none, or the agent writes it.
func ConfMTU(n *config.Node) int {
	switch net := n.Networking; {
	case net.Calico != nil:
		return net.Calico.MTU
	case net.Canal != nil:
		return net.Canal.MTU
	}
	return 0
}
