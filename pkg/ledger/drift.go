package ledger

import (
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// Drift is what became of a key that was right and that others changed. It is part of the key's
// entry, so that to save a repair costs no write beyond those that every change makes.
type Drift struct {
	// Repairs counts those of the key for as long as the same is wanted of it.
	Repairs int       `json:"repairs"`
	First   time.Time `json:"first"`
	// Recent are the repairs of the flapping that goes on, the newest last; none when it is over.
	Recent []time.Time `json:"recent,omitempty"`
	// Trials are repairs that were made after the key was given up, to see whether the other still
	// writes it.
	Trials int `json:"trials,omitempty"`
	// Writer is who else writes the key, as far as that could be known.
	Writer string `json:"writer,omitempty"`
	// By is the process that Writer names, where it names one.
	By host.WriterID `json:"by,omitzero"`
}

// Last is when the key was repaired last; zero if that is long ago.
func (d *Drift) Last() time.Time {
	if d == nil || len(d.Recent) == 0 {
		return time.Time{}
	}
	return d.Recent[len(d.Recent)-1]
}
