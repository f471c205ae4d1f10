package history

import (
	"maps"
	"slices"

	"github.com/netwright/netwright/pkg/ledger"
)

// Repaired is a key that others changed, and that was brought back.
type Repaired struct {
	Key string `json:"key"`
	ledger.Drift
}

// repaired lists them by key. A key of which something else is wanted by now is not among them.
func repaired(led *ledger.Ledger) (out []Repaired) {
	for _, key := range slices.Sorted(maps.Keys(led.Entries())) {
		if d := led.Entries()[key].Drift; d != nil {
			out = append(out, Repaired{string(key), *d})
		}
	}
	return out
}
