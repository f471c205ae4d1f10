package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Link is a virtual network interface of the agent.
type Link struct {
	Meta
	Name string
	Kind string // bridge, dummy
	MTU  int    // 0: unchanged
	Up   bool   // false: unchanged
	MAC  string // "": unchanged
}

var (
	_ Task      = Link{}
	_ Remover   = Link{}
	_ Restorer  = Link{}
	_ UseReader = Link{}
)

// Owns implements [Task].
func (t Link) Owns() []graph.Key { return []graph.Key{LinkKey(t.Name)} }

// Plan implements [Task].
func (t Link) Plan(ctx context.Context, v host.View) (*Change, error) {
	have, err := v.Net.Link(ctx, t.Name)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		return notApplicable(t.Owns()[0], Create), nil
	case errors.Is(err, host.ErrNotExist):
		have = rtnl.Link{}
	case err != nil:
		return nil, MarkTransient(err)
	case have.Kind != t.Kind:
		return nil, fmt.Errorf("plan link %s: a link of that name is there, but it is %s and not a %s: remove it (ip "+
			"link del %s) or give ours another name",
			t.Name, kindOf(have), t.Kind, t.Name)
	}
	absent := have.Name == ""

	want, fields := have, []Field(nil)
	if t.MTU > 0 && have.MTU != t.MTU {
		fields = append(fields, Field{"mtu", number(have.MTU), number(t.MTU)})
		want.MTU = t.MTU
	}
	if t.MAC != "" && !strings.EqualFold(have.MAC, t.MAC) {
		fields = append(fields, Field{"mac", have.MAC, t.MAC})
		want.MAC = t.MAC
	}
	if t.Up && !have.Up {
		fields = append(fields, Field{"state", state(have, absent), "up"})
		want.Up = true
	}
	op, reason := Update, "settings differ"
	if absent {
		op, reason = Create, "absent"
		want.Name, want.Kind = t.Name, t.Kind
		fields = append([]Field{{"kind", "", t.Kind}}, fields...)
	}
	if len(fields) == 0 {
		return nil, nil
	}
	return &Change{
		Items:   []Item{{Key: t.Owns()[0], Op: op, Fields: fields}},
		Reason:  reason,
		Pending: []host.Fact{{Key: string(t.Owns()[0]), Link: &want}},
	}, nil
}

// Apply implements [Task].
func (t Link) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	want := rtnl.Link{Name: t.Name, Kind: t.Kind, MTU: t.MTU, MAC: strings.ToLower(t.MAC), Up: t.Up}
	_, err := h.Live.Net.Link(ctx, t.Name)
	if errors.Is(err, host.ErrNotExist) {
		err = h.Net.AddLink(ctx, want)
	}
	if err != nil {
		return MarkTransient(err)
	}
	return MarkTransient(h.Net.SetLink(ctx, want))
}

func kindOf(l rtnl.Link) string {
	switch {
	case l.Kind != "":
		return "a " + l.Kind
	case l.Loopback:
		return "the loopback"
	}
	return "a device of the machine"
}

func state(l rtnl.Link, absent bool) string {
	switch {
	case absent:
		return ""
	case l.Up:
		return "up"
	}
	return "down"
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// MarkTransient marks a transient error of netlink, which another attempt may not meet.
func MarkTransient(err error) error {
	if rtnl.IsTransient(err) {
		return graph.Transient(err)
	}
	return err
}

// notApplicable returns the change of a task that needs a running kernel, for an image without one.
func notApplicable(key graph.Key, op Op) *Change {
	return &Change{Items: []Item{{Key: key, Op: op}}, Reason: "no running kernel",
		NotApplicable: "no running kernel under this root"}
}

// UsedBy implements [UseReader]. It returns an address on the link that the agent did not add.
// Addresses that the kernel adds itself do not count.
func (t Link) UsedBy(ctx context.Context, v host.View, ours func(graph.Key) bool) (string, error) {
	have, err := v.Net.Addresses(ctx, t.Name)
	if errors.Is(err, host.ErrNotExist) || errors.Is(err, host.ErrNoLiveState) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("list the addresses of link %s: %w", t.Name, err)
	}
	for _, a := range have {
		if a.Dynamic || a.Prefix.Addr().Is6() && a.Prefix.Addr().IsLinkLocalUnicast() {
			continue
		}
		if !ours(AddressKey(t.Name, a.Prefix)) {
			return fmt.Sprintf("another program or person added the address %s to it; remove that address if "+
				"it is not needed", a.Prefix), nil
		}
	}
	return "", nil
}

// Live implements [StateReader]. It returns only the settings that the task sets, because the
// kernel may change the others at any time.
func (t Link) Live(ctx context.Context, v host.View) (string, error) {
	have, err := v.Net.Link(ctx, t.Name)
	if err != nil {
		return "", MarkTransient(IgnoreMissing(err))
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

// Remove implements [Remover]. The host refuses to remove a physical device and the link of the
// default route.
func (t Link) Remove(ctx context.Context, h *host.Host) error {
	return MarkTransient(h.Net.DelLink(ctx, t.Name))
}

// Baseline implements [Restorer].
func (t Link) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	have, err := v.Net.Link(ctx, t.Name)
	if IgnoreMissing(err) != nil {
		return Baseline{}, MarkTransient(err)
	}
	return baseline(ctx, v, t, have)
}

// Restored implements [Restorer].
func (t Link) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	return alive(ctx, v, t, b)
}

// Restore implements [Restorer]. A link that was down before is only set down when it has no ports
// any more: until then Restore waits.
func (t Link) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	var was rtnl.Link
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore link %s: %w", t.Name, err)
	}
	if err := h.Net.SetLink(ctx, rtnl.Link{Name: t.Name, MTU: was.MTU, MAC: was.MAC}); err != nil || was.Up || !t.Up {
		return MarkTransient(err)
	}
	links, err := h.Live.Net.Links(ctx)
	if err != nil {
		return MarkTransient(err)
	}
	for _, l := range links {
		if l.Master == t.Name {
			return graph.Wait(fmt.Sprintf("the removal of port %s of %s, which was down before netwright came", l.Name,
				t.Name))
		}
	}
	return MarkTransient(h.Net.LinkDown(ctx, t.Name))
}
