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
	"github.com/netwright/netwright/pkg/plural"
)

// Journal has everything that an undo needs.
type Journal struct {
	Version int          `json:"version"`
	Boot    string       `json:"boot"`              // the boot of the kernel state below
	Machine string       `json:"machine,omitempty"` // machine-id; "" if an agent wrote it that did not note it
	Process host.Process `json:"process"`
	// time of the checkpoint by [host.Uptime]; 0 from an agent that did not note it
	Taken      time.Duration `json:"taken,omitempty"`
	Generation int64         `json:"generation"`
	Digest     string        `json:"digest"` // of the snapshot that is applied
	Window     time.Duration `json:"window"`
	probe.Evidence
	undo.Log

	// the change is made, and must be confirmed; an agent that does not know this field undoes it
	Awaits *Awaits `json:"awaits,omitempty"`
	// Watched means that the change was good, and is undone for what a hook did later: see [Watch].
	Watched bool `json:"watched,omitempty"`
	// WatchUS is when the watch of an earlier change was to end, by CLOCK_MONOTONIC of Boot in
	// microseconds; 0 if there was none.
	WatchUS uint64 `json:"watchUS,omitempty"`

	scaffold
	left []string // what an undo could not restore

	Before json.RawMessage `json:"memory,omitempty"` // see Change.Before; the undo of the host does not need it
}

const journalVersion = 1

// DamagedError is the error for a journal that must be undone and cannot be decoded, with what to
// do. The agent writes a journal in one step and reads it back, so another program has changed it.
type DamagedError struct{ Err error }

func (e *DamagedError) Error() string {
	return fmt.Sprintf("a change of this node's network was not confirmed, and the journal of its undo "+
		"cannot be read: %v. The agent changes nothing until you do this: look at the network (ip address, "+
		"ip route, nft list ruleset, networkctl), correct by hand what is wrong, then `mv %s %s.damaged`; "+
		"the next pass goes on",
		e.Err, JournalFile, JournalFile)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Pending returns the journal of a change that was neither confirmed nor undone, or nil. The error
// is a [DamagedError], or that the file cannot be read now. In the second case an intact journal
// may exist.
func Pending(r host.FileReader) (*Journal, error) {
	return readJournal(func(j *Journal) error { return head.ReadAll(r, JournalFile, j) })
}

// pendingHead does what [Pending] does for callers that do not undo. It only reads the fields
// before the probes.
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
		return nil, fmt.Errorf("check whether a change must be undone: %w", err)
	case err != nil:
		return nil, &DamagedError{err}
	}
	if j.Version != journalVersion {
		return nil, &DamagedError{fmt.Errorf("%s: version %d, and this program reads version %d: %w", JournalFile,
			j.Version, journalVersion, fs.ErrInvalid)}
	}
	return j, nil
}

// encode returns the journal in JSON. It returns an error if the journal is too large to be read
// back. The contents of files are limited when they are captured. So the cause is something else,
// such as hundreds of thousands of routes.
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
	return nil, fmt.Errorf("its undo would be %d MiB (%s, %s, %s), and at most %d can be read back: "+
		"change less at once, or have fewer routes in the kernel",
		len(data)>>20, plural.Of(len(j.Files), "file"), plural.Of(routes, "route"),
		plural.Of(len(j.Sysctls), "sysctl"), hostfs.MaxReadFile>>20)
}

// write writes the journal and reads it back, and checks the files that it names. A change that
// cannot be undone must not begin. [rehearse] checks that the undo can decode the journal.
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
			return errors.Join(fmt.Errorf("read the checkpoint back: %s is not there", kept), err)
		}
	}
	return nil
}

// Awaits is in the journal of a change that is made, whose probes passed, and that stays only if
// somebody confirms it in time. Routers call this "commit confirmed".
type Awaits struct {
	By  string        `json:"by"`  // who made the change
	For time.Duration `json:"for"` // time for the confirmation, in nanoseconds
	Up  time.Duration `json:"up"`  // end of the change by [host.Uptime]
	At  time.Time     `json:"at"`  // end of the change by the wall clock, for people
	// Set is the revision to which the node is pinned after the confirmation; 0 for none.
	Set int `json:"set,omitempty"`
	// New means that this revision was written for the change, and is removed by an undo.
	New bool `json:"new,omitempty"`
	// WatchUS is until when the change is watched after its confirmation, in the units of
	// [Journal.WatchUS].
	WatchUS uint64 `json:"watchUS,omitempty"`
}

// scaffold is what a checkpoint creates on the host outside of its own directory.
type scaffold struct {
	// BootUnit means that the host had no unit for the next boot, so that the agent wrote it and
	// removes it again. BootLink means the same for the link that makes the boot start it. HadWants
	// means that the directory of the link existed, and stays. Earlier releases removed it.
	BootUnit bool `json:"bootUnit"`
	BootLink bool `json:"bootLink"`
	HadWants bool `json:"hadWants,omitempty"`
	// Copies are files in the checkpoint's own directory: see [undo.File].
	Copies []string `json:"kept,omitempty"`

	cachesCopy bool // the change was good: see [Settings.CachesCopy]
}

// UnderWay reports whether a change of this node is in progress or awaits its confirmation.
func UnderWay(r hostfs.Files) bool {
	_, err := r.Lstat(JournalFile)
	return !errors.Is(err, host.ErrNotExist)
}

// compare returns the comparison that checks after the change what passed before it.
func (j *Journal) compare(h *host.Host, s Settings) *probe.Comparison {
	return &probe.Comparison{Node: s.prober(h), Knock: s.Inbound, Window: j.Window, Evidence: &j.Evidence}
}

// name returns the name of the configuration.
func (j *Journal) name() string { return generation.Name(j.Generation, j.Digest) }
