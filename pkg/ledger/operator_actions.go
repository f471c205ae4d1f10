package ledger

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const operatorActionsFile = Dir + "/deeds.json"

// maxOperatorActions is how many actions are kept.
const maxOperatorActions = 50

// OperatorAction is an action of a person on the configuration that a node follows. It creates no
// revision, because no task is new.
type OperatorAction struct {
	Time       time.Time `json:"time"`
	By         string    `json:"by"`
	Act        Act       `json:"act"`
	Revision   int       `json:"revision,omitempty"`   // revision to which, or away from which, the action led
	Generation int64     `json:"generation,omitempty"` // generation of that revision
	Text       string    `json:"text,omitempty"`
	// Machine is the machine-id of the machine of the action; "" from an earlier release.
	Machine string `json:"machine,omitempty"`
}

// Act is the kind of an action.
type Act string

// The kinds of actions.
const (
	RolledBack Act = "rollback" // to a revision, to which the node is pinned
	WasPaused  Act = "pause"
	Resumed    Act = "resume"       // from a pause, or from a pin
	Forward    Act = "roll-forward" // to a generation that wants the same as an earlier revision
)

// ReadOperatorActions returns the actions on this machine, oldest first. A damaged file is an
// error, and counts as empty.
func ReadOperatorActions(r Reader) (list []OperatorAction, err error) {
	var all []OperatorAction
	err = readState(r, operatorActionsFile, &all)
	for _, d := range all {
		if !host.IsOtherMachine(r, d.Machine) {
			list = append(list, d)
		}
	}
	return list, err
}

// NoteOperatorAction saves an action durably. It does not save the same action twice in a row,
// because a user may repeat a command that was killed.
func NoteOperatorAction(ctx context.Context, w Host, d OperatorAction) error {
	list, err := ReadOperatorActions(w)
	if err := setAside(w, operatorActionsFile, err); err != nil {
		return err
	}
	d.Time, d.Machine = d.Time.UTC().Truncate(time.Second), host.MachineID(w)
	if n := len(list); n > 0 {
		last := list[n-1]
		if last.Time = d.Time; last == d {
			return nil
		}
	}
	list = append(list, d)
	list = list[max(0, len(list)-maxOperatorActions):]
	return saveState(ctx, w, operatorActionsFile, list)
}
