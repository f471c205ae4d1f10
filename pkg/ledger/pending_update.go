package ledger

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const updateFile = Dir + "/update.json"

// Update is a configuration that the node has seen and not taken yet. It is on the disk so that a
// restart of the agent is no way to take it, and begins no time anew.
type Update struct {
	Generation int64  `json:"generation"`
	Digest     string `json:"digest"`
	// Keys are those that were trusted when it was seen, by their IDs; "": none, or an agent wrote
	// the file that did not note it.
	Keys string `json:"keys,omitempty"`
	// Fingerprint names what it wanted of this node when it was first seen. Another generation that
	// wants the same has waited as long.
	Fingerprint string `json:"print"`
	// Latest names what it wants now, with what the API says by now; "": an agent wrote the file
	// that did not note it.
	Latest string    `json:"latest,omitempty"`
	Class  string    `json:"class"`
	Since  time.Time `json:"since"`         // when it was seen
	Free   time.Time `json:"free,omitzero"` // since when only time holds it back; zero: something else does
	// FreeBoot and FreeUp are Free by a second clock, which nobody sets: see [Clock].
	FreeBoot string        `json:"freeBoot,omitempty"`
	FreeUp   time.Duration `json:"freeUp,omitempty"`
	// LetGo says who let it go: it is on its way, and nothing holds it back any more. "": it waits.
	LetGo string `json:"letGo,omitempty"`
	// Machine is the one that it waits on; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
}

// ReadUpdate returns nil where nothing waits on this machine. A damaged file is said, and is
// nothing: what waits is seen again.
func ReadUpdate(r Reader) (*Update, error) {
	u := new(Update)
	if err := readState(r, updateFile, u); err != nil || u.Digest == "" || host.IsOtherMachine(r, u.Machine) {
		return nil, err
	}
	return u, nil
}

// SaveUpdate replaces it, durably.
func SaveUpdate(ctx context.Context, w Host, u *Update) error {
	u.Machine = host.MachineID(w)
	return saveState(ctx, w, updateFile, u)
}

// DropUpdate forgets it. Where there is none that is no error.
func DropUpdate(h Host) error { return dropState(h, updateFile) }
