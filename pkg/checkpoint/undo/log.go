// Package undo captures the state of everything that a change may alter, and restores it. Package
// checkpoint decides when.
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

// Log is the state before a change of everything that the change may alter. An undo needs nothing
// else: no store, no documents and no ledger.
type Log struct {
	// Links are the symbolic links that paths of Files may follow (spec.followLinks).
	Links []string `json:"links,omitempty"`
	Files []File   `json:"files"`
	// Mounts are the mount points of the file systems of Files, without /.
	Mounts  []string        `json:"mounts,omitempty"`
	Sysctls []Sysctl        `json:"sysctls"`
	Net     *netstate.State `json:"net,omitempty"`
	Made    netstate.Made   `json:"made"`
	Tables  []Table         `json:"tables,omitempty"`
	Forward []string        `json:"forward,omitempty"` // links for which rules go into chains of other programs
	Units   []Unit          `json:"units,omitempty"`
	Effects []string        `json:"effects,omitempty"` // the change requested them, and so does its undo
	Own     []Own           `json:"own,omitempty"`     // keys that their kinds restore themselves
	Around  Packed          `json:"around,omitempty"`  // what the user's programs may change; nil if none run
}

// File is the state of a path.
type File struct {
	Path    string          `json:"path"`
	Type    hostfs.FileType `json:"type"` // "" if the path did not exist
	Mode    fs.FileMode     `json:"mode"`
	UID     int             `json:"uid"`
	GID     int             `json:"gid"`
	Content []byte          `json:"content,omitempty"`
	Target  string          `json:"target,omitempty"`
	// RawTarget is the target if it is not UTF-8, which JSON requires.
	RawTarget []byte `json:"rawTarget,omitempty"`
	// Attrs are the extended attributes: ACLs, capabilities. Journals up to release 0.9.0 have
	// none.
	Attrs map[string][]byte `json:"attrs,omitempty"`
	// path of the saved file, if it is too large for the journal or the undo could not create it
	// with its attributes
	Copy string `json:"kept,omitempty"`
}

// capability is the attribute that only a process with CAP_SETFCAP may set. Our units do not have
// it.
const capability = "security.capability"

// setIDs are the bits that a process of our units cannot set, because of RestrictSUIDSGID=.
const setIDs = fs.ModeSetuid | fs.ModeSetgid

// unprivileged returns f without the attribute and the bits that a confined undo cannot set.
// privileged reports whether f has any of them.
func (f File) unprivileged() (without File, privileged bool) {
	privileged = f.Attrs[capability] != nil || f.Mode&setIDs != 0
	f.Mode, f.Attrs = f.Mode&^setIDs, maps.Clone(f.Attrs)
	delete(f.Attrs, capability)
	return f, privileged
}

// Sysctl is the value of a sysctl.
type Sysctl struct{ Key, Value string }

// Table is the state of an nft table.
type Table struct {
	Family, Name string
	Was          *firewall.Table // nil if it did not exist
}

// Unit is the state of a unit.
type Unit struct {
	Name, Active, File string
	Links              *tasks.UnitLinks `json:",omitempty"` // nil from an earlier release
}

// Own is a key that its own kind restores. It has everything to rebuild the task, because an undo
// must not need the ledger.
type Own struct {
	Key      graph.Key      `json:"key"`
	Task     tasks.Recorded `json:"task"`
	Contents [][]byte       `json:"contents,omitempty"` // contents of the task, in the order of its digests
	Was      tasks.Baseline `json:"was"`
	Content  []byte         `json:"content,omitempty"` // see [tasks.Baseline.Content]
}

// Packed are compressed surroundings in a journal. The rules of a node with many Services are
// similar and compress well.
type Packed []byte

// Save writes a file of a checkpoint durably.
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

// hookSteady is how long the probes must pass after the start of a hook's unit.
const hookSteady = 3 * time.Second

// Steady returns how long the probes must pass without a break. Units act after the agent has
// continued: network units on their files, hooks on whatever their programs do. Nobody knows how
// long a hook takes, and each node with a new hook waits for this time at its boot. Changes by
// netlink and sysctls take effect at once.
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
