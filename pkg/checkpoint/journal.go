package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

// Journal is everything that an undo needs. It depends on nothing else: not on
// the store, the documents or the ledger.
type Journal struct {
	Version    int           `json:"version"`
	Boot       string        `json:"boot"` // the boot in which the live state below was true
	Process    host.Process  `json:"process"`
	Taken      time.Duration `json:"taken,omitempty"` // when, as [host.Uptime] counts; 0: by an agent that did not say
	Generation int64         `json:"generation"`
	Digest     string        `json:"digest"` // of the snapshot that is applied
	Window     time.Duration `json:"window"`
	Probes     []Probe       `json:"probes"`             // that passed before
	Unproved   []string      `json:"unproved,omitempty"` // see [Proof]
	Traffic    []string      `json:"traffic,omitempty"`  // checks of the proof with pods that passed before
	// Inbound are the peers that reached a port before, by the port: "tcp4:22".
	Inbound map[string][]string `json:"inbound,omitempty"`

	// Links are the symbolic links that may be followed on the way to files (spec.followLinks).
	Links   []string       `json:"links,omitempty"`
	Files   []File         `json:"files"`
	Sysctls []Sysctl       `json:"sysctls"`
	Net     *rtnl.NetState `json:"net,omitempty"`
	Made    rtnl.NetMade   `json:"made"`
	Tables  []Table        `json:"tables,omitempty"`
	Forward []string       `json:"forward,omitempty"` // links for which rules go into chains of others
	Units   []Unit         `json:"units,omitempty"`
	Effects []string       `json:"effects,omitempty"` // asked for by the change, and so again by its undo
	Own     []Own          `json:"own,omitempty"`     // keys of kinds that bring them back themselves
	Around  packed         `json:"around,omitempty"`  // what programs of the user's may change; nil: none run

	// the change is made, and is to be confirmed; an agent that does not know of it undoes
	Awaits *Awaits `json:"awaits,omitempty"`
	// Watched says that the change was good, and is undone for what a hook did later: see [Watch].
	Watched bool `json:"watched,omitempty"`
	// WatchUS is until when an earlier change was to be watched, CLOCK_MONOTONIC of Boot in
	// microseconds; 0: none was.
	WatchUS uint64 `json:"watchUS,omitempty"`
	// Stated says that the probes are the user's own: nobody knows what else has to answer after
	// the change.
	Stated bool `json:"stated,omitempty"`

	scaffold
	programs bool     // the change starts or stops some of which nobody knows what they do
	contents int64    // bytes of Files
	left     []string // what an undo could not bring back of Around
	silent   []Probe  // that did not pass before
	before   ledBefore
	ownPods  bool  // see [Change.OwnPods]
	unasked  error // why no peer could be asked to knock

	Memory json.RawMessage `json:"memory,omitempty"` // see Change.Memory; nothing of the host depends on it
}

// File is a path as it was.
type File struct {
	Path    string          `json:"path"`
	Type    hostfs.FileType `json:"type"` // "": absent
	Mode    fs.FileMode     `json:"mode"`
	UID     int             `json:"uid"`
	GID     int             `json:"gid"`
	Content []byte          `json:"content,omitempty"`
	Target  string          `json:"target,omitempty"`
	// where the file itself is kept, of one that is too large for the journal
	Kept string `json:"kept,omitempty"`
}

// Sysctl is a key of the kernel as it was.
type Sysctl struct{ Key, Value string }

// Table is an nft table as it was.
type Table struct {
	Family, Name string
	Was          *firewall.Table // nil: absent
}

// Unit is a unit as it was.
type Unit struct{ Name, Active, File string }

const journalVersion = 1

// DamagedError says that an undo is due and cannot be read, and what to do. It is written at once
// and whole, and read back: somebody else did something to it.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("a change of this node's network was not confirmed, and what would take it back cannot be "+
		"read: %v. Nothing is changed until that is settled: "+
		"look at the network by hand (ip address, ip route, nft list ruleset, networkctl), mend what is wrong, then "+
		"`mv %s %s.damaged`, and the next pass goes on",
		e.Err, JournalFile, JournalFile)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Pending returns the journal of a change that was neither confirmed nor
// undone, nil when there is none. The error is a [DamagedError].
func Pending(r Reader) (*Journal, error) {
	data, err := r.ReadFile(JournalFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil // whoever may not read it, may not change anything either
	}
	if err != nil {
		return nil, &DamagedError{err}
	}
	j := &Journal{}
	if err := json.Unmarshal(data, j); err != nil {
		return nil, &DamagedError{fmt.Errorf("%s: %w", JournalFile, err)}
	}
	if j.Version != journalVersion {
		return nil, &DamagedError{fmt.Errorf("%s: version %d, and this program reads version %d: %w", JournalFile,
			j.Version, journalVersion, fs.ErrInvalid)}
	}
	return j, nil
}

