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

// maxBoots is how many boots are kept, besides those whose keys must not be changed again.
const maxBoots = 10

// Boot is the result of the first boot with changed files. Outcome is one of package firstboot.
type Boot struct {
	ID         string    `json:"id"`
	Time       time.Time `json:"time"`
	Generation int64     `json:"generation,omitempty"`
	Digest     string    `json:"digest,omitempty"`
	Names      []string  `json:"names,omitempty"` // files and units that awaited the boot
	Outcome    string    `json:"outcome"`
	Why        string    `json:"why,omitempty"`
	// Keys are the keys that were restored. They are not changed again in the same way while all of
	// them are wanted: never after a bad boot, and only after a while if the cause is not known.
	// Tries counts how often that happened.
	Keys  []BootKey `json:"keys,omitempty"`
	Tries int       `json:"tries,omitempty"`
	// Machine is the machine-id of the machine that booted; "" from an earlier release.
	Machine string `json:"machine,omitempty"`
}

// BootKey is a key that was restored, with the task that was undone; a nil Task means that the key
// was to be removed.
type BootKey struct {
	Key  graph.Key       `json:"key"`
	Task *tasks.Recorded `json:"task,omitempty"`
}

// Same reports whether two are of the same boot.
func (b Boot) Same(o Boot) bool { return b.ID == o.ID }

// same reports whether two keys were to be changed in the same way.
func (k BootKey) same(o BootKey) bool {
	if k.Task == nil || o.Task == nil {
		return k.Key == o.Key && k.Task == o.Task
	}
	return k.Key == o.Key && k.Task.Same(*o.Task)
}

// ReadBoots returns the results of boots of this machine, oldest first. It returns none and no
// error if there is no file.
func ReadBoots(r Reader) ([]Boot, error) {
	var out []Boot
	err := readJSON(r, bootsFile, &out)
	if host.Unread(err) {
		return nil, fmt.Errorf("%w: it may be there, so nothing is changed", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the results of boots, %[1]s: %[2]w: the next boot keeps the file as "+
			"%[1]s"+damagedSuffix,
			bootsFile, err)
	}
	return slices.DeleteFunc(out, func(b Boot) bool { return host.IsOtherMachine(r, b.Machine) }), nil
}

// NoteBoot saves the result of a boot durably, in place of an earlier result of the same boot. If
// the files or units of an earlier failed boot have now had another boot, it forgets the keys of
// the earlier one.
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
