package history

import (
	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
)

// Awaits returns the change that waits for its confirmation. It returns nil if no change waits.
func Awaits(r host.FileReader) *report.Awaits {
	j, err := checkpoint.Unconfirmed(r)
	if err != nil || j == nil {
		return nil // the pass that would undo the change reports a damaged journal
	}
	return AwaitsOf(j)
}

// AwaitsOf returns what a journal says about the confirmation that its change waits for.
func AwaitsOf(j *checkpoint.Journal) *report.Awaits {
	a := j.Awaits
	return &report.Awaits{
		Generation: j.Generation, Digest: j.Digest, Until: a.Until().UTC(), By: a.By, Revision: a.Set,
	}
}

// AppliedOf returns the applied generation as a status shows it. It returns nil if none was
// applied.
func AppliedOf(a *ledger.Applied) *report.Generation {
	if a == nil {
		return nil
	}
	return &report.Generation{Number: a.Generation, Digest: a.Digest, At: a.Time, Store: a.Store}
}
