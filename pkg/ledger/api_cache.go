package ledger

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const apiCacheFile = Dir + "/learnt.json"

// APICache is the node's copy of what the Kubernetes API said about the node and its peers, for
// when the API is not reachable. It also records what the node has to undo in the API.
type APICache struct {
	Node     string         `json:"node"`
	PodCIDRs []netip.Prefix `json:"podCIDRs,omitempty"`
	Peers    []CachedPeer   `json:"peers,omitempty"` // peers that passed the check of their claims
	// Judged means that Peers were checked against the documents. Agents of earlier releases
	// accepted what a Node claimed.
	Judged bool      `json:"judged,omitempty"`
	Since  time.Time `json:"since"` // when the API first said so
	// Cordoned means that the agent made the node unschedulable, or may have, and has to make it
	// schedulable again.
	Cordoned bool `json:"cordoned,omitempty"`
	// Machine is the machine-id of the machine that wrote it; "" from an earlier release.
	Machine string `json:"machine,omitempty"`
}

// CachedPeer is another node.
type CachedPeer struct {
	Name      string         `json:"name"`
	PodCIDRs  []netip.Prefix `json:"podCIDRs"`
	Addresses []netip.Addr   `json:"addresses"`
	Made      time.Time      `json:"made,omitzero"` // creation time of the Node
	// Stands are those of PodCIDRs that stay only because an earlier agent accepted them.
	Stands []netip.Prefix `json:"stands,omitempty"`
}

// LoadAPICache reads the cache. It returns an empty cache if there is no file. It returns an empty
// cache and an error if the file is damaged. The API says the same again.
func LoadAPICache(r Reader) (APICache, error) {
	var out APICache
	err := readJSON(r, apiCacheFile, &out)
	if host.Unread(err) {
		return APICache{}, fmt.Errorf("read the last answers of the Kubernetes API: %w: they may be there, "+
			"so nothing is changed", err)
	}
	if err != nil {
		return APICache{},
			fmt.Errorf("read the last answers of the Kubernetes API, %s: %w: the agent writes them again", apiCacheFile, err)
	}
	if host.IsOtherMachine(r, out.Machine) {
		out.Cordoned = false
	}
	return out, nil
}

// SaveAPICache replaces the cache durably.
func SaveAPICache(ctx context.Context, w Writer, l APICache) error {
	return writeJSON(ctx, w, apiCacheFile, "what the Kubernetes API said", l)
}
