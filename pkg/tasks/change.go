package tasks

import (
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Op is what happens to one key. A line of a plan begins with it.
type Op string

// The marks of a plan's line.
const (
	Create Op = "+"
	Update Op = "~"
	Remove Op = "-"
	Run    Op = "!"
)

// Change is what one task would do.
type Change struct {
	Items []Item
	// Reason says in one clause why: "absent", "content differs", "mode differs".
	Reason string
	// Effects lists which of the task's [EffectsOf] this change asks for.
	Effects []graph.Key
	// Pending has the facts that tasks after this one see in the same plan.
	Pending []host.Fact
	// Disruption says what the change may interrupt.
	Disruption Disruption
	// Proof says whether the change needs a checkpoint. Plan does not set it: see [Harmless].
	Proof Proof
	// Unknown is set where the result cannot be known before another change is made: "until module
	// br_netfilter is loaded".
	Unknown string
	// NotApplicable is set where the plan lists the key and this host never sets it: "host-wide,
	// not set here". Such a change is not applied and not counted.
	NotApplicable string
}

// Item is one line of a plan.
type Item struct {
	Key    graph.Key
	Op     Op
	Fields []Field
	// Before and After are whole text contents, for a unified diff. Both are nil where the content
	// is binary or secret.
	Before, After []byte
}

// Field is an attribute that changes, "mode 0600 → 0644". An empty Before means that there was no
// value.
type Field struct {
	Name, Before, After string
}

// Disruption is what a change may interrupt, as plans, classes and resets show it. [Proof] decides
// whether the change needs a checkpoint.
type Disruption int

// The disruptions, in rising order.
const (
	NoDisruption Disruption = iota
	RestartsUnit            // a unit is restarted
	MayCutOff               // links, addresses, routes, rules or forwarding that the node itself may need
)

// Proof says what is proved about a change before it is made. A change with [ProofNone] needs a
// checkpoint, and its class is above live.
type Proof int
