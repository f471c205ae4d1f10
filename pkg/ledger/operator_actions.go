package ledger

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const operatorActionsFile = Dir + "/deeds.json"

// maxOperatorActions is how many of them are kept.
const maxOperatorActions = 50

// OperatorAction is what somebody did to which configuration a node follows. It makes no revision:
// no task is new by it.
type OperatorAction struct {
	Time       time.Time `json:"time"`
	By         string    `json:"by"`
	Act        Act       `json:"act"`
	Revision   int       `json:"revision,omitempty"`   // that it led to, or away from
	Generation int64     `json:"generation,omitempty"` // of that
	Text       string    `json:"text,omitempty"`
	// Machine is the one that it was done to; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
}

// Act is the kind of such an action.
type Act string

// The acts.
const (
	RolledBack Act = "rollback" // to a revision, which holds the node
	WasPaused  Act = "pause"
	Resumed    Act = "resume"       // of a pause, or of a node that was held
	Forward    Act = "roll-forward" // to a generation that wants what a kept revision has
)

// ReadOperatorActions reads what was done to this machine, oldest first. A damaged file is said,
// and is none.
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

// NoteOperatorAction saves an action, durably. One that was done last already leads to nothing new,
// and is not saved again: a command that was killed is run again.
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
