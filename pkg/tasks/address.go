package tasks

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Address is an address on a link.
type Address struct {
	Meta
	Link   string
	Prefix netip.Prefix // the address and the length of its network
}

var (
	_ Task     = Address{}
	_ needer   = Address{}
	_ Remover  = Address{}
	_ Restorer = Address{}
	_ Claimer  = Address{}
)

// Owns implements [Task].
func (t Address) Owns() []graph.Key { return []graph.Key{AddressKey(t.Link, t.Prefix)} }

// needs implements [needer]: the link comes first.
func (t Address) needs() []graph.Key { return append([]graph.Key{LinkKey(t.Link)}, t.Requires...) }

// Plan implements [Task].
func (t Address) Plan(ctx context.Context, v host.View) (*Change, error) {
	have, err := v.Net.Addresses(ctx, t.Link)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		return notApplicable(t.Owns()[0], Create), nil
	case errors.Is(err, host.ErrNotExist) && willExist(v, LinkKey(t.Link)):
		have = nil
	case errors.Is(err, host.ErrNotExist):
		return nil, graph.Wait("link " + t.Link)
	case err != nil:
		return nil, MarkTransient(err)
	}
	change := &Change{
		Items:   []Item{{Key: t.Owns()[0], Op: Create}},
		Reason:  "absent",
		Pending: []host.Fact{{Key: string(t.Owns()[0]), Address: &rtnl.Address{Link: t.Link, Prefix: t.Prefix}}},
	}
	for _, a := range have {
		if a.Prefix == t.Prefix {
			return nil, nil
		}
		if a.Prefix.Addr() == t.Prefix.Addr() {
			change.Items[0].Op, change.Reason = Update, "length of the network differs"
			change.Items[0].Fields = []Field{{"network", "/" + strconv.Itoa(a.Prefix.Bits()),
				"/" + strconv.Itoa(t.Prefix.Bits())}}
		}
	}
	if overlaps(ctx, v, t.Link, t.Prefix) {
		change.Disruption = MayCutOff // packets of another link's subnet may take this link
	}
	return change, nil
}

// Apply implements [Task]. The kernel cannot change the prefix length of an address, so Apply
// removes the address and adds it again. Other addresses of the same subnet stay: see
// [rtnl.Writer.DelAddress].
func (t Address) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	have, err := h.Live.Net.Addresses(ctx, t.Link)
	if err != nil {
		return MarkTransient(err)
	}
	for _, a := range have {
		if a.Prefix.Addr() == t.Prefix.Addr() && a.Prefix != t.Prefix {
			if err := h.Net.DelAddress(ctx, t.Link, a.Prefix); err != nil {
				return MarkTransient(err)
			}
		}
	}
	return MarkTransient(h.Net.AddAddress(ctx, t.Link, t.Prefix))
}

// Live implements [StateReader]. It returns "set", or the prefix with which the link has the
// address.
func (t Address) Live(ctx context.Context, v host.View) (string, error) {
	have, err := v.Net.Addresses(ctx, t.Link)
	if err != nil {
		return "", MarkTransient(IgnoreMissing(err))
	}
	live := ""
	for _, a := range have {
		if a.Prefix == t.Prefix {
			return "set", nil
		}
		if a.Prefix.Addr() == t.Prefix.Addr() {
			live = a.Prefix.String()
		}
	}
	return live, nil
}

// Unmanaged implements [Claimer]: the address with another prefix length is not the agent's.
func (t Address) Unmanaged(live string) bool { return live != "" && live != "set" }

// Remove implements [Remover]. Other addresses of the same subnet stay, although the kernel would
// remove them too: see [rtnl.Writer.DelAddress].
func (t Address) Remove(ctx context.Context, h *host.Host) error {
	return MarkTransient(h.Net.DelAddress(ctx, t.Link, t.Prefix))
}

// Baseline implements [Restorer]: before, the link may have had the address with another prefix
// length.
func (t Address) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	live, err := t.Live(ctx, v)
	return Baseline{Live: live}, err
}

// Restored implements [Restorer]. Where the link is gone there is nothing to restore.
func (t Address) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	live, err := t.Live(ctx, v)
	return live == b.Live || live == "", err
}

// Restore implements [Restorer].
func (t Address) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	was, err := netip.ParsePrefix(b.Live)
	if err != nil {
		return fmt.Errorf("restore address %s: %w", t.Prefix, err)
	}
	return Address{Meta: t.Meta, Link: t.Link, Prefix: was}.Apply(ctx, h, nil)
}

// overlaps reports whether a prefix overlaps the subnet of a link other than but. It returns true
// where the addresses cannot be read.
func overlaps(ctx context.Context, v host.View, but string, p netip.Prefix) bool {
	have, err := v.Net.Addresses(ctx, "")
	for _, a := range have {
		if a.Link != but && !a.Prefix.Addr().IsLoopback() && a.Prefix.Overlaps(p.Masked()) {
			return true
		}
	}
	return err != nil
}
