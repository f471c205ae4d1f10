package host

import (
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Fact is one change that a task plans, as downstream tasks of the same plan see it. At most one
// field besides Key is set. If none is set, only [Upcoming.WillExist] uses the fact.
type Fact struct {
	Key  string // "link:cbr0", "module:br_netfilter", "file:/etc/x"
	Gone bool   // the plan removes what Key names
	Link *rtnl.Link
	// Address is an address that the link will have.
	Address *rtnl.Address
	Unit    *systemd.UnitState
	File    *hostfs.FileInfo // Size and Mode only
	// Installs is set together with File for a unit file in /etc/systemd/system. It says whether
	// the file has an [Install] section. Nil: the file is not such a file.
	Installs *bool
}

// Pending has the changes that upstream tasks of one plan will make, and the effects that they ask
// for. Only the planner writes it. Others read it through the view that [Pending.Over] returns. It
// is safe for several goroutines.
type Pending struct {
	mu    sync.RWMutex
	facts map[string]Fact
	asked map[string][]string
}

// NewPending returns a Pending without facts. owed are effects that an earlier run asked for and
// did not carry out, each with the keys that asked for it.
func NewPending(owed map[string][]string) *Pending {
	p := &Pending{facts: map[string]Fact{}, asked: map[string][]string{}}
	for effect, by := range owed {
		p.asked[effect] = append([]string(nil), by...)
	}
	return p
}

// Add adds facts. A fact replaces an earlier one with the same key.
func (p *Pending) Add(facts ...Fact) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range facts {
		p.facts[f.Key] = f
	}
}

// Ask records that the key by asked for an effect.
func (p *Pending) Ask(effect, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.asked[effect], by) { // an earlier run, or an earlier attempt, asked too
		p.asked[effect] = append(p.asked[effect], by)
	}
}

// Ack records that an effect was carried out: no key asks for it any more.
func (p *Pending) Ack(effect string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, effect)
}
