// Package history reads what happened on a node: the revisions and their changes, what was undone
// or repaired, and which change waits for confirmation. It only reads.
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

// History is what the ledger records about the past of a node.
type History struct {
	Current   int               `json:"current"` // the revision that the node has now
	Pin       *ledger.Pin       `json:"held,omitempty"`
	Revisions []ledger.Revision `json:"revisions"`          // oldest first
	Changes   map[int]Changes   `json:"-"`                  // what each revision changed, by its number, if it is known
	Undone    []ledger.Undone   `json:"undone,omitempty"`   // changes that were applied and undone, oldest first
	Repaired  []Repaired        `json:"repaired,omitempty"` // keys that other programs changed and the agent repaired
	Awaits    *report.Awaits    `json:"awaits,omitempty"`   // a change that a person must confirm
	// Watched is the generation whose hook is on probation until WatchedUntil: it is undone if the
	// hook costs the node its network. Without a time no hook is on probation.
	Watched       int64     `json:"watched,omitempty"`
	WatchedDigest string    `json:"watchedDigest,omitempty"`
	WatchedUntil  time.Time `json:"watchedUntil,omitzero"`
	// Boots are the first boots after files changed, oldest first. AwaitingBoot are the changes
	// that no boot has proved yet.
	Boots        []ledger.Boot `json:"boots,omitempty"`
	AwaitingBoot []string      `json:"awaitingBoot,omitempty"`
	// Actions are what people did to choose the configuration that the node follows, oldest first.
	// These actions made no revision.
	Actions []ledger.OperatorAction `json:"deeds,omitempty"`
	// Applied is the applied configuration; nil: none is known.
	Applied *report.Generation `json:"applied,omitempty"`
	// WithoutRevision is the number of keys that are as wanted although no pass has succeeded yet,
	// so no revision contains them.
	WithoutRevision int      `json:"keysWithoutRevision,omitempty"`
	Damage          []string `json:"damage,omitempty"`
}

// Read reads the history of a host. It writes nothing.
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
	h.AwaitingBoot = firstboot.Summary(files).Names()
	return h, nil
}

// withoutMachine removes the machine-id from the output: systemd asks programs not to publish it
// (machine-id(5)). All entries are of this machine.
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
