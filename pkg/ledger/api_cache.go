package ledger

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const apiCacheFile = Dir + "/learnt.json"

// APICache is what the Kubernetes API said of a node and of its peers, and what the node is to
// undo there: kept for when the API is gone.
type APICache struct {
	Node     string         `json:"node"`
	PodCIDRs []netip.Prefix `json:"podCIDRs,omitempty"`
	Peers    []CachedPeer   `json:"peers,omitempty"` // that are believed
	// Judged says that Peers were believed by what documents say, and not because a Node claimed
	// it, as agents before did.
	Judged bool      `json:"judged,omitempty"`
	Since  time.Time `json:"since"` // when it was first said so
	// Cordoned says that we made the node unschedulable, or may have, and that it is to be made
	// schedulable again.
	Cordoned bool `json:"cordoned,omitempty"`
	// Machine is the one that owes it; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
}

// CachedPeer is another node.
type CachedPeer struct {
	Name      string         `json:"name"`
	PodCIDRs  []netip.Prefix `json:"podCIDRs"`
	Addresses []netip.Addr   `json:"addresses"`
	Made      time.Time      `json:"made,omitzero"` // the Node
	// Stands are those of PodCIDRs that go on only because an earlier agent believed them.
	Stands []netip.Prefix `json:"stands,omitempty"`
}

// LoadAPICache reads the cache. Without a file it is empty. A damaged one is said, and is
// nothing: the API says it again.
func LoadAPICache(r Reader) (APICache, error) {
	var out APICache
	err := readJSON(r, apiCacheFile, &out)
	if host.Unread(err) {
		return APICache{}, fmt.Errorf("read what the Kubernetes API said before: %w: it may be there, so nothing is "+
			"changed", err)
	}
	if err != nil {
		return APICache{},
			fmt.Errorf("read what the Kubernetes API said before, %s: %w: it is written anew", apiCacheFile, err)
	}
	if host.IsOtherMachine(r, out.Machine) {
		out.Cordoned = false
	}
	return out, nil
}

// SaveAPICache replaces it, durably.
func SaveAPICache(ctx context.Context, w Writer, l APICache) error {
	return writeJSON(ctx, w, apiCacheFile, "what the Kubernetes API said", l)
}
