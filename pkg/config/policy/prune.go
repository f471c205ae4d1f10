package policy

import "github.com/netwright/netwright/pkg/config/decode"

// Prune says what happens to the agent's keys that no document wants any more.
type Prune struct {
	// Changed: what becomes of a thing of ours that somebody changed since we wrote it: keep (it is
	// reported once, and theirs from then on) or remove
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