// fits says whether the undo, written down, is one that can be read back. Contents of files are
// bounded where they are captured; what is left are routes and the like, in their hundreds of
// thousands.
func (j *Journal) fits() error {
	data, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("encode the checkpoint: %w", err)
	}
	if len(data) <= hostfs.MaxReadFile {
		return nil
	}
	routes := 0
	if j.Net != nil {
		routes = len(j.Net.Routes)
	}
	return fmt.Errorf("its undo would be %d MiB (%d files, %d routes, %d sysctls), and at most %d can be read back: "+
		"change less at once, or have fewer routes in the kernel",
		len(data)>>20, len(j.Files), routes, len(j.Sysctls), hostfs.MaxReadFile>>20)
}

// write writes the journal and reads it back, with all that it names: what cannot be taken back is
// not begun.
func (j *Journal) write(ctx context.Context, h *host.Host) error {
	if err := j.fits(); err != nil {
		return err
	}
	if err := save(ctx, h, JournalFile, j); err != nil {
		return err
	}
	if back, err := Pending(h.Live.Files); err != nil || back == nil {
		return errors.Join(fmt.Errorf("read the checkpoint back: %s says nothing", JournalFile), err)
	}
	have, err := h.Live.Files.ReadFile(JournalFile)
	if want, failed := json.Marshal(j); err != nil || failed != nil || !bytes.Equal(have, want) {
		return errors.Join(fmt.Errorf("read the checkpoint back: %s does not hold what was written", JournalFile), err,
			failed)
	}
	for _, kept := range j.Kept {
		if info, err := h.Live.Files.Lstat(kept); err != nil || info.Type != hostfs.Regular {
			return errors.Join(fmt.Errorf("read the checkpoint back: %s is not kept", kept), err)
		}
	}
	return nil
}

// save writes the journal or the scaffold, durably.
func save(ctx context.Context, h *host.Host, file string, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode the checkpoint: %w", err)
	}
	if err := h.Files.WriteFile(ctx, file, data, private); err != nil {
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

// packed are surroundings as a journal has them: the rules of a node with many Services are alike.
type packed []byte

// Awaits says of a journal that its change is made, and that the probes passed, and that it stays
// only if somebody confirms it in time: a router's commit confirmed.
type Awaits struct {
	By  string        `json:"by"`  // who made the change
	For time.Duration `json:"for"` // how long it may be confirmed, in nanoseconds
	Up  time.Duration `json:"up"`  // the end of the change, as [host.Uptime] counts
	At  time.Time     `json:"at"`  // likewise, by the clock on the wall: for people
	// Set is the revision that the node is at once it is confirmed; 0: none.
	Set int `json:"set,omitempty"`
	// New says that this revision was written for it, and goes with an undo.
	New bool `json:"new,omitempty"`
	// WatchUS is until when it is watched once it is confirmed: as [Journal.WatchUS] counts.
	WatchUS uint64 `json:"watchUS,omitempty"`
}

// scaffold is what a checkpoint puts on the host besides its own directory.
type scaffold struct {
	// BootUnit says that the unit for the next boot was not shipped with the host: the agent wrote
	// it and takes it away again. BootLink likewise, for what makes the boot want it.
	BootUnit bool `json:"bootUnit"`
	BootLink bool `json:"bootLink"`
	// Kept are files in the checkpoint's own directory: see [File.Kept].
	Kept []string `json:"kept,omitempty"`

	keepsCopy bool // the change was good: see [Settings.KeepsCopy]
}

// Own is a key that its own kind brings back, with all that the task is made again from: an undo
// depends on no ledger.
type Own struct {
	Key      graph.Key      `json:"key"`
	Task     tasks.Recorded `json:"task"`
	Contents [][]byte       `json:"contents,omitempty"` // of the task, in the order of its digests
	Was      tasks.Baseline `json:"was"`
	Content  []byte         `json:"content,omitempty"` // see [tasks.Baseline.Content]
}

// ledBefore are the routes of the main table by which packets left before the change, and those of
// their next hops that answered.
type ledBefore struct {
	routes   []rtnl.Route
	answered []Probe
	pods     []netip.Prefix // of which a route that is new takes packets from nobody but a default route
	named    []netip.Prefix // to which the change names a route
}
