package ledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

const bootsFile = Dir + "/boots.json"

// maxBoots is how many boots are kept besides those that keys are held back for.
const maxBoots = 10

// Boot is what the first boot with changed files has shown. Outcome is that of package checkpoint.
type Boot struct {
	ID         string    `json:"id"`
	Time       time.Time `json:"time"`
	Generation int64     `json:"generation,omitempty"`
	Digest     string    `json:"digest,omitempty"`
	Names      []string  `json:"names,omitempty"` // files and units that had awaited it
	Outcome    string    `json:"outcome"`
	Why        string    `json:"why,omitempty"`
	// Keys were brought back, and are not changed to the same again as long as all of them are
	// wanted: for good after a bad boot, for a while where that is not known. Tries is how often
	// that was so.
	Keys  []BootKey `json:"keys,omitempty"`
	Tries int       `json:"tries,omitempty"`
	// Machine is the one that it is of; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
}

// BootKey is a key that was brought back, and what it was to be; nil: it was to be absent.
type BootKey struct {
	Key  graph.Key       `json:"key"`
	Task *tasks.Recorded `json:"task,omitempty"`
}

// Same says that two are of one boot.
func (b Boot) Same(o Boot) bool { return b.ID == o.ID }

// same says that two keys were to be the same.
func (k BootKey) same(o BootKey) bool {
	if k.Task == nil || o.Task == nil {
		return k.Key == o.Key && k.Task == o.Task
	}
	return k.Key == o.Key && k.Task.Same(*o.Task)
}

// ReadBoots reads what boots of this machine have shown, oldest first. Without a memory of it there
// is none, and no error.
func ReadBoots(r Reader) ([]Boot, error) {
	var out []Boot
	err := readJSON(r, bootsFile, &out)
	if host.Unread(err) {
		return nil, fmt.Errorf("%w: it may be there, so nothing is changed", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read what boots have shown, %[1]s: %[2]w: the next one keeps it as %[1]s"+damagedSuffix,
			bootsFile, err)
	}
	return slices.DeleteFunc(out, func(b Boot) bool { return host.IsOtherMachine(r, b.Machine) }), nil
}

// NoteBoot saves a boot, durably, in the place of what was said of the same one. What earlier
// boots failed with is of no use once one of it has met another boot.
func NoteBoot(ctx context.Context, w Host, b Boot) error {
	list, err := ReadBoots(w)
	if err := setAside(w, bootsFile, err); err != nil {
		return err
	}
	list = slices.DeleteFunc(list, b.Same)
	b.Machine = host.MachineID(w)
	for i := range list {
		for _, k := range b.Keys {
			if slices.ContainsFunc(list[i].Keys, k.same) {
				b.Tries = max(b.Tries, list[i].Tries+1)
			}
		}
		met := func(o BootKey) bool { return slices.Contains(b.Names, cmp.Or(tasks.FileOf(o.Key), o.Key.Name())) }
		if slices.ContainsFunc(list[i].Keys, met) {
			list[i].Keys = nil
		}
	}
	list = append(list, b)
	for free := len(list) - maxBoots; free > 0; free-- {
		i := slices.IndexFunc(list, func(o Boot) bool { return len(o.Keys) == 0 })
		if i < 0 {
			break
		}
		list = slices.Delete(list, i, i+1)
	}
	return writeJSON(ctx, w, bootsFile, "what boots have shown", list)
}
