package network

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/host"
)

// The figures of kubenet's MTU rule, pkg/kubelet/dockershim/network/kubenet/kubenet_linux.go up to Kubernetes 1.23.
const (
	minimumMTU  = 576
	minimumMTU6 = 1280 // RFC 8200, section 5
	fallbackMTU = 1460
)

// LinkMTU is the rule of kubenet: the smallest MTU among the links that are up, not loopback and not point-to-point. Left out is
// what is ours (the named links and what is enslaved to them: else the rule would feed on its own result) and dummies, which
// carry nothing off the node. Without any such link it is 1460. Below 576 is an error that names the link.
func LinkMTU(links []host.LinkFact, ours ...string) (int, error) {
	mtu, which := 0, ""
	for _, l := range links {
		switch {
		case !l.Up, l.Loopback, l.PtP, l.Kind == "dummy", l.MTU == 0:
			continue
		case slices.Contains(ours, l.Name), slices.Contains(ours, l.Master):
			continue
		}
		if mtu == 0 || l.MTU < mtu {
			mtu, which = l.MTU, l.Name
		}
	}
	switch {
	case mtu == 0:
		return fallbackMTU, nil
	case mtu < minimumMTU:
		return 0, fmt.Errorf("choose the MTU of the pods: link %s has MTU %d, below the %d that every IPv4 host must take: raise it, or set `mtu` under the network",
			which, mtu, minimumMTU)
	}
	return mtu, nil
}

// noteMTU warns of an MTU of the documents that does not pass the node's own link with the encapsulation around it. Such packets are lost
// without a word where path MTU discovery is filtered. 0 is the network's own rule, and no matter.
func (b *Built) noteMTU(in Input, path string, mtu, overhead int) {
	for _, l := range in.Facts.Links {
		if l.Name == in.Facts.Uplink && mtu > 0 && l.MTU > 0 && mtu+overhead > l.MTU {
			around := fmt.Sprintf(" and %d of encapsulation", overhead)
			if overhead == 0 {
				around = ""
			}
			b.note(Warning, in.Origin(path), "pods' packets of %d%s do not pass %s, whose MTU is %d: large ones get lost; set %s to %d at most",
				mtu, around, l.Name, l.MTU, path, l.MTU-overhead)
		}
	}
}
