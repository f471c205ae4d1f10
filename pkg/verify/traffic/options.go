package traffic

import (
	"net/netip"
	"slices"
	"time"
)

// Options says how the network is proved with pods and packets.
type Options struct {
	ConfDir string   // has the confs, of which the first by name is taken
	BinDirs []string // have the plugins
	// Unmasqueraded is where pods are seen by their own addresses (nonMasqueradeCIDR); at most one
	// per family.
	Unmasqueraded []netip.Prefix
	// Masquerades says that our own tables hide pods from what lies outside of Unmasqueraded. Else
	// whoever does it decides, and is only shown it.
	Masquerades bool
	// Services are reached from a pod besides what is made here: an address and a port of a
	// service.
	Services []netip.AddrPort
	// Resolvers are the cluster's DNS, asked from a pod.
	Resolvers []netip.Addr
	// Peers are endpoints of other nodes: see [Serve].
	Peers []netip.AddrPort

	node string // the node's network namespace; "": ours. A test has another
}

// Locks (see [ipc.Lock]) of what there is one of on a host at a time.
const (
	ProofLock    = "/run/netwright/proof.lock"
	EndpointLock = "/run/netwright/endpoint.lock"
)

// Limits of a proof.
const (
	proofLimit = time.Minute
	clearLimit = 30 * time.Second
)

// unmasquerades reports whether something of an address's family is kept: else none is masqueraded.
func (t Options) unmasquerades(as netip.Addr) bool {
	return slices.ContainsFunc(t.Unmasqueraded, func(p netip.Prefix) bool { return p.Addr().Is4() == as.Is4() && p.Bits() > 0 })
}
