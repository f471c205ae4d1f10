package host

import (
	"sync"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Fact is one thing that a task plans to change, as downstream tasks of the
// same plan shall see it. Exactly one field besides Key is set, or none: then
// only [Upcoming.WillExist] knows of it.
type Fact struct {
	Key  string // "link:cbr0", "module:br_netfilter", "file:/etc/x"
	Gone bool   // the plan removes it
	Link *rtnl.Link
	// Address that a link will have.
	Address *rtnl.Address
	Unit    *systemd.UnitState
	File    *hostfs.FileInfo // Size and Mode only
	// Installs says beside File, of the file of a unit in /etc/systemd/system, whether it has an
	// [Install] section; nil: it is no such file.
	Installs *bool
}

// Pending is what upstream tasks of one plan are going to change, and which
// effects they ask for. It is written by the planner only, and read through
// the view that [Pending.Over] returns. Safe for several goroutines.
type Pending struct {
	mu    sync.RWMutex
	facts map[string]Fact
	asked map[string][]string
}

// NewPending returns an empty overlay. owed are effects that an earlier run
// asked for and did not do, with who asked.
func NewPending(owed map[string][]string) *Pending {
	p := &Pending{facts: map[string]Fact{}, asked: map[string][]string{}}
	for effect, by := range owed {
		p.asked[effect] = append([]string(nil), by...)
	}
	return p
}

// Add lays facts over the view.
func (p *Pending) Add(facts ...Fact) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range facts {
		p.facts[f.Key] = f
	}
}

// Ask notes that by asked for an effect.
func (p *Pending) Ask(effect, by string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[effect] = append(p.asked[effect], by)
}

// EffectDone notes that an effect was done: nobody asks for it any more.
func (p *Pending) EffectDone(effect string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, effect)
}
