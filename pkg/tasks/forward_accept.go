package tasks

import (
	"context"
	"errors"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
)

// KindForward is the kind of the rules that let a link's packets be forwarded: forward:cbr0.
const KindForward = "forward"

// ForwardAccept lets packets of a link be forwarded where a chain of another program drops by
// policy, as Docker's does. It adds two marked rules at the end of each such chain: see
// docs/adr/0002. Where no chain drops it does nothing.
type ForwardAccept struct {
	Meta
	Link     string
	Families []int // 4, 6: the families that the link's pods use
}

var (
	_ Task    = ForwardAccept{}
	_ Remover = ForwardAccept{}
)

// ForwardKey is the key of the rules that let a link's packets be forwarded.
func ForwardKey(link string) graph.Key { return graph.MakeKey(KindForward, link) }

// Owns implements [Task].
func (t ForwardAccept) Owns() []graph.Key { return []graph.Key{ForwardKey(t.Link)} }

// Plan implements [Task].
func (t ForwardAccept) Plan(ctx context.Context, v host.View) (*Change, error) {
	item := Item{Key: t.Owns()[0], Op: Create}
	chains, err := v.Firewall.ForwardChains(ctx)
	if errors.Is(err, host.ErrNoLiveState) {
		return notApplicable(item.Key, Create), nil
	}
	if err != nil {
		return nil, MarkTransient(err)
	}
	for _, c := range t.dropping(chains) {
		item.Fields = append(item.Fields, Field{c.String(), "policy drop", "accepts " + t.Link})
	}
	if len(item.Fields) == 0 {
		return nil, nil
	}
	return &Change{Items: []Item{item}, Reason: "dropped by policy"}, nil
}

// Apply implements [Task].
func (t ForwardAccept) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	chains, err := h.Live.Firewall.ForwardChains(ctx)
	if err != nil {
		return MarkTransient(err)
	}
	var failed []error
	for _, c := range t.dropping(chains) {
		failed = append(failed, h.Firewall.AcceptForward(ctx, c, t.Link))
	}
	return MarkTransient(errors.Join(failed...))
}

// dropping returns the chains that need the rules and do not have them.
func (t ForwardAccept) dropping(chains []firewall.ForwardChain) []firewall.ForwardChain {
	return slices.DeleteFunc(slices.Clone(chains), func(c firewall.ForwardChain) bool {
		return c.Policy != "drop" || c.Accepts(t.Link) || !slices.ContainsFunc(t.Families, c.Concerns)
	})
}

// Live implements [StateReader]. It ignores in which chains the rules are, because Docker adds and
// removes chains.
func (t ForwardAccept) Live(ctx context.Context, v host.View) (string, error) {
	chains, err := v.Firewall.ForwardChains(ctx)
	if err != nil {
		return "", MarkTransient(err)
	}
	for _, c := range chains {
		if c.Names(t.Link) {
			return "accepted", nil
		}
	}
	return "", nil
}

// Remove implements [Remover].
func (t ForwardAccept) Remove(ctx context.Context, h *host.Host) error {
	return MarkTransient(h.Firewall.DelForwardAccept(ctx, t.Link))
}
