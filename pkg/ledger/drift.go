package ledger

import (
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// Drift records that other programs changed a key that was right. It is part of the key's entry, so
// that a repair needs no write besides those of every change.
type Drift struct {
	// Repairs counts the repairs of the key since its task last changed.
	Repairs int       `json:"repairs"`
	First   time.Time `json:"first"`
	// Recent are the repairs of the present flapping, the newest last; none after the flapping has
	// ended.
	Recent []time.Time `json:"recent,omitempty"`
	// Trials counts the repairs after the key was contested, which test whether the other program
	// still writes it.
	Trials int `json:"trials,omitempty"`
	// Writer names the other program that writes the key, as far as it is known.
	Writer string `json:"writer,omitempty"`
	// By is the process that Writer names, if it names one.
	By host.WriterID `json:"by,omitzero"`
}

// Last returns the time of the last repair; zero if the flapping has ended.
func (d *Drift) Last() time.Time {
	if d == nil || len(d.Recent) == 0 {
		return time.Time{}
	}
	return d.Recent[len(d.Recent)-1]
}
