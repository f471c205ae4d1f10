package ledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

const trialsFile = Dir + "/trials.json"

// ProbationState is the state of a probation.
type ProbationState string

// The states of a probation.
const (
	// the change is made or about to be made; whether the unit runs with it is not known
	ProbationOpen       ProbationState = "open"
	ProbationUndoing    ProbationState = "undoing" // the unit did not start; its former files are being restored
	ProbationUndone     ProbationState = "undone"  // the files are restored; whether the unit runs again is not known
	ProbationSuppressed ProbationState = "held"    // the change is not made again until something else changes
)

// Probation is a change of files from which a unit runs. It is written before the change, with the
// former files, and ends when the unit runs with the change.
type Probation struct {
	Unit  string         `json:"unit"`
	State ProbationState `json:"state"`
	// Want identifies what all tasks want that request the restart of the unit. Another
	// configuration has another value.
	Want string `json:"want"`
	// the invocation of the unit before the change, or before its last start
	Invocation string          `json:"invocation"`
	Files      []ProbationFile `json:"files,omitempty"`
	// Served means that the unit is the container runtime, and served CRI before the change.
	Served bool `json:"served,omitempty"`
	// Before is what systemd showed just before each effect of the undo, after the files were
	// restored. If systemd shows something else later, the effect has run.
	Before map[graph.Key]string `json:"tried,omitempty"`
	Since  time.Time            `json:"since"`
	Made   Undone               `json:"made"` // for the history: who made it, and of which generation
	Why    string               `json:"why,omitempty"`
	// the unit ran again after the undo, so the change was the cause; otherwise the cause is not
	// known
	Bad       bool   `json:"bad,omitempty"`
	Tries     int    `json:"tries,omitempty"`
	Unchanged string `json:"unchanged,omitempty"` // identifies the unit's own files and program when it failed
	// Machine is the machine-id of the machine of the unit; "" from an earlier release.
	Machine string `json:"machine,omitempty"`
}

// ProbationFile is the former state of a file whose change requested the restart.
type ProbationFile struct {
	Path    string         `json:"path"`
	Was     tasks.Baseline `json:"was"`
	Content []byte         `json:"content,omitempty"`
	Effects []graph.Key    `json:"asks"`
	Tasks   []graph.Key    `json:"tasks"` // first keys of the tasks that changed it
}

// Trials returns the probations of this machine. It returns none if there is no file. A damaged
// file is an error, and counts as none: the change is made again, with a new probation.
func Trials(r Reader) ([]Probation, error) {
	var out []Probation
	err := readJSON(r, trialsFile, &out)
	if host.Unread(err) {
		return nil, fmt.Errorf("%w: it may be there, so nothing is changed", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read which units are on trial, %s: %w: the agent writes the file again", trialsFile, err)
	}
	return slices.DeleteFunc(out, func(p Probation) bool { return host.IsOtherMachine(r, p.Machine) }), nil
}

// SaveTrials replaces the file durably. It removes the file if list is empty.
func SaveTrials(ctx context.Context, w Host, list []Probation) error {
	if len(list) == 0 {
		return w.Remove(trialsFile)
	}
	for i := range list {
		list[i].Machine = host.MachineID(w)
	}
	return writeJSON(ctx, w, trialsFile, "which units are on trial", list)
}
