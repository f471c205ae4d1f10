package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/tasks"
)

// Mode says whose a key is.
type Mode string

// The modes of an entry.
const (
	Owned    Mode = "owned"    // absent before us: prune removes it
	Found    Mode = "found"    // there before us: repaired, never removed
	Retained Mode = "retained" // ours, and stays when nobody wants it: reset alone removes it
)

// Entry is one key that the agent has taken charge of.
type Entry struct {
	Key  graph.Key `json:"key"`
	Mode Mode      `json:"mode"`
	// Task rebuilds the key's task. Keys of paths need none to be removed, so
	// only the task's first key has it; the others name that one in Of.
	Task    *tasks.Recorded `json:"task,omitempty"`
	Of      graph.Key       `json:"of,omitempty"`
	Needs   []graph.Key     `json:"needs,omitempty"`
	Effects []graph.Key     `json:"asks,omitempty"` // effects that its going asks for
	// Baseline is what was there before the first change; nil when we never changed it, or it was
	// absent.
	Baseline *tasks.Baseline `json:"baseline,omitempty"`
	// Last is what the host had when the agent last left it right.
	Last string `json:"last,omitempty"`
	// Pending says that a change was about to be made, and nothing says how it ended.
	Pending bool `json:"pending,omitempty"`
	// Again says of a change that is pending, or failed, that the key was right before, or made so,
	// for this very task: it is a repair.
	Again bool `json:"again,omitempty"`
	// Untried says of such a change that the key was never found right: what the node is like with
	// it, nothing has shown.
	Untried bool `json:"untried,omitempty"`
	// Boot is the boot in which a key that does not outlive one was last made right; see
	// [Head.Boot].
	Boot string `json:"boot,omitempty"`
	// Drift is set once others have changed the key.
	Drift *Drift `json:"drift,omitempty"`
	// Released says that nobody wants the key any more and that it stays; only reset still looks at
	// it.
	Released bool `json:"released,omitempty"`
	// Parent says that it is a directory made on the way to a path.
	Parent   bool `json:"parent,omitempty"`
	Revision int  `json:"revision,omitempty"` // by which it was last recorded
}

// Head ends each batch: what must be known without reading the entries.
type Head struct {
	// Fingerprint names the desired set that the entries are in step with.
	Fingerprint string `json:"print,omitempty"`
	// Clean says that every entry is wanted by that set, or released: there is nothing to prune.
	Clean   bool `json:"settled,omitempty"`
	Current int  `json:"current,omitempty"` // revision
	// Former is the one that the node was at before Current came by its documents, and that a
	// rollback goes to. It may be the higher of the two: a set that was there before has its number
	// from then.
	Former int `json:"former,omitempty"`
	// Boot is that in which all was right last: what is missing of a later one nobody took away.
	Boot string `json:"boot,omitempty"`
	Pin  *Pin   `json:"held,omitempty"`
	// Network is the one that the node has: that of the last set that was right, or that a switch
	// has come to.
	Network Network `json:"network,omitzero"`
	// Machine is the machine-id of the machine that has it: an image's ledger says nothing of the
	// names of those that boot from it.
	Machine string `json:"machine,omitempty"`
	// Lost says that the ledger was begun anew after what an earlier one knew was gone: what was
	// found then may be ours.
	Lost bool `json:"lost,omitempty"`
	// FollowLinks are those of spec.followLinks, a line each: an undo and a reset go by them, which
	// have no documents.
	FollowLinks string `json:"followLinks,omitempty"`
	// Proof is that of the last change that was under a checkpoint and stayed.
	Proof Proof `json:"proof,omitzero"`
}

// Followed are the links of spec.followLinks as they were last in force.
func (h Head) Followed() []string {
	return strings.FieldsFunc(h.FollowLinks, func(r rune) bool { return r == '\n' })
}

// Proof is by what a change was proved, and by what it was not: kinds of probes, with a comma
// between them.
type Proof struct {
	At         time.Time `json:"at"`
	Generation int64     `json:"generation"`
	By         string    `json:"by,omitempty"`
	Missing    string    `json:"unproved,omitempty"`
}

