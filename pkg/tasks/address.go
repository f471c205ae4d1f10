package tasks

import (
	"context"
	"errors"
	"net/netip"
	"strconv"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// KindAddr is the kind of an address: address:cbr0/10.0.0.1/24.
const KindAddr = "address"

// Address is an address on a link.
type Address struct {
	Meta
	Link   string
	Prefix netip.Prefix // the address and the length of its network
}

var _ Task = Address{}

func (Address) row() row { return rowAddress }

// AddressKey is the key of an address on a link.
func AddressKey(link string, prefix netip.Prefix) graph.Key {
	return graph.MakeKey(KindAddr, link+"/"+prefix.String())
}

// Owns implements [Task].
func (t Address) Owns() []graph.Key { return []graph.Key{AddressKey(t.Link, t.Prefix)} }

// Needs implements [Task]: the link comes first.
func (t Address) Needs() []graph.Key { return append([]graph.Key{LinkKey(t.Link)}, t.After...) }

// Plan implements [Task].
func (t Address) Plan(ctx context.Context, v host.View) (*Change, error) {
	have, err := v.Addresses(ctx, t.Link)
	switch {
	case errors.Is(err, host.ErrNotHere):
		return notHere(t.Owns()[0], Create), nil
	case errors.Is(err, host.ErrNotExist) && v.WillExist(string(LinkKey(t.Link))):
		have = nil
	case errors.Is(err, host.ErrNotExist):
		return nil, graph.Wait("link " + t.Link)
	case err != nil:
		return nil, passing(err)
	}
	change := &Change{
		Items:   []Item{{Key: t.Owns()[0], Op: Create}},
		Reason:  "absent",
		Pending: []host.Fact{{Key: string(t.Owns()[0]), Address: &host.Address{Link: t.Link, Prefix: t.Prefix}}},
	}
	for _, a := range have {
		if a.Prefix == t.Prefix {
			return nil, nil
		}
		if a.Prefix.Addr() == t.Prefix.Addr() {
			change.Items[0].Op, change.Reason = Update, "length of the network differs"
			change.Items[0].Fields = []Field{{"network", "/" + strconv.Itoa(a.Prefix.Bits()), "/" + strconv.Itoa(t.Prefix.Bits())}}
		}
	}
	if overlaps(ctx, v, t.Link, t.Prefix) {
		change.Disruption = MayCutOff // its subnet takes packets from another link's
	}
	return change, nil
}

// Apply implements [Task]. The kernel cannot change the length of an address's
// network: such an address is taken off and put on again. Others of its network stay ([host.Host.DelAddress]).
func (t Address) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	have, err := h.Addresses(ctx, t.Link)
	if err != nil {
		return passing(err)
	}
	for _, a := range have {
		if a.Prefix.Addr() == t.Prefix.Addr() && a.Prefix != t.Prefix {
			if err := h.DelAddress(ctx, t.Link, a.Prefix); err != nil {
				return passing(err)
			}
		}
	}
	return passing(h.AddAddress(ctx, t.Link, t.Prefix))
}
