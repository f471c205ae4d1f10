package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// reach returns where to look for the residue of the network From, and which of it must stay: the
// next network may want it, or another owner may still use what the ledger retains.
func (s *Switch) reach(
	d *desired.State, g *tasks.Graph, had ledger.Network, led *ledger.Ledger,
) cleanup.Scope {
	var out cleanup.Scope
	for text := range strings.SplitSeq(had.PodCIDRs, ",") {
		if cidr, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
			out.PodCIDRs = append(out.PodCIDRs, cidr)
		}
	}
	if len(out.PodCIDRs) == 0 {
		out.PodCIDRs = d.Node.PodCIDR
	}
	for _, t := range g.Order() {
		out.Retain = append(out.Retain, t.Owns()...)
	}
	for key, e := range led.Entries() {
		if e.Mode == ledger.Retained {
			out.Retain = append(out.Retain, key)
		}
	}
	return out
}

// look finds the residue of From on the node.
func (s *Switch) look(ctx context.Context, v host.View, live bool) (err error) {
	facts := v.Facts
	s.From.Residue = s.From.Residue.In(facts.Runtime.ConfDir, facts.Runtime.BinDirs...)
	if !live {
		s.From.Residue = s.From.Residue.OnDisk()
	} else if s.pods, err = tasks.PodsWithAddress(ctx, v); err != nil {
		return fmt.Errorf("leave %s: %w", s.From.Name, err)
	}
	if unit := facts.Kubelet.Unit; live && unit != "" {
		have, err := v.Units.Unit(ctx, unit)
		if err != nil && !errors.Is(err, host.ErrNoLiveState) {
			return fmt.Errorf("leave %s: %w", s.From.Name, err)
		}
		if err == nil && tasks.Runs(have) {
			s.unit = unit
		}
	}
	s.found, err = (cleanup.Selection{Residue: s.From.Residue, Scope: s.scope}).Find(ctx, v)
	if err != nil && !errors.Is(err, host.ErrNoLiveState) {
		return fmt.Errorf("look for what %s left: %w", s.From.Name, err)
	}
	// What another agent of the node writes stays, and the rest goes without it: a cleanup that has
	// one such file is not made at all.
	s.found = slices.DeleteFunc(s.found, func(f tasks.Found) bool {
		theirs := changes.OfPeers(facts.Peers, f.Key)
		if theirs {
			s.scope.Retain = append(s.scope.Retain, f.Key)
		}
		return theirs
	})
	return nil
}
