// Package tasks has the kinds of task. Each task is one piece of desired host state, and each kind
// has a file of its own. What other code needs to know of a kind is its row in the table of kinds,
// kind.go.
//
// A task knows what it owns, what must come first, how to plan its change and how to apply it. It
// knows nothing of other tasks: package graph orders tasks by their keys, and package execute runs
// them.
//
// # Files
//
//   - what a task is, and what a kind may also do: task, optional_interfaces
//   - the table of kinds, its columns, and what other packages look up in it: kind*
//   - a planned change, its cost, and the reloads and restarts after it: change, change_class,
//     effect
//   - paths and their contents: path_*, directory, file, symlink, toml_key, kubeconfig,
//     network_files
//   - CNI plugins, fetched, checked, unpacked and cached: archive*
//   - certificates and keys of the node: certificates*
//   - CNI confs, parsed, refused, awaited and removed: cni_conf_*, conf_removal
//   - the kernel: sysctl*, module, mount
//   - the network: address, link, route, rule, nft_table, forward_accept, ec2_source_dest_check
//   - systemd units, and what acts only at the next boot: unit_*, read_at_boot
//   - which changes need no checkpoint: harmless*
//   - keys that no document wants any more: removal, restoration, revert_costs
//   - a task as the ledger records it: ledger_*
//   - a switch of networks, and what only time brings: cleanup, switch_*, await_value
package tasks

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Task is one piece of desired host state.
type Task interface {
	// row is the index of the kind in the table of kinds.
	row() row
	// Owns returns the keys that only this task may change. Two tasks with the same key are an
	// error that names both origins.
	Owns() []graph.Key
	// Base returns what each task has besides its kind; kinds that embed [Meta] have it. It does
	// not contain the keys that the kind itself knows: use [NeedsOf] and [EffectsOf].
	Base() Meta
	// Plan returns what would change on the view; nil: all is right. It writes nothing, and may be
	// called any number of times and from any goroutine. A [graph.Wait] error says that only time
	// can bring what is missing.
	Plan(ctx context.Context, v host.View) (*Change, error)
	// Apply makes a change that Plan returned. It is idempotent, may be cancelled, and may be
	// called again after an error. After an error the host is as before or as wanted, and never
	// between.
	Apply(ctx context.Context, h *host.Host, c *Change) error
}

// Meta is what every task has besides its kind.
type Meta struct {
	From     string      `json:",omitempty"`      // who asked for it: "cluster.yaml:12:3", "node default"
	Why      string      `json:",omitempty"`      // one clause for the plan: "required by calico"
	At       graph.Gate  `json:",omitempty"`      // the gate in which it must be right
	Requires []graph.Key `json:"After,omitempty"` // needs that the kind itself does not know: see NeedsOf
	Effects  []graph.Key `json:"Then,omitempty"`  // effects that any change of this task asks for: see EffectsOf
	Secret   bool        `json:",omitempty"`      // plans show neither values nor contents
	// Overrides says which value this one overrides, for the plan: "1 from cluster.yaml:7:5".
	Overrides string `json:",omitempty"`
	// Refused says why the task always fails: a document wants something that no document may have.
	// Its key stays wanted, so nothing removes it. It is not recorded, because the release that
	// makes the task again decides what it refuses.
	Refused string `json:"-"`
}

// Base implements [Task].
func (m Meta) Base() Meta { return m }

// needer is a kind that knows keys which must come first. needs returns them together with
// Meta.Requires.
type needer interface{ needs() []graph.Key }

// effector is a kind that knows which effects its changes ask for. effects returns them together
// with Meta.Effects.
type effector interface{ effects() []graph.Key }

// NeedsOf returns the keys that come before a task where a task owns them. The parent directories
// of a file need not be in it.
func NeedsOf(t Task) []graph.Key {
	if k, ok := t.(needer); ok {
		return k.needs()
	}
	return t.Base().Requires
}

// EffectsOf returns the effects that a change of a task may ask for.
func EffectsOf(t Task) []graph.Key {
	if k, ok := t.(effector); ok {
		return k.effects()
	}
	return t.Base().Effects
}

// Graph is the tasks in order, Report the results of a run, and Result the result of one task.
type (
	Graph  = graph.Graph[Task]
	Report = graph.Report[Task]
	Result = graph.Result[Task]
)

// AsNodes tells [graph.New] about tasks.
type AsNodes struct{}

var _ graph.Dependencies[Task] = AsNodes{}

// Gate implements [graph.Dependencies].
func (AsNodes) Gate(t Task) graph.Gate { return t.Base().At }

// Origin implements [graph.Dependencies].
func (AsNodes) Origin(t Task) string { return t.Base().From }

// Needs implements [graph.Dependencies].
func (AsNodes) Needs(t Task) []graph.Key { return NeedsOf(t) }

// Effects implements [graph.Dependencies].
func (AsNodes) Effects(t Task) []graph.Key { return EffectsOf(t) }

// row is the index of a kind in [kinds].
type row int
