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

// ProbationState says where a trial stands.
type ProbationState string

// The states of a trial.
const (
	// the change is made or about to be; the unit is not known to run from it
	ProbationOpen       ProbationState = "open"
	ProbationUndoing    ProbationState = "undoing" // the unit did not come up: what was there is being brought back
	ProbationUndone     ProbationState = "undone"  // it is back, and the unit is not known to run again
	ProbationSuppressed ProbationState = "held"    // the change is not made again before something changes
)

// Probation is a change of what a running unit runs from. It is written before the change, with
// what was there, and is over when the unit runs from it.
type Probation struct {
	Unit  string         `json:"unit"`
	State ProbationState `json:"state"`
	// Want names what all tasks together wanted that ask for the unit's restart: another
	// configuration has another name.
	Want string `json:"want"`
	// the run of the unit before the change, or before it was brought up again
	Invocation string          `json:"invocation"`
	Files      []ProbationFile `json:"files,omitempty"`
	// Before is what systemd showed just before each effect of the undo, with the files back: once
	// it shows something else, the effect was done.
	Before map[graph.Key]string `json:"tried,omitempty"`
	Since  time.Time            `json:"since"`
	Made   Undone               `json:"made"` // for the history: by whom, of which generation
	Why    string               `json:"why,omitempty"`
	// the unit ran again after the undo: it was the change. Else that is not known
	Bad       bool   `json:"bad,omitempty"`
	Tries     int    `json:"tries,omitempty"`
	Unchanged string `json:"unchanged,omitempty"` // names the unit's own files and program, as they were when it failed
	// Machine is the one that it is of; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
}

// ProbationFile is a file that asked for the restart, as it was before.
type ProbationFile struct {
	Path    string         `json:"path"`
	Was     tasks.Baseline `json:"was"`
	Content []byte         `json:"content,omitempty"`
	Effects []graph.Key    `json:"asks"`
	Tasks   []graph.Key    `json:"tasks"` // first keys of the tasks that changed it
}

// Trials reads the trials of this machine. Without a file there are none. A damaged one is said,
// and is none: the change is made again, on trial.
func Trials(r Reader) ([]Probation, error) {
	var out []Probation
	err := readJSON(r, trialsFile, &out)
	if host.Unread(err) {
		return nil, fmt.Errorf("%w: it may be there, so nothing is changed", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read which units are on trial, %s: %w: it is written anew", trialsFile, err)
	}
	return slices.DeleteFunc(out, func(p Probation) bool { return host.IsOtherMachine(r, p.Machine) }), nil
}

// SaveTrials replaces them, durably. None remove the file.
func SaveTrials(ctx context.Context, w Host, list []Probation) error {
	if len(list) == 0 {
		return w.Remove(trialsFile)
	}
	for i := range list {
		list[i].Machine = host.MachineID(w)
	}
	return writeJSON(ctx, w, trialsFile, "which units are on trial", list)
}
