// Package history is what a node knows of its past: revisions and what they changed, what was
// undone or repaired, what awaits somebody. It only reads.
package history

import (
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
)

// History is what the ledger knows of the past.
type History struct {
	Current   int               `json:"current"` // revision that the node is at
	Pin       *ledger.Pin       `json:"held,omitempty"`
	Revisions []ledger.Revision `json:"revisions"`          // oldest first
	Changes   map[int]Changes   `json:"-"`                  // what they changed, by their numbers, where that is known
	Undone    []ledger.Undone   `json:"undone,omitempty"`   // what was applied and taken back, oldest first
	Repaired  []Repaired        `json:"repaired,omitempty"` // what others changed, by key
	Awaits    *report.Awaits    `json:"awaits,omitempty"`   // a change that somebody must confirm
	// Watched is the generation that is undone until then if its hook costs the node its network;
	// no time: none is.
	Watched       int64     `json:"watched,omitempty"`
	WatchedDigest string    `json:"watchedDigest,omitempty"`
	WatchedUntil  time.Time `json:"watchedUntil,omitzero"`
	// Boots are the first boots with changed files, oldest first, and AwaitingBoot what no boot has
	// proved yet.
	Boots        []ledger.Boot `json:"boots,omitempty"`
	AwaitingBoot []string      `json:"awaitingBoot,omitempty"`
	// Actions are what was done to which configuration the node follows, oldest first: it made no
	// revision.
	Actions []ledger.OperatorAction `json:"deeds,omitempty"`
	// Applied is the configuration that is applied; nil: none is known.
	Applied *report.Generation `json:"applied,omitempty"`
	// WithoutRevision is how many keys are as wanted where no pass has ended well yet, and no
	// revision says so.
	WithoutRevision int      `json:"keysWithoutRevision,omitempty"`
	Damage          []string `json:"damage,omitempty"`
}

// Read reads the revisions that are kept. It writes nothing.
func Read(opt host.Options) (*History, error) {
	files, err := host.OpenFiles(opt)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", opt.Root, err)
	}
	defer files.Close() // only read from
	led := ledger.Load(files)
	if led.Newer != nil {
		return nil, led.Newer
	}
	revisions, err := ledger.Revisions(files)
	if len(revisions) == 0 && err != nil {
		return nil, err
	}
	h := &History{Current: led.Head().Current, Pin: led.Head().Pin, Revisions: revisions, Damage: led.Damage()}
	damaged := func(err error) {
		if err != nil {
			h.Damage = append(h.Damage, err.Error())
		}
	}
	damaged(err)
	if len(revisions) == 0 {
		for _, e := range led.Entries() {
			if !e.Pending && !e.Released && !e.Parent {
				h.WithoutRevision++
			}
		}
	}
	h.Changes = revised(files, revisions)
	h.Repaired, h.Awaits = repaired(led), Awaits(files)
	h.Watched, h.WatchedDigest, h.WatchedUntil = checkpoint.Watched(files)
	h.Undone, err = ledger.ReadUndone(files)
	damaged(err)
	h.Boots, err = ledger.ReadBoots(files)
	damaged(err)
	h.Actions, err = ledger.ReadOperatorActions(files)
	damaged(err)
	h.withoutMachine()
	done, err := ledger.ReadApplied(files)
	damaged(err)
	h.Applied = AppliedOf(done)
	a, _ := firstboot.Summary(files) // a damaged one is said at the boot
	h.AwaitingBoot = a.Names()
	return h, nil
}

// withoutMachine drops the machine-id, which systemd asks programs to keep to themselves (man 5
// machine-id). All is of this machine.
func (h *History) withoutMachine() {
	for i := range h.Undone {
		h.Undone[i].Machine = ""
	}
	for i := range h.Boots {
		h.Boots[i].Machine = ""
	}
	for i := range h.Revisions {
		h.Revisions[i].Machine = ""
	}
	for i := range h.Actions {
		h.Actions[i].Machine = ""
	}
}
