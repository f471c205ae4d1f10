// Package tasks has the task kinds: each is one piece of desired host state,
// in a file of its own. What others need to know of a kind is its row in the
// table of kinds, kind.go.
//
// A task knows what it owns, what comes first, how to see what would change
// and how to make it so. It knows nothing of the others: package graph orders
// them by their keys, package execute runs them.
package tasks

import (
	"context"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Task is one piece of desired host state.
type Task interface {
	// row is the kind's place in the table of kinds.
	row() row
	// Owns lists the keys that this task alone may change. Two tasks with one
	// key are an error that names both origins.
	Owns() []graph.Key
	// Base is what it carries besides its kind: [Meta] answers it for each kind that embeds one.
	// Keys that the kind itself knows are not in it: [NeedsOf] and [EffectsOf] have those too.
	Base() Meta
	// Plan says what would change on the view, or nil when all is right. It
	// writes nothing, may be called any number of times and from any goroutine.
	// A [graph.Wait] error says that only time brings what is missing.
	Plan(ctx context.Context, v host.View) (*Change, error)
	// Apply makes a change that Plan returned. It is idempotent, may be
	// cancelled, and may be called again after an error. On error the host is
	// as before or as wanted, never between.
	Apply(ctx context.Context, h *host.Host, c *Change) error
}

// Meta is what every task carries besides its kind.
type Meta struct {
	From     string      `json:",omitempty"`      // who asked for it: "cluster.yaml:12:3", "node default"
	Why      string      `json:",omitempty"`      // one clause for the plan: "required by calico"
	At       graph.Gate  `json:",omitempty"`      // before what it must be right
	Requires []graph.Key `json:"After,omitempty"` // needs beyond those that the kind knows: NeedsOf has all
	Effects  []graph.Key `json:"Then,omitempty"`  // effects asked for when this task changes anything: see EffectsOf
	Secret   bool        `json:",omitempty"`      // values and contents are never shown
	// Overrides says whose value lost, for the plan: "1 from cluster.yaml:7:5".
	Overrides string `json:",omitempty"`
	// Refused says why the task fails wherever it is planned: a document wants what no document
	// may. Its key stays wanted, so that nothing takes it away. It is not recorded: what is
	// refused, the release says that makes the task again.
	Refused string `json:"-"`
}

// Base implements [Task].
func (m Meta) Base() Meta { return m }

// needer is a kind that knows keys which come before its own. needs lists them with Meta.Requires.
type needer interface{ needs() []graph.Key }

// effector is a kind that knows which effects its changes ask for. asks makes them of Meta.Effects.
type effector interface{ effects() []graph.Key }

// NeedsOf lists the keys that come before a task, if anybody owns them. A file's parent directories
// need not be listed.
func NeedsOf(t Task) []graph.Key {
	if k, ok := t.(needer); ok {
		return k.needs()
	}
	return t.Base().Requires
}

// EffectsOf lists the effects that a change of a task may ask for.
func EffectsOf(t Task) []graph.Key {
	if k, ok := t.(effector); ok {
		return k.effects()
	}
	return t.Base().Effects
}

// Graph is tasks in order, Report what became of them in a run, and Result what became of one.
type (
	Graph  = graph.Graph[Task]
	Report = graph.Report[Task]
	Result = graph.Result[Task]
)

// AsNodes is what [graph.New] has to know of tasks.
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

// row is the place of a kind in the table, [kinds].
type row int
