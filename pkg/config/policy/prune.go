package policy

import "github.com/netwright/netwright/pkg/config/decode"

// Prune says what becomes of things of ours that no document wants any more.
type Prune struct {
	// Changed: what becomes of a thing of ours that somebody changed since we wrote it: keep (it is
	// reported once, and theirs from then on) or remove
	Changed string `json:"changed"`
}

// The policies of [Prune].
const (
	Keep   = "keep"
	Remove = "remove"
)

// Fields are those of spec.prune.
func (p *Prune) Fields() []decode.Field {
	return []decode.Field{decode.Choice("changed", &p.Changed, Keep, Remove).Default(Keep)}
}
