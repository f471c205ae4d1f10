package history

import (
	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
)

// Awaits says which change awaits its confirmation; nil: none does.
func Awaits(r host.FileReader) *report.Awaits {
	j, err := checkpoint.Unconfirmed(r)
	if err != nil || j == nil {
		return nil // what is damaged is said by the pass that would undo it
	}
	return AwaitsOf(j)
}

// AwaitsOf is what a journal says of the confirmation that its change awaits.
func AwaitsOf(j *checkpoint.Journal) *report.Awaits {
	a := j.Awaits
	return &report.Awaits{
		Generation: j.Generation, Digest: j.Digest, Until: a.Until().UTC(), By: a.By, Revision: a.Set,
	}
}

// AppliedOf is a generation that was applied, for a status. Nil: none was.
func AppliedOf(a *ledger.Applied) *report.Generation {
	if a == nil {
		return nil
	}
	return &report.Generation{Number: a.Generation, Digest: a.Digest, At: a.Time}
}
