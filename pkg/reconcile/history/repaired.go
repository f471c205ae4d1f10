package history

import (
	"maps"
	"slices"

	"github.com/netwright/netwright/pkg/ledger"
)

// Repaired is a key that another program changed and that the agent repaired.
type Repaired struct {
	Key string `json:"key"`
	ledger.Drift
}

// repaired returns the repaired keys, sorted by key. It leaves out a key whose wanted value has
// changed since.
func repaired(led *ledger.Ledger) (out []Repaired) {
	for _, key := range slices.Sorted(maps.Keys(led.Entries())) {
		if d := led.Entries()[key].Drift; d != nil {
			out = append(out, Repaired{string(key), *d})
		}
	}
	return out
}
