package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// How the kinds of the network look after their keys.

var (
	_ Remover  = Link{}
	_ Restorer = Link{}
	_ Remover  = Address{}
	_ Restorer = Address{}
	_ Remover  = Route{}
	_ Restorer = Route{}
	_ Remover  = Rule{}
	_ Remover  = Table{}
	_ Restorer = Table{}
	_ Remover  = ForwardAccept{}

	_ Holder  = Link{}
	_ Claimer = Address{}
	_ Claimer = Route{}
	_ Claimer = Rule{}
)

// Live implements [Keeper]: of a link, what the task sets. The kernel may choose the rest anew at any time.
func (t Link) Live(ctx context.Context, v host.View) (string, error) {
	have, err := v.Link(ctx, t.Name)
	if errors.Is(err, host.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", passing(err)
	}
	live := kindOf(have)
	if t.MTU > 0 {
		live += " mtu " + number(have.MTU)
	}
	if t.MAC != "" {
		live += " mac " + have.MAC
	}
	if t.Up {
		live += " " + state(have, false)
	}
	return live, nil
}

// Remove implements [Remover]. The host refuses a device of the machine and the default route's link.
func (t Link) Remove(ctx context.Context, h *host.Host) error { return passing(h.DelLink(ctx, t.Name)) }

// Baseline implements [Restorer].
func (t Link) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	have, err := v.Link(ctx, t.Name)
	if err != nil && !errors.Is(err, host.ErrNotExist) {
		return Baseline{}, passing(err)
	}
	return baseline(ctx, v, t, have)
}

// Restored implements [Restorer].
func (t Link) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	return alive(ctx, v, t, b)
}

// Restore implements [Restorer]. A link that was down waits for its ports to go before it goes down.
func (t Link) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	var was host.Link
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore link %s: %w", t.Name, err)
	}
	if err := h.SetLink(ctx, host.Link{Name: t.Name, MTU: was.MTU, MAC: was.MAC}); err != nil || was.Up || !t.Up {
		return passing(err)
	}
	links, err := h.Links(ctx)
	if err != nil {
		return passing(err)
	}
	for _, l := range links {
		if l.Master == t.Name {
			return graph.Wait(fmt.Sprintf("the port %s of %s to go, which was down before netwright came", l.Name, t.Name))
		}
	}
	return passing(h.LinkDown(ctx, t.Name))
}

// baseline is what a keeper sees, with what it needs to make it so again.
func baseline(ctx context.Context, v host.View, k Keeper, data any) (b Baseline, err error) {
	if b.Live, err = k.Live(ctx, v); err != nil || b.Live == "" {
		return b, err
	}
	b.Data, err = json.Marshal(data)
	return b, err
}

// Live implements [Keeper]: the prefix under which the link has the address.
func (t Address) Live(ctx context.Context, v host.View) (string, error) {
	have, err := v.Addresses(ctx, t.Link)
	if errors.Is(err, host.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", passing(err)
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

// Foreign implements [Claimer]: with another length of its network it is another address.
func (t Address) Foreign(live string) bool { return live != "" && live != "set" }

// Remove implements [Remover]. Others of its network, which the kernel takes along, stay ([host.Host.DelAddress]).
func (t Address) Remove(ctx context.Context, h *host.Host) error {
	return passing(h.DelAddress(ctx, t.Link, t.Prefix))
}

// Baseline implements [Restorer]: the address may have been there with another length of its network.
func (t Address) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	live, err := t.Live(ctx, v)
	return Baseline{Live: live}, err
}

// Restored implements [Restorer]. Of a link that is gone there is nothing to bring back.
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

// at finds the route in the task's place.
func (t Route) at(ctx context.Context, v host.View) (host.Route, bool, error) {
	want := t.Canonical()
	routes, err := v.Routes(ctx, want.Table)
	if err != nil {
		return host.Route{}, false, passing(err)
	}
	for _, r := range routes {
		if r.SamePlace(want) {
			return r, true, nil
		}
	}
	return host.Route{}, false, nil
}

// Live implements [Keeper]: where the route leads, and whose it is.
func (t Route) Live(ctx context.Context, v host.View) (string, error) {
	r, there, err := t.at(ctx, v)
	if err != nil || !there {
		return "", err
	}
	return fmt.Sprintf("%s src %s mtu %d proto %d", way(r), address(r.Source), r.MTU, r.Protocol), nil
}

// Foreign implements [Claimer].
func (t Route) Foreign(live string) bool {
	return live != "" && !strings.HasSuffix(live, fmt.Sprintf(" proto %d", host.RouteProtocol))
}

// Remove implements [Remover]. The host leaves routes of another protocol alone.
func (t Route) Remove(ctx context.Context, h *host.Host) error {
	return passing(h.DelRoute(ctx, t.Route))
}

// Baseline implements [Restorer].
func (t Route) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	r, _, err := t.at(ctx, v)
	if err != nil {
		return Baseline{}, err
	}
	return baseline(ctx, v, t, r)
}

