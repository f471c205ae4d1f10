package undo

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	hostkernel "github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/netstate"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/tasks"
)

// surroundings are what a program of the user's may change that no key names. Addresses, routes,
// rules and links are in [Log.Net]. What else it does is its own: docs/security.md.
//
// Nobody knows what of it the program did, and what others did meanwhile. So an undo brings back
// what is gone and takes away what could be the program's; what Kubernetes' own programs, pods,
// routing daemons and leases make is recognised by its kind, its protocol or its name, and stays.
type surroundings struct {
	Rules   firewall.RuleSet             `json:"rules"`
	Legacy  []firewall.LegacyTable       `json:"legacy,omitempty"`
	Sysctls map[string]string            `json:"sysctls,omitempty"` // besides those of the journal
	Units   map[string]systemd.UnitBrief `json:"units,omitempty"`
	Links   *tasks.UnitLinks             `json:"links,omitempty"`   // nil: of an earlier release
	Without []string                     `json:"without,omitempty"` // what is not kept, and why
}

// maxPacked bounds the rule sets that a journal has, in bytes.
const maxPacked = 8 << 20

// captureSurroundings writes down what a program may change. sysctls are those besides the log's.
func captureSurroundings(ctx context.Context, h *host.Host, sysctls map[string]string) (out Packed, err error) {
	s := surroundings{Sysctls: sysctls}
	if s.Rules, err = h.Live.Firewall.RuleSet(ctx); err == nil {
		s.Legacy, err = h.Firewall.LegacyTables(ctx)
	}
	switch {
	case rtnl.Passing(err): // it never stood still
		s = s.without(err.Error())
	case err != nil:
		return nil, fmt.Errorf("write down the rule sets of nft and iptables: %w", err)
	}
	if s.Units, err = h.Units.AllUnits(ctx); err != nil && !errors.Is(err, host.ErrNoLiveState) {
		return nil, fmt.Errorf("write down which units run: %w", err)
	}
	links, err := tasks.LinksOfUnits(h.Live.View())
	if err != nil {
		return nil, err
	}
	s.Links = &links
	maps.DeleteFunc(s.Units, func(_ string, u systemd.UnitBrief) bool { return !u.Active && u.File != "enabled" })
	if out, err = s.pack(); err != nil || len(out) <= maxPacked {
		return out, err
	}
	return s.without("too large to be kept").pack()
}

// without are surroundings without the rule sets.
func (s surroundings) without(why string) surroundings {
	s.Rules, s.Legacy, s.Without = firewall.RuleSet{}, nil, []string{"the rule sets of nft and iptables (" + why + ")"}
	return s
}

func (s surroundings) pack() (Packed, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		err = errors.Join(json.NewEncoder(w).Encode(s), w.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("encode what programs may change: %w", err)
	}
	return out.Bytes(), nil
}

// PackSysctls are the sysctls of the network.
func PackSysctls(ctx context.Context, h *host.Host) (Packed, error) {
	return surroundings{Sysctls: h.Kernel.NetSysctls(ctx)}.pack()
}

// unpack returns nil of none. A journal that was damaged was never read; what cannot be unpacked
// all the same is left, and said to be.
func (p Packed) unpack() *surroundings {
	if p == nil {
		return nil
	}
	s := &surroundings{}
	r, err := gzip.NewReader(bytes.NewReader(p))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(r, hostfs.MaxReadFile)).Decode(s)
	}
	if err != nil {
		return &surroundings{Without: []string{fmt.Sprintf("what programs changed (%v)", err)}}
	}
	return s
}

// RestoreSysctls writes those that differ.
func (p Packed) RestoreSysctls(ctx context.Context, h *host.Host) {
	if around := p.unpack(); around != nil {
		around.restoreSysctls(ctx, h)
	}
}

