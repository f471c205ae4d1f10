package ownership

import (
	"errors"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// forgetArchives forgets the archives that only removed revisions named. It forgets nothing if a
// revision or entry that may name an archive is damaged.
func forgetArchives(h *host.Host, led *ledger.Ledger) error {
	wanted, err := archives(h, led)
	if err != nil {
		return nil
	}
	return tasks.ForgetArchives(h, wanted)
}

// archives returns the archives of the ledger's entries and of the revisions.
func archives(h *host.Host, led *ledger.Ledger) ([]tasks.Archive, error) {
	var all []tasks.Recorded
	for _, e := range led.Entries() {
		if e.Task != nil {
			all = append(all, *e.Task)
		}
	}
	revisions, err := ledger.Revisions(h.Live.Files)
	for _, rev := range revisions {
		all = append(all, rev.Tasks...)
	}
	var out []tasks.Archive
	for _, rec := range all {
		if rec.Kind != tasks.KindArchive {
			continue
		}
		t, failed := tasks.Rebuild(rec, nil)
		if a, ok := t.(tasks.Archive); ok {
			out = append(out, a)
		}
		err = errors.Join(err, failed)
	}
	return out, err
}
