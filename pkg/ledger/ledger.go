// Package ledger is the agent's memory on disk, /var/lib/netwright. It records what the agent
// manages and what was there before (the journal), the last ten sets of tasks that it applied
// (revisions), contents by their digest (blobs), pending effects, and stamps of the files that it
// has compared, so that the next run need not read them again.
//
// The ledger decides nothing. If a part of it is lost or damaged, the agent loses time or
// knowledge, but never removes a thing of another owner: without a journal everything counts as
// found.
//
// # Files
//
//   - the journal, with the owner of each key: ledger, journal*, entries, damage, cached_ledger
//   - the sets of tasks that were applied: revisions, pin
//   - pending effects, and stamps of compared files: effects, stamps
//   - how the other files are read and written: state_files, format, clock
//   - one file of the ledger each: *
package ledger

import (
	"fmt"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Ledger is the memory of one node. Several goroutines may use it.
type Ledger struct {
	*Stamps
	Effects PendingEffects
	// damage says what could not be read, for a note to the user.
	damage []string

	// Lost means that there was a journal and its content is lost.
	Lost bool
	// Unreadable means that there is a journal which this process may not read.
	Unreadable bool
	// Newer is set if a later release wrote the journal, or if it cannot be read now. Then nothing
	// of it is known, and nothing may be written.
	Newer error
	// The content of the journal. Only one goroutine, the pass, uses it.
	lines   []line
	head    Head
	rewrite bool
	later   []byte // lines that are written with the next batch
	// inherited means that another machine wrote the ledger: this machine has a copy of its disk.
	inherited bool
	// pinUnsaved means that the head has a pin that differs from the pin on the disk: see Hold.
	pinUnsaved bool
	savedPin   *Pin
	entries    map[graph.Key]Entry
	dirs       map[string]int64
}

// Load reads the ledger. Missing and damaged files are no error: see [Ledger.Damage].
func Load(r Reader) *Ledger {
	stamps, err := LoadStamps(r)
	l := LoadWith(r, stamps)
	if err != nil { // a commit would record that this machine was right in no boot
		withhold(l, err)
	}
	return l
}

// LoadWith is [Load] for a caller that has read the stamps already.
func LoadWith(r Reader, stamps *Stamps) *Ledger {
	l := &Ledger{Stamps: stamps, Effects: PendingEffects{queue: map[string]pendingEffect{}}}
	if err := CheckFormat(r); err != nil {
		withhold(l, err)
		return l
	}
	l.loadJournal(r)
	if host.IsOtherMachine(r, l.head.Machine) {
		// The disk of another machine is like an image for this one: nobody has pinned this
		// machine, it has not been right in a boot, and none of its changes was proved.
		l.head.Pin, l.head.Boot, l.head.Proof = nil, "", Proof{}
		l.inherited, l.rewrite = true, true
	}
	if stamps.damage != "" {
		l.damage = append(l.damage, stamps.damage)
	}
	if err := l.Effects.load(r); err != nil {
		l.damage = append(l.damage,
			fmt.Sprintf("%s: %v; a restart that an interrupted run had still to make may be missing", effectsFile, err))
	}
	return l
}

// Damage lists the parts of the ledger that could not be read.
func (l *Ledger) Damage() []string { return l.damage }