// Network is what must be known of a node's network when it is to leave it.
type Network struct {
	Name string `json:"name"`
	// PodCIDRs are where its pods have their addresses, on all nodes, as spec.podCIDR says them:
	// with a comma between families.
	PodCIDRs string `json:"podCIDRs,omitempty"`
	// Multus says that multus stands before it: its conf goes with the network, unless the next one
	// has it too.
	Multus bool `json:"multus,omitempty"`
	// Declared is what only its documents knew of it, as JSON; package agent writes and reads it.
	Declared string `json:"declared,omitempty"`
	// Prepares is what the node is prepared with for it, or for the network that was handed over to
	// `cni: {}`, as JSON; package agent writes and reads it.
	Prepares string `json:"prepares,omitempty"`
	// Modes are those in which the node has had the network since all that an earlier one left was
	// taken away, with commas: "ipip,iptables". "": a ledger of before they were noted, or a
	// network without any.
	Modes string `json:"modes,omitempty"`
}

// Pin holds a node at a revision until somebody resumes.
type Pin struct {
	Revision int       `json:"revision"`
	By       string    `json:"by"`
	Since    time.Time `json:"since"`
	// Disruptive says that whoever pinned it allowed a disruptive switch of networks on the way.
	Disruptive bool `json:"disruptive,omitempty"`
}

// Batch is what one commit changes.
type Batch struct {
	Put   []Entry
	Drop  []graph.Key
	Dirs  map[string]int64 // directories' times of change before us; the first that is noted stays
	Head  Head
	Blobs []blob.Content
	// Revision, if set, is kept beside the journal, before it.
	Revision *Revision
}

// JournalFile is the ledger itself: whoever removes all of [Dir] removes it last, for without it
// the rest says nothing.
const JournalFile = Dir + "/journal"

