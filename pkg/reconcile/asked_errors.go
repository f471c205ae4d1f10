package reconcile

import (
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/report"
)

// AwaitsError is something that was asked for and not done, since a change awaits its confirmation.
type AwaitsError struct{ report.Awaits }

func (e *AwaitsError) Error() string {
	return "nothing was changed: " + e.String() + "; " +
		"`agent confirm` in a new login keeps it, and `agent undo` takes it back now"
}

// PausedError is something that was asked for and not done, because the node is paused.
type PausedError struct {
	report.Paused
	ends string // the command that ends it
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("nothing was changed: the node is %s; %s ends that", e.Paused.String(), e.ends)
}

// MaxPause is how long a pause may be: one that nobody ends must not be found a month later.
const MaxPause = 24 * time.Hour
