package reconcile

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/tasks"
)

// atBoot are the keys that changes of this pass make act at the next boot, with what the ledger
// says of them.
func (r *run) atBoot() (list []checkpoint.Await, err error) {
	for _, of := range []struct {
		graph   *graph.Graph[tasks.Task]
		changes *changes.Set
	}{{r.graph, r.changes}, {r.pruning.Graph, r.removals}} {
		for _, first := range slices.Sorted(maps.Keys(of.changes.ByKey)) {
			t, _ := of.graph.Find(first)
			c := of.changes.ByKey[first]
			if !undone(t, c) || c.Proof != tasks.Unproved {
				continue
			}
			for _, it := range c.Items {
				if list, err = r.addAtBoot(list, t, it.Key); err != nil {
					return nil, err
				}
			}
		}
	}
	return list, nil
}

// addAtBoot adds a key, if anything of it acts at the next boot.
func (r *run) addAtBoot(list []checkpoint.Await, t tasks.Task, key graph.Key) ([]checkpoint.Await, error) {
	files, units := tasks.AwaitsBoot(t, key)
	if len(files)+len(units) == 0 {
		return list, nil
	}
	was := remembered{Key: key}
	if e, known := r.led.Entries()[key]; known {
		was.Was = &e
	}
	raw, err := json.Marshal(was)
	if err != nil {
		return nil, fmt.Errorf("encode what the ledger says of %s: %w", key, err)
	}
	return append(list, checkpoint.Await{Key: key, Files: files, Units: units, Memory: raw}), nil
}

// mayReboot says that the documents allow a reboot after a boot that failed.
func mayReboot(n *config.Node) bool { return n.Update.BootUndo == config.BootUndoReboot }
