package ledger

import (
	"context"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

const updateFile = Dir + "/update.json"

// Update is a configuration that the node has seen and not taken yet. It is on the disk, so that a
// restart of the agent neither takes it nor restarts its waiting time.
type Update struct {
	Generation int64  `json:"generation"`
	Digest     string `json:"digest"`
	// Keys are the IDs of the keys that were trusted when it was seen; "" for none, or if an agent
	// wrote the file that did not note them.
	Keys string `json:"keys,omitempty"`
	// Fingerprint identifies what the configuration wanted of this node when it was first seen. A
	// later generation that wants the same inherits the waiting time.
	Fingerprint string `json:"print"`
	// Latest identifies what it wants now, with the present answers of the API; "" if an agent
	// wrote the file that did not note it.
	Latest string    `json:"latest,omitempty"`
	Class  string    `json:"class"`
	Since  time.Time `json:"since"`         // when the node saw it
	Free   time.Time `json:"free,omitzero"` // since when only time holds it back; zero while something else does
	// FreeBoot and FreeUp are Free by a second clock, which nobody sets: see [Clock].
	FreeBoot string        `json:"freeBoot,omitempty"`
	FreeUp   time.Duration `json:"freeUp,omitempty"`
	// LetGo names who released it, so that nothing holds it back any more; "" while it waits.
	LetGo string `json:"letGo,omitempty"`
	// Machine is the machine-id of the machine that waits; "" from an earlier release.
	Machine string `json:"machine,omitempty"`
}

// ReadUpdate returns nil if nothing waits on this machine. A damaged file is an error, and counts
// as none: the node sees the configuration again.
func ReadUpdate(r Reader) (*Update, error) {
	u := new(Update)
	if err := readState(r, updateFile, u); err != nil || u.Digest == "" || host.IsOtherMachine(r, u.Machine) {
		return nil, err
	}
	return u, nil
}

// SaveUpdate replaces the file durably.
func SaveUpdate(ctx context.Context, w Host, u *Update) error {
	u.Machine = host.MachineID(w)
	return saveState(ctx, w, updateFile, u)
}

// DropUpdate removes the file. It succeeds if there is none.
func DropUpdate(h Host) error { return dropState(h, updateFile) }
