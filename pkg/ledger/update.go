package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
}

// ReadUpdate returns nil where nothing waits. A damaged file is said, and is nothing: what waits is
// seen again.
func ReadUpdate(r Reader) (*Update, error) {
	u := new(Update)
	if err := readState(r, updateFile, u); err != nil || u.Digest == "" {
		return nil, err
	}
	return u, nil
}

// SaveUpdate replaces it, durably.
func SaveUpdate(ctx context.Context, w Writer, u *Update) error {
	return saveState(ctx, w, updateFile, u)
}

// DropUpdate forgets it. Where there is none that is no error.
func DropUpdate(h Host) error { return dropState(h, updateFile) }

// readState reads a file of the agent's into to, which stays as it is where there is none, or none
// that may be read.
func readState(r Reader, file string, to any) error {
	err := readJSON(r, file, to)
	if err != nil && !host.Unread(err) {
		return fmt.Errorf("read %s: %w: it counts as absent", file, err)
	}
	return err
}

// isMissing says that a file is not there, or not for this user. What root may not read is there.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0
}

// readJSON is readState for who says of an error what it means.
func readJSON(r Reader, file string, to any) error {
	data, err := r.ReadFile(file)
	if isMissing(err) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	return err
}

// writeJSON replaces a file, durably. name is what is in it, for people.
func writeJSON(ctx context.Context, w Writer, file, name string, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := write(ctx, w, file, data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func saveState(ctx context.Context, w Writer, file string, what any) error {
	data, err := json.MarshalIndent(what, "", " ")
	if err == nil {
		err = write(ctx, w, file, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func dropState(h Host, file string) error {
	if _, err := h.ReadFile(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := h.Remove(file); err != nil {
		return fmt.Errorf("remove %s: %w", file, err)
	}
	return nil
}
