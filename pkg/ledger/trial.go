package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

const trialsFile = Dir + "/trials.json"

// TrialState says where a trial stands.
type TrialState string

// The states of a trial.
const (
	TrialOpen    TrialState = "open"    // the change is made or about to be; the unit is not known to run from it
	TrialUndoing TrialState = "undoing" // the unit did not come up: what was there is being brought back
	TrialUndone  TrialState = "undone"  // it is back, and the unit is not known to run again
	TrialHeld    TrialState = "held"    // the change is not made again before something changes
)

// Trial is a change of what a running unit runs from. It is written before the change, with what
// was there, and is over when the unit runs from it.
type Trial struct {
	Unit  string     `json:"unit"`
	State TrialState `json:"state"`
	// Want names what all tasks together wanted that ask for the unit's restart: another
	// configuration has another name.
	Want string `json:"want"`
	// the run of the unit before the change, or before it was brought up again
	Invocation string      `json:"invocation"`
	Files      []TrialFile `json:"files,omitempty"`
	// Tried is what systemd showed just before each effect of the undo, with the files back: once
	// it shows something else, the effect was done.
	Tried map[graph.Key]string `json:"tried,omitempty"`
	Since time.Time            `json:"since"`
	Made  Undone               `json:"made"` // for the history: by whom, of which generation
	Why   string               `json:"why,omitempty"`
	// the unit ran again after the undo: it was the change. Else that is not known
	Bad       bool   `json:"bad,omitempty"`
	Tries     int    `json:"tries,omitempty"`
	Unchanged string `json:"unchanged,omitempty"` // names the unit's own files and program, as they were when it failed
}

// TrialFile is a file that asked for the restart, as it was before.
type TrialFile struct {
	Path    string         `json:"path"`
	Was     tasks.Baseline `json:"was"`
	Content []byte         `json:"content,omitempty"`
	Asks    []graph.Key    `json:"asks"`
	Tasks   []graph.Key    `json:"tasks"` // first keys of the tasks that changed it
}

// Trials reads the trials. Without a file there are none. A damaged one is said, and is none: the
// change is made again, on trial.
func Trials(r Reader) ([]Trial, error) {
	var out []Trial
	if err := readJSON(r, trialsFile, &out); err != nil {
		return nil, fmt.Errorf("read which units are on trial, %s: %w: it is written anew", trialsFile, err)
	}
	return out, nil
}

// SaveTrials replaces them, durably. None remove the file.
func SaveTrials(ctx context.Context, w Host, list []Trial) error {
	if len(list) == 0 {
		return w.Remove(trialsFile)
	}
	return writeJSON(ctx, w, trialsFile, "which units are on trial", list)
}
