package reconcile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
)

// resettable says early what [refuseReset] would say under the lock: the daemon is not stopped for
// nothing.
func (p Pass) resettable() error {
	files, err := host.OpenFiles(p.Host)
	if err != nil {
		return fmt.Errorf("open %s: %w", p.Host.Root, err)
	}
	defer files.Close() // only read from
	return refuseReset(ledger.Load(files), files)
}

// refuseReset says why a reset cannot be made, and names what it would have been about; nil if it
// can. A journal that is only found to be damaged when its entries are decoded counts too.
func refuseReset(led *ledger.Ledger, r ledger.Reader) error {
	if led.Newer != nil {
		return fmt.Errorf("reset: %w", led.Newer)
	}
	if led.Unreadable {
		return errors.New("reset: the ledger can be read by root only: run it as root")
	}
	if led.Entries(); !led.Lost {
		return nil
	}
	return fmt.Errorf("reset: %s. Nothing was removed or brought back. The revisions that are left name what may be netwright's: %s. "+
		"Remove by hand what is not needed, then %s", strings.Join(led.Damage(), "; "), strings.Join(lastKeys(r), ", "), ledger.Dir)
}

// lastKeys are the keys of the newest revision that can be read, one for each task.
func lastKeys(r ledger.Reader) []string {
	kept, _ := ledger.Revisions(r) // those that can be read will do
	if len(kept) == 0 {
		return []string{"(none is left)"}
	}
	var out []string
	for _, rec := range kept[len(kept)-1].Tasks {
		t, err := ledger.Rebuild(r, rec)
		if err != nil {
			out = append(out, "a "+rec.Kind+" that "+rec.From+" asked for")
			continue
		}
		if key := t.Owns()[0]; tasks.IsState(key) {
			out = append(out, string(key))
		}
	}
	return out
}