// loadJournal reads the journal's lines and its head; entries are decoded when somebody asks.
func (l *Ledger) loadJournal(r Reader) {
	data, err := r.ReadFile(JournalFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if names, err := r.ReadDir(revisionDir); err == nil && len(names) > 0 {
			l.lose(JournalFile + " is gone") // a revision is written before the journal that names it
		}
		return
	case errors.Is(err, fs.ErrPermission):
		l.damage = append(l.damage, JournalFile+" can be read by root only: what is no longer wanted is not listed")
		l.Unreadable = true
		return
	case err == nil && len(data) == 0:
		l.lose(JournalFile + " is empty")
		return
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errno != syscall.EISDIR {
		withhold(l, fmt.Errorf("read the ledger: %w: what it knows may be there, so nothing is changed", err))
		return
	}
	if err == nil {
		l.lines, l.rewrite, err = readLines(data)
	}
	if err == nil {
		err = json.Unmarshal(l.lines[len(l.lines)-1].value, &l.head)
	}
	if err != nil {
		l.lose(fmt.Sprintf("%s: %v", JournalFile, err))
	}
}

// InTheWay is the error that writing the journal is going to be, where something stands in its
// place that is no file. A dry run says it.
func InTheWay(v host.View) error {
	there, err := v.Files.Lstat(JournalFile)
	if err != nil || there.Type == hostfs.Regular || there.Type == hostfs.Symlink {
		return nil // what cannot be looked at is said where it is read
	}
	return fmt.Errorf("write the ledger: %w",
		&hostfs.InTheWayError{Path: JournalFile, Is: there.Type, Want: hostfs.Regular})
}

// withhold has nothing written for as long as what is on the disk is not known.
func withhold(l *Ledger, why error) {
	l.Newer, l.damage = why, append(l.damage, why.Error())
	l.entries, l.dirs = map[graph.Key]Entry{}, map[string]int64{}
}

// lose forgets all that was known: what is desired comes in again as found, so that nothing is
// removed for want of a memory.
func (l *Ledger) lose(why string) {
	l.damage = append(l.damage,
		why+"; what is on the node counts as found: it is kept right, and never removed by prune or reset")
	l.lines, l.head, l.rewrite, l.Lost = nil, Head{Lost: true}, true, true
	l.entries, l.dirs = map[graph.Key]Entry{}, map[string]int64{}
}

// Head returns what the last commit said.
func (l *Ledger) Head() Head { return l.head }

// Entries returns all entries; the caller must not change the map. Decoding them is put off until
// here, for a run in which nothing changes does not need them.
func (l *Ledger) Entries() map[graph.Key]Entry {
	if l.entries == nil {
		var err error
		if l.entries, l.dirs, err = replay(l.lines); err != nil {
			l.lose(fmt.Sprintf("%s: %v", JournalFile, err))
		}
	}
	return l.entries
}

// Unpacked are the files that archives brought, as far as the journal says it without being decoded
// as a whole: nearly all bytes that a node has from us. Some may be nobody's any more.
func (l *Ledger) Unpacked() (paths []string) {
	mark := []byte(`"kind":"` + tasks.KindArchive + `"`)
	for _, one := range l.lines {
		if one.kind != linePut || !bytes.Contains(one.value, mark) {
			continue
		}
		var e struct {
			Task *tasks.Recorded `json:"task"`
		}
		if json.Unmarshal(one.value, &e) == nil && e.Task != nil { // what is damaged is said where it is decoded
			paths = append(paths, e.Task.Unpacked()...)
		}
	}
	return paths
}

// Dirs returns the times of change that directories had before the agent put something into them.
func (l *Ledger) Dirs() map[string]int64 {
	l.Entries()
	return l.dirs
}

// Commit writes a batch: one record, one fsync. Blobs and revision are there before the record that
// names them. On an error the ledger on disk is as before.
func (l *Ledger) Commit(ctx context.Context, w Host, b Batch) error {
	if l.Newer != nil {
		return l.Newer
	}
	l.Entries()
	if err := saveContents(ctx, w, b); err != nil {
		return err
	}
	entries, dirs := maps.Clone(l.entries), maps.Clone(l.dirs)
	text, err := l.apply(b, entries, dirs)
	if err != nil {
		return err
	}
	lines, _, err := readLines(text)
	if err != nil {
		return unwritten(err)
	}
	lines = append(slices.Clip(l.lines), lines...)
	if l.rewrite || len(l.lines) == 0 || len(lines) > len(entries)*3/2+64 {
		if text, err = l.whole(entries, dirs, b.Head); err != nil {
			return err
		}
		if lines, _, err = readLines(text); err != nil {
			return unwritten(err)
		}
		if err := write(ctx, w, JournalFile, text); err != nil {
			return unwritten(err)
		}
	} else if err := w.AppendFile(JournalFile, text, 0o600); err != nil {
		l.rewrite = true // part of it may be there
		return unwritten(err)
	}
	l.lines, l.entries, l.dirs, l.head, l.rewrite = lines, entries, dirs, b.Head, false
	return nil
}

// apply makes the batch's lines, and changes entries and dirs by it.
func (l *Ledger) apply(b Batch, entries map[graph.Key]Entry, dirs map[string]int64) (text []byte, err error) {
	for _, e := range b.Put {
		entries[e.Key] = e
		if text, err = appendLine(text, linePut, e); err != nil {
			return nil, err
		}
	}
	for _, key := range b.Drop {
		delete(entries, key)
		if text, err = appendLine(text, lineDrop, key); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(b.Dirs)) {
		if _, known := dirs[path]; known {
			continue
		}
		dirs[path] = b.Dirs[path]
		if text, err = appendLine(text, lineDir, dirTime{path, b.Dirs[path]}); err != nil {
			return nil, err
		}
	}
	return appendLine(text, lineHead, l.durable(b.Head))
}

// whole is the journal with nothing in it that was replaced since.
func (l *Ledger) whole(entries map[graph.Key]Entry, dirs map[string]int64, head Head) ([]byte, error) {
	b := Batch{Dirs: dirs, Head: head}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		b.Put = append(b.Put, entries[key])
	}
	return l.apply(b, map[graph.Key]Entry{}, map[string]int64{})
}
