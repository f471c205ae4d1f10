// Package ledger is the agent's memory on disk, /var/lib/netwright: what it has
// taken charge of and what was there before (the journal), the last ten sets of
// tasks that it applied (revisions), contents by their digest (blobs), pending
// effects, and stamps of the files that it has compared, so that the next
// run need not read them again.
//
// It decides nothing. A lost or damaged part of it costs time or knowledge,
// never a thing of somebody else's: without a journal all counts as found.
package ledger

import (
	"fmt"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Ledger is the memory of one node. Safe for several goroutines.
type Ledger struct {
	*Stamps
	Effects PendingEffects
	// Damage says what could not be read, for a note to the user.
	damage []string

	// Lost says that there was a journal, and that what it knew is gone.
	Lost bool
	// Unreadable says that there is a journal, and that it is not for us.
	Unreadable bool
	// Newer says that a later version wrote it, or that it cannot be read now: nothing of it is
	// known, and nothing may be written.
	Newer error
	// Of the journal, used by one goroutine: the pass.
	lines   []line
	head    Head
	rewrite bool
	later   []byte // lines that come to the disk with the next batch
	// inherited says that it is another machine's, whose disk this one has.
	inherited bool
	// The head has a pin that is not on the disk, where there is another: see Hold.
	pinUnsaved bool
	savedPin   *Pin
	entries    map[graph.Key]Entry
	dirs       map[string]int64
}

// Load reads the ledger. Missing and damaged files are no error: see [Ledger.Damage].
func Load(r Reader) *Ledger { return LoadWith(r, LoadStamps(r)) }

// LoadWith is Load for who has the stamps already.
func LoadWith(r Reader, stamps *Stamps) *Ledger {
	l := &Ledger{Stamps: stamps, Effects: PendingEffects{queue: map[string]pendingEffect{}}}
	if err := CheckFormat(r); err != nil {
		withhold(l, err)
		return l
	}
	l.loadJournal(r)
	if host.IsOtherMachine(r, l.head.Machine) {
		// The disk of another machine is an image to this one: nobody held it, it never was up, no
		// change of it was proved, and nobody changed it.
		l.head.Pin, l.head.Boot, l.head.Proof = nil, "", Proof{}
		l.inherited, l.rewrite = true, true
	}
	if stamps.damage != "" {
		l.damage = append(l.damage, stamps.damage)
	}
	if err := l.Effects.load(r); err != nil {
		l.damage = append(l.damage,
			fmt.Sprintf("%s: %v; a restart that an interrupted run owed may be missing", effectsFile, err))
	}
	return l
}

// Damage lists what of the ledger could not be read.
func (l *Ledger) Damage() []string { return l.damage }
