package policy

import "github.com/netwright/netwright/pkg/config/decode"

// Prune says what happens to the agent's keys that no document wants any more.
type Prune struct {
	// Changed: Says what happens to a thing of the agent that somebody changed. keep reports the
	// change once and then leaves the thing alone. remove removes the thing.
	Changed string `json:"changed"`
}

// These are the values of [Prune].Changed.
const (
	Keep   = "keep"
	Remove = "remove"
)

// Fields returns the fields of spec.prune.
func (p *Prune) Fields() []decode.Field {
	return []decode.Field{decode.Choice("changed", &p.Changed, Keep, Remove).Default(Keep)}
}
