// Package undo writes down how everything is that a change may alter, and brings it back. It
// decides nothing: package checkpoint says when.
package undo

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/netstate"
	"github.com/netwright/netwright/pkg/tasks"
)

// Log is how everything was that a change may alter: all that is needed to take it back. It depends
// on nothing else: not on the store, the documents or the ledger.
type Log struct {
	// Links are the symbolic links that may be followed on the way to files (spec.followLinks).
	Links []string `json:"links,omitempty"`
	Files []File   `json:"files"`
	// Mounts are the directories that file systems of Files are mounted on, but /.
	Mounts  []string        `json:"mounts,omitempty"`
	Sysctls []Sysctl        `json:"sysctls"`
	Net     *netstate.State `json:"net,omitempty"`
	Made    netstate.Made   `json:"made"`
	Tables  []Table         `json:"tables,omitempty"`
	Forward []string        `json:"forward,omitempty"` // links for which rules go into chains of others
	Units   []Unit          `json:"units,omitempty"`
	Effects []string        `json:"effects,omitempty"` // asked for by the change, and so again by its undo
	Own     []Own           `json:"own,omitempty"`     // keys of kinds that bring them back themselves
	Around  Packed          `json:"around,omitempty"`  // what programs of the user's may change; nil: none run
}

// File is a path as it was.
type File struct {
	Path    string          `json:"path"`
	Type    hostfs.FileType `json:"type"` // "": absent
	Mode    fs.FileMode     `json:"mode"`
	UID     int             `json:"uid"`
	GID     int             `json:"gid"`
	Content []byte          `json:"content,omitempty"`
	Target  string          `json:"target,omitempty"`
	// RawTarget is the target where it is no UTF-8, which is all that JSON has.
	RawTarget []byte `json:"rawTarget,omitempty"`
	// Attrs are extended attributes: ACLs, capabilities. Journals up to release 0.9.0 have none.
	Attrs map[string][]byte `json:"attrs,omitempty"`
	// where the file itself is kept, of one that is too large for the journal or that an undo could
	// not make as it was
	Copy string `json:"kept,omitempty"`
}

// capability is the attribute that only CAP_SETFCAP gives, which our units do not have.
const capability = "security.capability"

// setIDs are the bits that RestrictSUIDSGID= of our units lets nobody give.
const setIDs = fs.ModeSetuid | fs.ModeSetgid

// unprivileged is f without what a confined undo may not give. privileged says that f has some of
// that.
func (f File) unprivileged() (without File, privileged bool) {
	privileged = f.Attrs[capability] != nil || f.Mode&setIDs != 0
	f.Mode, f.Attrs = f.Mode&^setIDs, maps.Clone(f.Attrs)
	delete(f.Attrs, capability)
	return f, privileged
}

// Sysctl is a key of the kernel as it was.
type Sysctl struct{ Key, Value string }

// Table is an nft table as it was.
type Table struct {
	Family, Name string
	Was          *firewall.Table // nil: absent
}

// Unit is a unit as it was.
type Unit struct {
	Name, Active, File string
	Links              *tasks.UnitLinks `json:",omitempty"` // nil: of an earlier release
}

// Own is a key that its own kind brings back, with all that the task is made again from: an undo
// depends on no ledger.
type Own struct {
	Key      graph.Key      `json:"key"`
	Task     tasks.Recorded `json:"task"`
	Contents [][]byte       `json:"contents,omitempty"` // of the task, in the order of its digests
	Was      tasks.Baseline `json:"was"`
	Content  []byte         `json:"content,omitempty"` // see [tasks.Baseline.Content]
}

// Packed are surroundings as a journal has them: the rules of a node with many Services are alike.
type Packed []byte

// Save writes a file of a checkpoint, durably.
func Save(ctx context.Context, h *host.Host, file string, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode the checkpoint: %w", err)
	}
	if err := h.Files.WriteFile(ctx, file, data, hostfs.FileSpec{Mode: 0o600}); err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	return nil
}

// hookSteady is how long the probes must pass after a unit of a hook was started.
const hookSteady = 3 * time.Second

// Steady is how long the probes must pass without a break. Units act when we have long gone on:
// those of the network on their files, those of hooks on whatever their programs do. Nobody knows
// how long a hook takes; each node with a new one waits for this at its boot. What netlink and
// sysctls change is changed at once.
func (l *Log) Steady(window time.Duration) (steady time.Duration) {
	var units []string
	for _, effect := range l.Effects {
		_, unit, _ := strings.Cut(effect, " ")
		units = append(units, unit)
	}
	for _, unit := range l.Units {
		units = append(units, unit.Name)
	}
	for _, unit := range units {
		switch {
		case tasks.NetworkUnit(unit):
			return window / 3
		case tasks.ActsLate(unit):
			steady = min(window/3, hookSteady)
		}
	}
	return steady
}
