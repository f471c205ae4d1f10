package tasks

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
)

// KindTable is the kind of an nft table: nft:inet/netwright.
const KindTable = "nft"

// Table is an nft table of the agent. Apply replaces it as a whole. The links that its rules name
// need not exist.
type Table struct {
	Meta
	firewall.Table
}

var (
	_ Task     = Table{}
	_ Remover  = Table{}
	_ Restorer = Table{}
)

// TableKey is the key of an nft table.
func TableKey(family, name string) graph.Key { return graph.MakeKey(KindTable, family+"/"+name) }

// Owns implements [Task].
func (t Table) Owns() []graph.Key { return []graph.Key{TableKey(t.Family, t.Name)} }

// Plan implements [Task]. It shows the difference in nft's syntax.
func (t Table) Plan(ctx context.Context, v host.View) (*Change, error) {
	if err := t.Check(); err != nil {
		return nil, fmt.Errorf("plan %w", err)
	}
	item := Item{Key: t.Owns()[0], Op: Update, After: []byte(t.String())}
	have, err := v.Firewall.Table(ctx, t.Family, t.Name)
	switch {
	case errors.Is(err, host.ErrNoLiveState):
		return notApplicable(item.Key, Create), nil
	case errors.Is(err, host.ErrNotExist):
		item.Op = Create
		return &Change{Items: []Item{item}, Reason: "absent", Disruption: t.disruption()}, nil
	case err != nil:
		return nil, MarkTransient(err)
	case have.String() == t.String():
		return nil, nil
	}
	item.Before = []byte(have.String())
	return &Change{Items: []Item{item}, Reason: "rules differ", Disruption: t.disruption()}, nil
}

// disruption returns MayCutOff where a chain may drop packets of the node itself.
func (t Table) disruption() Disruption {
	for _, c := range t.Chains {
		if c.Hook == "postrouting" {
			continue // chains there only rewrite packets
		}
		if c.Policy == "drop" ||
			slices.ContainsFunc(c.Rules, func(r firewall.NFRule) bool { return r.Verdict == "drop" }) {
			return MayCutOff
		}
	}
	return NoDisruption
}

// Apply implements [Task].
func (t Table) Apply(ctx context.Context, h *host.Host, _ *Change) error {
	return MarkTransient(h.Firewall.ReplaceTable(ctx, t.Table))
}

// Live implements [StateReader].
func (t Table) Live(ctx context.Context, v host.View) (string, error) {
	have, err := v.Firewall.Table(ctx, t.Family, t.Name)
	if err != nil {
		return "", MarkTransient(IgnoreMissing(err))
	}
	return fmt.Sprintf("table %x", sha256.Sum256([]byte(have.String()))), nil
}

// Remove implements [Remover].
func (t Table) Remove(ctx context.Context, h *host.Host) error {
	return MarkTransient(h.Firewall.DelTable(ctx, t.Family, t.Name))
}

// Baseline implements [Restorer].
func (t Table) Baseline(ctx context.Context, v host.View) (Baseline, error) {
	have, err := v.Firewall.Table(ctx, t.Family, t.Name)
	if IgnoreMissing(err) != nil {
		return Baseline{}, MarkTransient(err)
	}
	b, err := baseline(ctx, v, t, have)
	if have.Check() != nil {
		b.Lost = "its baseline has rules that netwright cannot write"
	}
	return b, err
}

// Restored implements [Restorer].
func (t Table) Restored(ctx context.Context, v host.View, b Baseline) (bool, error) {
	return alive(ctx, v, t, b)
}

// Restore implements [Restorer]. Rules that the agent cannot write are an error.
func (t Table) Restore(ctx context.Context, h *host.Host, b Baseline) error {
	var was firewall.Table
	if err := json.Unmarshal(b.Data, &was); err != nil {
		return fmt.Errorf("restore nft table %s: %w", t.Name, err)
	}
	return MarkTransient(h.Firewall.ReplaceTable(ctx, was))
}
