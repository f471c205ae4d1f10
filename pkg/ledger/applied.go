package ledger

import (
	"context"
	"time"
)

const appliedFile = Dir + "/applied.json"

// Applied is the configuration with which a pass ended right last: all that it wants of this node
// is made, or awaits what others bring.
type Applied struct {
	Generation int64     `json:"generation"` // 0 of a plain directory
	Digest     string    `json:"digest"`     // of the manifest's JSON
	Time       time.Time `json:"time"`       // when the first pass with it ended right
}

// ReadApplied returns nil where none is known. A damaged file is said; the next pass that ends
// right writes it anew.
func ReadApplied(r Reader) (*Applied, error) {
	a := new(Applied)
	if err := readState(r, appliedFile, a); err != nil || a.Digest == "" {
		return nil, err
	}
	return a, nil
}

// SaveApplied replaces it, durably.
func SaveApplied(ctx context.Context, w Writer, a *Applied) error {
	return saveState(ctx, w, appliedFile, a)
}