// restoreNetwork takes away what came to the network, and brings the rule sets back. What links
// lost comes back with the rest of the journal.
func (s *surroundings) restoreNetwork(ctx context.Context, h *host.Host, was *netstate.State) (left []string) {
	failed := func(err error) {
		if err != nil {
			left = append(left, err.Error())
		}
	}
	if len(s.Without) == 0 {
		rules, err := h.Firewall.RestoreRuleSet(ctx, s.Rules)
		failed(err)
		legacy, err := h.Firewall.RestoreLegacyTables(ctx, s.Legacy)
		failed(err)
		left = append(left, slices.Concat(rules, legacy)...)
	}
	if was != nil {
		failed(again(ctx, func() error { return h.NetState.RemoveAdded(ctx, *was) }))
	}
	return append(left, s.Without...)
}

// restoreSysctls writes what differs; what the kernel does not take back is left.
func (s *surroundings) restoreSysctls(ctx context.Context, h *host.Host) (left []string) {
	for range 2 { // some write others
		left = nil
		for _, key := range slices.Sorted(maps.Keys(s.Sysctls)) {
			now, err := h.Live.Kernel.Sysctl(key)
			if err != nil || hostkernel.SameSysctl(key, now, s.Sysctls[key]) {
				continue
			}
			if h.Kernel.SetSysctl(ctx, key, s.Sysctls[key]) != nil {
				left = append(left, key)
			}
		}
	}
	return left
}

// lost is what of the network nobody can bring back.
func (s *surroundings) lost(ctx context.Context, h *host.Host, was *netstate.State) []string {
	if was == nil {
		return nil
	}
	left, err := h.NetState.Lost(ctx, *was)
	if err != nil {
		return []string{err.Error()}
	}
	return left
}

// restoreUnits unmasks, enables and starts again what was enabled or ran. What came is left: it may
// be anybody's. own are the units of the change, which are brought back already. At a boot, which
// starts what is enabled, only what was not is started.
func (s *surroundings) restoreUnits(ctx context.Context, h *host.Host, own []Unit, booted bool) (left []string) {
	if s == nil || len(s.Units) == 0 {
		return nil
	}
	now, err := h.Units.AllUnits(ctx)
	if err != nil {
		return []string{fmt.Sprintf("units (%v)", err)}
	}
	for _, u := range own {
		delete(s.Units, u.Name)
	}
	if s.Links != nil {
		if err := s.Links.RestoreMissing(ctx, h); err != nil {
			left = append(left, fmt.Sprintf("links of units (%v)", err))
		}
	}
	for _, b := range unitsBack(s.Units, now, booted) {
		b.enable = b.enable && s.Links == nil // systemd would enable what its Also= names, too
		if err := b.restore(ctx, h); err != nil {
			left = append(left, fmt.Sprintf("unit %s (%v)", b.name, err))
		}
	}
	return left
}

// unitBack is what brings one unit back.
type unitBack struct {
	name                  string
	unmask, enable, start bool
}

func unitsBack(was, now map[string]systemd.UnitBrief, booted bool) (out []unitBack) {
	masked := func(u systemd.UnitBrief) bool { return strings.HasPrefix(u.File, "masked") }
	for _, name := range slices.Sorted(maps.Keys(was)) {
		before, is := was[name], now[name]
		b := unitBack{name: name, unmask: masked(is) && !masked(before)}
		b.enable = before.File == "enabled" && (is.File == "disabled" || b.unmask) // a mask hides whether it is
		b.start = before.Active && !is.Active && (!booted || b.unmask || b.enable)
		if b.unmask || b.enable || b.start {
			out = append(out, b)
		}
	}
	return out
}

func (b unitBack) restore(ctx context.Context, h *host.Host) error {
	if b.unmask {
		if err := h.Units.Unmask(ctx, b.name); err != nil {
			return err
		}
	}
	if b.enable {
		if err := h.Units.EnableUnit(ctx, b.name); err != nil {
			return err
		}
	}
	if b.start {
		return h.Units.StartUnit(ctx, b.name, false)
	}
	return nil
}

// again tries a few times.
func again(ctx context.Context, f func() error) (err error) {
	for range 5 {
		if err = f(); err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}
