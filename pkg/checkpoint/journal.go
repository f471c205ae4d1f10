package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// Journal is everything that an undo needs. It depends on nothing else: not on
// the store, the documents or the ledger.
type Journal struct {
	Version    int           `json:"version"`
	Boot       string        `json:"boot"` // the boot in which the live state below was true
	Process    host.Process  `json:"process"`
	Generation int64         `json:"generation"`
	Digest     string        `json:"digest"` // of the snapshot that is applied
	Window     time.Duration `json:"window"`
	Probes     []Probe       `json:"probes"` // that passed before

	Files   []File         `json:"files"`
	Sysctls []Sysctl       `json:"sysctls"`
	Net     *host.NetState `json:"net,omitempty"`
	Made    host.NetMade   `json:"made"`
	Tables  []Table        `json:"tables,omitempty"`
	Forward []string       `json:"forward,omitempty"` // links for which rules go into chains of others
	Units   []Unit         `json:"units,omitempty"`
	Effects []string       `json:"effects,omitempty"` // asked for by the change, and so again by its undo
	Own     []Own          `json:"own,omitempty"`     // keys of kinds that bring them back themselves

	scaffold

	Memory json.RawMessage `json:"memory,omitempty"` // see Change.Memory; nothing of the host depends on it
}

// File is a path as it was.
type File struct {
	Path    string        `json:"path"`
	Type    host.FileType `json:"type"` // "": absent
	Mode    fs.FileMode   `json:"mode"`
	UID     int           `json:"uid"`
	GID     int           `json:"gid"`
	Content []byte        `json:"content,omitempty"`
	Target  string        `json:"target,omitempty"`
	Kept    string        `json:"kept,omitempty"` // where the file itself is kept, of one that is too large for the journal
}

// Sysctl is a key of the kernel as it was.
type Sysctl struct{ Key, Value string }

// Table is an nft table as it was.
type Table struct {
	Family, Name string
	Was          *host.Table // nil: absent
}

// Unit is a unit as it was.
type Unit struct{ Name, Active, File string }

const journalVersion = 1

// Pending returns the journal of a change that was neither confirmed nor
// undone, nil when there is none. A damaged one cannot be: it is written at once and whole.
func Pending(r Reader) (*Journal, error) {
	data, err := r.ReadFile(JournalFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil // whoever may not read it, may not change anything either
	}
	if err != nil {
		return nil, fmt.Errorf("read the checkpoint: %w", err)
	}
	j := &Journal{}
	if err := json.Unmarshal(data, j); err != nil || j.Version != journalVersion {
		return nil, fmt.Errorf("read the checkpoint %s: version %d: %w: look at the network by hand, then remove the file", JournalFile, j.Version, errors.Join(err, fs.ErrInvalid))
	}
	return j, nil
}

// save writes the journal or the scaffold, durably.
func save(ctx context.Context, h *host.Host, file string, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode the checkpoint: %w", err)
	}
	if err := h.WriteFile(ctx, file, data, private); err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	return nil
}

// bootID names this boot.
func bootID(r Reader) string {
	id, err := r.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
