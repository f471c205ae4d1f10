package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const undoneFile = Dir + "/undone.json"

// maxUndone is how many undone generations are kept.
const maxUndone = 10

// Undone is a generation whose change was undone. It has no revision, because the node never
// completed it.
type Undone struct {
	Time       time.Time `json:"time"`
	By         string    `json:"by"` // who started the pass
	Network    string    `json:"network"`
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest"`
	Tasks      int       `json:"tasks"`
	Bad        bool      `json:"bad"` // the change was the cause; false if that is not known
	Why        string    `json:"why"`
	Tries      int       `json:"tries"`
	// Unconfirmed means that no probe failed and nobody confirmed the change. Bad is true then.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
	// Machine is the machine-id of the machine of the change; "" from an earlier release.
	Machine string `json:"machine,omitempty"`
}

// ReadUndone returns the undone generations of this machine, oldest first. It returns none and no
// error if there is no file.
func ReadUndone(r Reader) ([]Undone, error) {
	data, err := r.ReadFile(undoneFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var out []Undone
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was undone, %[1]s: %[2]w: the next undo keeps it as %[1]s"+damagedSuffix,
			undoneFile, err)
	}
	return slices.DeleteFunc(out, func(u Undone) bool { return host.IsOtherMachine(r, u.Machine) }), nil
}

// NoteUndone saves durably that a generation was undone. It replaces an earlier record of the same
// generation, so that it may be repeated.
func NoteUndone(ctx context.Context, w Host, u Undone) error {
	list, err := ReadUndone(w)
	if err := setAside(w, undoneFile, err); err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(o Undone) bool { return o.Digest == u.Digest })
	u.Machine = cmp.Or(u.Machine, host.MachineID(w))
	list = append(list, u)
	return writeJSON(ctx, w, undoneFile, "what was undone", list[max(0, len(list)-maxUndone):])
}
