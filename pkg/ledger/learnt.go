package ledger

import (
	"context"
	"fmt"
	"net/netip"
	"time"
)

const learntFile = Dir + "/learnt.json"

// Learnt is what the Kubernetes API said of a node and of its peers, and what the node owes it:
// kept for when the API is gone.
type Learnt struct {
	Node     string         `json:"node"`
	PodCIDRs []netip.Prefix `json:"podCIDRs,omitempty"`
	Peers    []LearntPeer   `json:"peers,omitempty"` // that are believed
	// Judged says that Peers were believed by what documents say, and not because a Node claimed
	// it, as agents before did.
	Judged bool      `json:"judged,omitempty"`
	Since  time.Time `json:"since"` // when it was first said so
	// Cordoned says that we made the node unschedulable, or may have, and that it is to be made
	// schedulable again.
	Cordoned bool `json:"cordoned,omitempty"`
}

// LearntPeer is another node.
type LearntPeer struct {
	Name      string         `json:"name"`
	PodCIDRs  []netip.Prefix `json:"podCIDRs"`
	Addresses []netip.Addr   `json:"addresses"`
	Made      time.Time      `json:"made,omitzero"` // the Node
	// Stands are those of PodCIDRs that go on only because an earlier agent believed them.
	Stands []netip.Prefix `json:"stands,omitempty"`
}

// LoadLearnt reads what was learnt. Without a file that is nothing. A damaged one is said, and is
// nothing: the API says it again.
func LoadLearnt(r Reader) (Learnt, error) {
	var out Learnt
	if err := readJSON(r, learntFile, &out); err != nil {
		return Learnt{},
			fmt.Errorf("read what the Kubernetes API said before, %s: %w: it is written anew", learntFile, err)
	}
	return out, nil
}

// SaveLearnt replaces it, durably.
func SaveLearnt(ctx context.Context, w Writer, l Learnt) error {
	return writeJSON(ctx, w, learntFile, "what the Kubernetes API said", l)
}
