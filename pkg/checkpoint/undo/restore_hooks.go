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

// surroundings are what a program of the user may change and no key names. Addresses, routes, rules
// and links are in [Log.Net]. Other effects of a program are not undone: docs/security.md.
//
// It is not known which of the differences the program made and which were made by others
// meanwhile. So an undo restores what is missing, and removes what may be the program's. It leaves
// what Kubernetes' own programs, pods, routing daemons and leases make, which it recognises by
// kind, protocol or name.
type surroundings struct {
	Rules   firewall.RuleSet             `json:"rules"`
	Legacy  []firewall.LegacyTable       `json:"legacy,omitempty"`
	Sysctls map[string]string            `json:"sysctls,omitempty"` // without those in the journal
	Units   map[string]systemd.UnitBrief `json:"units,omitempty"`
	Links   *tasks.UnitLinks             `json:"links,omitempty"`   // nil from an earlier release
	Without []string                     `json:"without,omitempty"` // what was not captured, and why
}

// maxPacked is the maximum size of the surroundings in a journal, in bytes.
const maxPacked = 8 << 20

// captureSurroundings captures what a program may change. sysctls are those that are not in the
// log.
func captureSurroundings(ctx context.Context, h *host.Host, sysctls map[string]string) (out Packed, err error) {
	s := surroundings{Sysctls: sysctls}
	if s.Rules, err = h.Live.Firewall.RuleSet(ctx); err == nil {
		s.Legacy, err = h.Firewall.LegacyTables(ctx)
	}
	switch {
	case rtnl.IsTransient(err): // it changed during each attempt to read it
		s = s.without(err.Error())
	case err != nil:
		return nil, fmt.Errorf("record the rule sets of nft and iptables: %w", err)
	}
	if s.Units, err = h.Units.AllUnits(ctx); err != nil && !errors.Is(err, host.ErrNoLiveState) {
		return nil, fmt.Errorf("record which units run: %w", err)
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
	return s.without("too large to be recorded").pack()
}

// without returns the surroundings without the rule sets.
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

// PackSysctls returns the sysctls of the network.
func PackSysctls(ctx context.Context, h *host.Host) (Packed, error) {
	return surroundings{Sysctls: h.Kernel.NetSysctls(ctx)}.pack()
}

// unpack returns the surroundings, or nil if there are none. The journal was decoded, so p is not
// damaged. If it cannot be unpacked all the same, nothing of it is restored, and Without says so.
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

// RestoreSysctls writes the sysctls that differ.
func (p Packed) RestoreSysctls(ctx context.Context, h *host.Host) {
	if around := p.unpack(); around != nil {
		around.restoreSysctls(ctx, h)
	}
}

// restoreNetwork removes what was added to the network, and restores the rule sets. The rest of the
// undo restores what links have lost.
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

// restoreSysctls writes the sysctls that differ, and returns those that the kernel refuses.
func (s *surroundings) restoreSysctls(ctx context.Context, h *host.Host) (left []string) {
	for range 2 { // some writes change other sysctls
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

// lost returns what of the network cannot be restored.
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

// restoreUnits unmasks, enables and starts the units that were enabled or running. It leaves new
// units, which may belong to anybody. own are the units of the change, which are restored already.
// At boot systemd starts the enabled units, so restoreUnits only starts those that it enables or
// unmasks.
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
		b.enable = b.enable && s.Links == nil // systemd would also enable the units in Also=
		if err := b.restore(ctx, h); err != nil {
			left = append(left, fmt.Sprintf("unit %s (%v)", b.name, err))
		}
	}
	return left
}

// unitBack says what restores one unit.
type unitBack struct {
	name                  string
	unmask, enable, start bool
}

func unitsBack(was, now map[string]systemd.UnitBrief, booted bool) (out []unitBack) {
	masked := func(u systemd.UnitBrief) bool { return strings.HasPrefix(u.File, "masked") }
	for _, name := range slices.Sorted(maps.Keys(was)) {
		before, is := was[name], now[name]
		b := unitBack{name: name, unmask: masked(is) && !masked(before)}
		// the mask hides whether the unit is enabled
		b.enable = before.File == "enabled" && (is.File == "disabled" || b.unmask)
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

// again calls f up to five times until it succeeds.
func again(ctx context.Context, f func() error) (err error) {
	for range 5 {
		if err = f(); err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}
