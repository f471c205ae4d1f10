package traffic

import (
	"net/netip"
	"slices"
	"time"
)

// Options says how to prove the network with pods and packets.
type Options struct {
	ConfDir string   // the directory of confs; the first by name is used
	BinDirs []string // the directories of plugins
	// Unmasqueraded are destinations that see pods' own addresses (nonMasqueradeCIDR); at most one
	// per family.
	Unmasqueraded []netip.Prefix
	// Masquerades says that the agent's own nft tables masquerade pods outside of Unmasqueraded.
	// Otherwise another program decides that, and the proof only shows it.
	Masquerades bool
	// Services are further services to reach from a pod: their address and port.
	Services []netip.AddrPort
	// Resolvers are the cluster's DNS servers, which a pod queries.
	Resolvers []netip.Addr
	// Peers are endpoints on other nodes: see [Serve].
	Peers []netip.AddrPort

	node string // the node's network namespace; "": the current one. Tests use another
}

// Locks (see [ipc.Lock]): only one proof and one endpoint run on a host at a time.
const (
	ProofLock    = "/run/netwright/proof.lock"
	EndpointLock = "/run/netwright/endpoint.lock"
)

// Limits of a proof.
const (
	proofLimit = time.Minute
	clearLimit = 30 * time.Second
)

// unmasquerades reports whether Unmasqueraded has a prefix of an address's family: otherwise no
// packet is masqueraded.
func (t Options) unmasquerades(as netip.Addr) bool {
	return slices.ContainsFunc(t.Unmasqueraded, func(p netip.Prefix) bool { return p.Addr().Is4() == as.Is4() && p.Bits() > 0 })
}
