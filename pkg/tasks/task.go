// Package tasks has the task kinds: each is one piece of desired host state,
// in a file of its own. What others need to know of a kind is its row in the
// table of kinds, kind.go.
//
// A task knows what it owns, what comes first, how to see what would change
// and how to make it so. It knows nothing of the others: package graph orders
// them by their keys, package agent runs them.
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
	// Needs lists the keys that come first, if anybody owns them. A file's
	// parent directories need not be listed.
	Needs() []graph.Key
	// Gate says before what the task must be right.
	Gate() graph.Gate
	// Origin says who asked for it: "cluster.yaml:12:3", "node default".
	Origin() string
	// Asks lists the effects that a change of this task may ask for.
	Asks() []graph.Key
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
	From   string      `json:",omitempty"` // see Task.Origin
	Why    string      `json:",omitempty"` // one clause for the plan: "required by calico"
	At     graph.Gate  `json:",omitempty"` // see Task.Gate
	After  []graph.Key `json:",omitempty"` // needs beyond those that the kind knows
	Then   []graph.Key `json:",omitempty"` // effects asked for when this task changes anything
	Secret bool        `json:",omitempty"` // values and contents are never shown
	// Overrides says whose value lost, for the plan: "1 from cluster.yaml:7:5".
	Overrides string `json:",omitempty"`
	// Refused says why the task fails wherever it is planned: a document wants what no document
	// may. Its key stays wanted, so that nothing takes it away. It is not recorded: what is
	// refused, the release says that makes the task again.
	Refused string `json:"-"`
}

// Gate implements [Task].
func (m Meta) Gate() graph.Gate { return m.At }

// Origin implements [Task].
func (m Meta) Origin() string { return m.From }

// Asks implements [Task].
func (m Meta) Asks() []graph.Key { return m.Then }

// Needs implements [Task].
func (m Meta) Needs() []graph.Key { return m.After }

// Base returns the Meta itself, for the wrapper around every task.
func (m Meta) Base() Meta { return m }

// row is the place of a kind in the table, [kinds].
type row int
