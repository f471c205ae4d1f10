package ledger

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const appliedFile = Dir + "/applied.json"

// Applied is the configuration of the last pass that succeeded: everything that it wants of this
// node is made, or waits for other programs.
type Applied struct {
	Generation int64     `json:"generation"` // 0 from a plain directory
	Digest     string    `json:"digest"`     // of the manifest's JSON
	Time       time.Time `json:"time"`       // of the first pass with it that succeeded
	// Store is the store that it was read from last; "" from an earlier release.
	Store string `json:"store,omitempty"`
	// Machine is the machine-id of the machine that wrote it; "" from an earlier release.
	Machine string `json:"machine,omitempty"`
}

// ReadApplied returns nil if the file is missing or is of another machine. A damaged file is an
// error, and the next pass that succeeds replaces it.
func ReadApplied(r Reader) (*Applied, error) {
	a := new(Applied)
	if err := readState(r, appliedFile, a); err != nil || a.Digest == "" || host.IsOtherMachine(r, a.Machine) {
		return nil, err
	}
	return a, nil
}

// SaveApplied replaces the file durably.
func SaveApplied(ctx context.Context, w Host, a *Applied) error {
	a.Machine = host.MachineID(w)
	return saveState(ctx, w, appliedFile, a)
}
