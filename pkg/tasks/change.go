package tasks

import (
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
)

// Op is what happens to one key. It prints as the mark at the start of a
// plan's line.
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
	// Effects lists the effects asked for, of those that [EffectsOf] lists.
	Effects []graph.Key
	// Pending is what downstream tasks of this plan shall see.
	Pending []host.Fact
	// Disruption says what the change may interrupt.
	Disruption Disruption
	// Proof says whether the change is made under a checkpoint. No Plan sets it: see [Harmless].
	Proof Proof
	// Unknown is set when the outcome cannot be known before something else is
	// done: "until module br_netfilter is loaded".
	Unknown string
	// NotApplicable is set when the key is listed but never set on this host:
	// "host-wide, not set here". Such a change is not applied and is no change.
	NotApplicable string
}

// Item is one line of a plan.
type Item struct {
	Key    graph.Key
	Op     Op
	Fields []Field
	// Before and After are whole text contents, for a unified diff. Both nil
	// where the content is binary or secret.
	Before, After []byte
}

// Field is an attribute that changes, "mode 0600 → 0644". An empty Before
// means that there was none.
type Field struct {
	Name, Before, After string
}

// Disruption is what a change may interrupt, as plans, classes and resets say it. Whether a change
// is made under a checkpoint goes by its [Proof].
type Disruption int

// The disruptions, in rising order.
const (
	NoDisruption Disruption = iota
	RestartsUnit            // a unit is restarted
	MayCutOff               // links, addresses, routes, rules, forwarding that are not ours alone
)

// Proof says what is known of a change before it is made. What is [ProofNone] is made under a
// checkpoint, and is more than live.
type Proof int
