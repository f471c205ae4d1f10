package ownership

import (
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/tasks"
)

// Begin is what a pass that wants these tasks does to the ledger. It reads nothing of the
// host.
func Begin(g *tasks.Graph, led *ledger.Ledger) (*Transaction, error) {
	set, err := desired.Record(g)
	c := &Transaction{Led: led, Set: set}
	c.wasInStep = c.InStep()
	return c, err
}

// InStep says that the ledger was left with this very set, and nothing open.
func (c *Transaction) InStep() bool {
	head := c.Led.Head()
	return head.Clean && head.Fingerprint == c.Set.Fingerprint
}

// wants says that the desired set has the key, or something below a directory that was made for it.
func wants(set *desired.Records, e ledger.Entry) bool {
	if set.Wants(e.Key) {
		return true
	}
	if !e.Parent {
		return false
	}
	for key := range set.Keys() {
		if key.Kind() == tasks.KindMount {
			key = tasks.FileKey(key.Name() + "/mounted") // it needs its own directory
		}
		for up, ok := graph.PathParent(key); ok; up, ok = graph.PathParent(up) {
			if up == e.Key {
				return true
			}
		}
	}
	return false
}
