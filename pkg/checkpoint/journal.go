package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostfs/head"
)

// Journal is everything that an undo needs.
type Journal struct {
	Version    int           `json:"version"`
	Boot       string        `json:"boot"`              // the boot in which the live state below was true
	Machine    string        `json:"machine,omitempty"` // whose machine-id; "": an agent wrote it that did not note it
	Process    host.Process  `json:"process"`
	Taken      time.Duration `json:"taken,omitempty"` // when, as [host.Uptime] counts; 0: by an agent that did not say
	Generation int64         `json:"generation"`
	Digest     string        `json:"digest"` // of the snapshot that is applied
	Window     time.Duration `json:"window"`
	probe.Evidence
	undo.Log

	// the change is made, and is to be confirmed; an agent that does not know of it undoes
	Awaits *Awaits `json:"awaits,omitempty"`
	// Watched says that the change was good, and is undone for what a hook did later: see [Watch].
	Watched bool `json:"watched,omitempty"`
	// WatchUS is until when an earlier change was to be watched, CLOCK_MONOTONIC of Boot in
	// microseconds; 0: none was.
	WatchUS uint64 `json:"watchUS,omitempty"`

	scaffold
	left []string // what an undo could not bring back

	Before json.RawMessage `json:"memory,omitempty"` // see Change.Before; nothing of the host depends on it
}

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

// Pending returns the journal of a change that was neither confirmed nor undone, nil when there is
// none. The error is a [DamagedError], or that it cannot be read now: then it may be there, whole.
func Pending(r host.FileReader) (*Journal, error) {
	return readJournal(func(j *Journal) error { return head.ReadAll(r, JournalFile, j) })
}

// pendingHead is [Pending] for who undoes nothing: of the journal it has what comes before its
// probes.
func pendingHead(r head.Reader) (*Journal, error) {
	return readJournal(func(j *Journal) error { return head.Read(r, JournalFile, "probes", "}", j) })
}

func readJournal(read func(*Journal) error) (*Journal, error) {
	j := &Journal{}
	err := read(j)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case host.Unread(err):
		return nil, fmt.Errorf("look whether a change is to be taken back: %w", err)
	case err != nil:
		return nil, &DamagedError{err}
	}
	if j.Version != journalVersion {
		return nil, &DamagedError{fmt.Errorf("%s: version %d, and this program reads version %d: %w", JournalFile,
			j.Version, journalVersion, fs.ErrInvalid)}
	}
	return j, nil
}

// encode writes the undo down. Its error says that it could not be read back. Contents of files are
// bounded where they are captured; what is left are routes and the like, in their hundreds of
// thousands.
func (j *Journal) encode() ([]byte, error) {
	data, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encode the checkpoint: %w", err)
	}
	if len(data) <= hostfs.MaxReadFile {
		return data, nil
	}
	routes := 0
	if j.Net != nil {
		routes = len(j.Net.Routes)
	}
	return nil, fmt.Errorf("its undo would be %d MiB (%d files, %d routes, %d sysctls), and at most %d can be read back: "+
		"change less at once, or have fewer routes in the kernel",
		len(data)>>20, len(j.Files), routes, len(j.Sysctls), hostfs.MaxReadFile>>20)
}

// write writes the journal and reads it back, with all that it names: what cannot be taken back is
// not begun. That the undo understands it, [rehearse] shows.
func (j *Journal) write(ctx context.Context, h *host.Host) error {
	data, err := j.encode()
	if err != nil {
		return err
	}
	if err := h.Files.WriteFile(ctx, JournalFile, data, hostfs.FileSpec{Mode: 0o600}); err != nil {
		return fmt.Errorf("write the checkpoint: %w", err)
	}
	if have, err := h.Live.Files.ReadFile(JournalFile); err != nil || !bytes.Equal(have, data) {
		return errors.Join(fmt.Errorf("read the checkpoint back: %s does not hold what was written", JournalFile), err)
	}
	for _, kept := range j.Copies {
		if info, err := h.Live.Files.Lstat(kept); err != nil || info.Type != hostfs.Regular {
			return errors.Join(fmt.Errorf("read the checkpoint back: %s is not kept", kept), err)
		}
	}
	return nil
}

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
	// it and takes it away again. BootLink likewise, for what makes the boot want it. HadWants says
	// that the directory of that was there, and stays; earlier releases took it away.
	BootUnit bool `json:"bootUnit"`
	BootLink bool `json:"bootLink"`
	HadWants bool `json:"hadWants,omitempty"`
	// Copies are files in the checkpoint's own directory: see [undo.File].
	Copies []string `json:"kept,omitempty"`

	cachesCopy bool // the change was good: see [Settings.CachesCopy]
}

// UnderWay says that a change of this node is under way, or awaits its confirmation.
func UnderWay(r hostfs.Files) bool {
	_, err := r.Lstat(JournalFile)
	return !errors.Is(err, host.ErrNotExist)
}

// compare asks after the change what passed before it.
func (j *Journal) compare(h *host.Host, s Settings) *probe.Comparison {
	return &probe.Comparison{Node: s.prober(h), Knock: s.Inbound, Window: j.Window, Evidence: &j.Evidence}
}

// name is that of the configuration.
func (j *Journal) name() string { return generation.Name(j.Generation, j.Digest) }
