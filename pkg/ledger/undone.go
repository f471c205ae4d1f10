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

// maxUndone is how many generations that were undone are kept.
const maxUndone = 10

// Undone is a generation whose change was taken back: it has no revision, for the node never was at
// it.
type Undone struct {
	Time       time.Time `json:"time"`
	By         string    `json:"by"` // who made the pass
	Network    string    `json:"network"`
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest"`
	Tasks      int       `json:"tasks"`
	Bad        bool      `json:"bad"` // it was the change; else that is not known
	Why        string    `json:"why"`
	Tries      int       `json:"tries"`
	// Unconfirmed says that it is bad only in that nobody confirmed it.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
	// Machine is the one that it is of; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
}

// ReadUndone reads what was undone on this machine, oldest first. Without a file there is none, and
// no error.
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

// NoteUndone saves that a generation was undone, durably. Of one generation the last time is
// kept, so that noting the same again changes nothing.
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
