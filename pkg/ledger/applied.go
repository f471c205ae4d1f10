package ledger

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const appliedFile = Dir + "/applied.json"

// Applied is the configuration with which a pass ended right last: all that it wants of this node
// is made, or awaits what others bring.
type Applied struct {
	Generation int64     `json:"generation"` // 0 of a plain directory
	Digest     string    `json:"digest"`     // of the manifest's JSON
	Time       time.Time `json:"time"`       // when the first pass with it ended right
	// Machine is the one that it is of; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
}

// ReadApplied returns nil where none is known of this machine. A damaged file is said; the next
// pass that ends right writes it anew.
func ReadApplied(r Reader) (*Applied, error) {
	a := new(Applied)
	if err := readState(r, appliedFile, a); err != nil || a.Digest == "" || host.IsOtherMachine(r, a.Machine) {
		return nil, err
	}
	return a, nil
}

// SaveApplied replaces it, durably.
func SaveApplied(ctx context.Context, w Host, a *Applied) error {
	a.Machine = host.MachineID(w)
	return saveState(ctx, w, appliedFile, a)
}