// Restored implements [Restorer].
func (t Route) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	return alive(ctx, v, t, b)
}

// Restore implements [Restorer].
func (t Route) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	var was host.Route
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore route %s: %w", t.Dst, err)
	}
	return passing(h.ReplaceRoute(ctx, was))
}

// Live implements [Keeper]: whose the rule is.
func (t Rule) Live(ctx context.Context, v host.View) (string, error) {
	rules, err := v.Rules(ctx)
	if err != nil {
		return "", passing(err)
	}
	for _, r := range rules {
		if r.Same(t.Rule) {
			return fmt.Sprintf("proto %d", r.Protocol), nil
		}
	}
	return "", nil
}

// Foreign implements [Claimer].
func (t Rule) Foreign(live string) bool {
	return live != "" && live != fmt.Sprintf("proto %d", host.RouteProtocol)
}

// Remove implements [Remover]. The host refuses the rule for local addresses and leaves those of others alone.
func (t Rule) Remove(ctx context.Context, h *host.Host) error {
	return passing(h.DelRule(ctx, t.Rule))
}

// Live implements [Keeper].
func (t Table) Live(ctx context.Context, v host.View) (string, error) {
	have, err := v.Table(ctx, t.Family, t.Name)
	if errors.Is(err, host.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", passing(err)
	}
	return fmt.Sprintf("table %x", sha256.Sum256([]byte(have.String()))), nil
}

// Remove implements [Remover].
func (t Table) Remove(ctx context.Context, h *host.Host) error {
	return passing(h.DelTable(ctx, t.Family, t.Name))
}

// Baseline implements [Restorer].
func (t Table) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	have, err := v.Table(ctx, t.Family, t.Name)
	if err != nil && !errors.Is(err, host.ErrNotExist) {
		return Baseline{}, passing(err)
	}
	b, err := baseline(ctx, v, t, have)
	if have.Check() != nil {
		b.Lost = "what was in its place has rules that netwright cannot write"
	}
	return b, err
}

// Restored implements [Restorer].
func (t Table) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	return alive(ctx, v, t, b)
}

// Restore implements [Restorer]. Rules that we could not have written are an error.
func (t Table) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	var was host.Table
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore nft table %s: %w", t.Name, err)
	}
	return passing(h.ReplaceTable(ctx, was))
}

// Live implements [Keeper]. Which chains there are is Docker's business, and changes.
func (t ForwardAccept) Live(ctx context.Context, v host.View) (string, error) {
	chains, err := v.ForwardChains(ctx)
	if err != nil {
		return "", passing(err)
	}
	for _, c := range chains {
		if strings.Contains("\n"+strings.Join(c.In, "\n")+"\n"+strings.Join(c.Out, "\n")+"\n", "\n"+t.Link+"\n") {
			return "accepted", nil
		}
	}
	return "", nil
}

// Remove implements [Remover].
func (t ForwardAccept) Remove(ctx context.Context, h *host.Host) error {
	return passing(h.DelForwardAccept(ctx, t.Link))
}
