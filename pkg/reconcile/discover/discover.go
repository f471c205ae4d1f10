// Package discover learns what the documents leave open: from the Nodes of the Kubernetes API,
// from the instance metadata and from the cloud's API. It checks the answers against the documents
// before the agent uses them.
package discover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile/desired"
)

// Sources are the APIs that a pass asks about what the documents leave open.
type Sources struct {
	Host      host.Options
	API       *access.API // nil: the API is not asked
	EC2       EC2         // nil: EC2 is not asked
	Live      bool        // the host is running, and is neither an image nor a sandbox
	CacheOnly bool        // no API is asked; the answers of earlier passes hold
	Answers   *Answers    // the answers that the daemon got before the pass; nil: the pass asks
}

// Discover learns what the documents leave to the Kubernetes API. The API is asked once for each
// pass, in the pass or by the daemon before it. If the API does not answer, its earlier answer
// holds, and the plan says so. learnt is what the caller must save. An error means that the
// earlier answer cannot be read now; without it peers would count as gone.
func (s Sources) Discover(
	ctx context.Context, d *desired.State, v host.View,
) (found model.Discovered, learnt ledger.APICache, notes []model.Note, err error) {
	learnt, err = ledger.LoadAPICache(v.Files)
	if host.Unread(err) {
		return found, learnt, notes, err
	}
	if err != nil {
		notes = append(notes, warning("%v", err))
	}
	want := d.NodesWanted()
	if !want.Own {
		return found, learnt, notes, nil
	}
	if learnt.Node != d.Node.Name {
		learnt = ledger.APICache{Node: d.Node.Name, Cordoned: learnt.Cordoned, Machine: learnt.Machine}
	}
	before := learnt
	if s.API != nil && (!s.CacheOnly || s.Answers != nil) && s.Live && !s.Host.Sandbox {
		if err := s.asked(ctx, d.Node.Name, v.Facts, want, &learnt); err != nil {
			if found.NoPodCIDRs = err.Error(); len(learnt.PodCIDRs) > 0 && !s.CacheOnly {
				notes = append(notes, warning("the Nodes of the Kubernetes API could not be read, and the "+
					"agent uses the answer of %s: %v",
					learnt.Since.Format(time.DateTime), err))
			}
		}
	}
	g, err := groundOf(ctx, d.Node, v, learnt.PodCIDRs)
	if err != nil {
		learnt.Peers, learnt.Judged = before.Peers, before.Judged
		return desired.Discovered(found, learnt), learnt,
			append(notes, warning("the Nodes of the Kubernetes API could not be read, and the agent uses the "+
				"last answer: %v", err)), nil
	}
	believed, refused := g.believe(learnt.Peers, before)
	learnt.Peers, learnt.Judged = believed, true
	if !alike(before, learnt) {
		learnt.Since = time.Now().UTC().Truncate(time.Second)
	}
	return desired.Discovered(found, learnt), learnt, append(notes, refused...), nil
}

// askTime is the time limit of the API, for the daemon and for a pass in the foreground.
const askTime = 10 * time.Second

// ask asks the API and updates learnt. Its error says what could not be learned; that part of
// learnt does not change.
func (s Sources) ask(
	ctx context.Context, name string, facts *host.Facts, want network.NodesWanted, learnt *ledger.APICache,
) error {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, fmt.Errorf("no answer within %s", askTime))
	defer cancel()
	name = facts.Kubelet.NodeName(name)
	own, err := s.API.Node(ctx, facts, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(learnt.PodCIDRs) == 0:
		return fmt.Errorf("there is no Node %s yet, which its kubelet creates: %w", name, err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no Node %s any more: restart kubelet, which creates it: %w", name, err)
	case err != nil:
		return err
	case len(own.PodCIDRs) == 0:
		return fmt.Errorf("the Node %s has no spec.podCIDRs: the controller manager sets them with "+
			"--allocate-node-cidrs and --cluster-cidr", name)
	}
	learnt.PodCIDRs = own.PodCIDRs
	if want.Peers {
		nodes, err := s.API.Nodes(ctx, facts)
		switch {
		case err != nil:
			return fmt.Errorf("the Kubernetes API does not give the other nodes' pod CIDRs: %w", err)
		case !slices.ContainsFunc(nodes, func(n kube.Node) bool { return n.Name == name }):
			return fmt.Errorf("the other nodes' pod CIDRs are not taken from a list of Nodes that lacks this one, %s",
				name)
		}
		learnt.Peers = peersAmong(nodes, name)
	}
	return nil
}

// peersAmong returns the Nodes other than this one that have pod CIDRs, by name.
func peersAmong(nodes []kube.Node, name string) []ledger.CachedPeer {
	var out []ledger.CachedPeer
	for _, n := range nodes {
		if n.Name != name && len(n.PodCIDRs) > 0 {
			out = append(out,
				ledger.CachedPeer{Name: n.Name, PodCIDRs: n.PodCIDRs, Addresses: n.Addresses, Made: n.Made})
		}
	}
	slices.SortStableFunc(out, func(a, b ledger.CachedPeer) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// alike reports whether two caches have the same content.
func alike(a, b ledger.APICache) bool {
	return a.Node == b.Node && a.Cordoned == b.Cordoned && a.Judged == b.Judged &&
		slices.Equal(a.PodCIDRs, b.PodCIDRs) && slices.EqualFunc(a.Peers, b.Peers, func(p, q ledger.CachedPeer) bool {
		return p.Name == q.Name && slices.Equal(p.PodCIDRs, q.PodCIDRs) && slices.Equal(p.Addresses, q.Addresses) &&
			p.Made.Equal(q.Made) && slices.Equal(p.Stands, q.Stands)
	})
}

// Save writes learnt to the ledger if it changed.
func Save(ctx context.Context, h *host.Host, learnt ledger.APICache) error {
	if before, err := ledger.LoadAPICache(h.Live.Files); err == nil && alike(before, learnt) {
		return nil
	}
	return ledger.SaveAPICache(ctx, h.Files, learnt)
}
