package ledger

import (
	"context"
	"time"
)

const deedsFile = Dir + "/deeds.json"

// maxDeeds is how many deeds are kept.
const maxDeeds = 50

// Deed is what somebody did to which configuration a node follows. It makes no revision: no task is
// new by it.
type Deed struct {
	Time       time.Time `json:"time"`
	By         string    `json:"by"`
	Act        Act       `json:"act"`
	Revision   int       `json:"revision,omitempty"`   // that it led to, or away from
	Generation int64     `json:"generation,omitempty"` // of that
	Text       string    `json:"text,omitempty"`
}

// Act is the kind of a deed.
type Act string

// The acts.
const (
	RolledBack Act = "rollback" // to a revision, which holds the node
	WasPaused  Act = "pause"
	Resumed    Act = "resume"       // of a pause, or of a node that was held
	Forward    Act = "roll-forward" // to a generation that wants what a kept revision has
)

// ReadDeeds reads what was done, oldest first. A damaged file is said, and is none.
func ReadDeeds(r Reader) (list []Deed, err error) {
	err = readState(r, deedsFile, &list)
	return list, err
}

// NoteDeed saves a deed, durably. One that was done last already leads to nothing new, and is
// not saved again: a command that was killed is run again.
func NoteDeed(ctx context.Context, w Host, d Deed) error {
	list, _ := ReadDeeds(w) // a damaged one is as good as none
	d.Time = d.Time.UTC().Truncate(time.Second)
	if n := len(list); n > 0 {
		last := list[n-1]
		if last.Time = d.Time; last == d {
			return nil
		}
	}
	list = append(list, d)
	list = list[max(0, len(list)-maxDeeds):]
	return saveState(ctx, w, deedsFile, list)
}
