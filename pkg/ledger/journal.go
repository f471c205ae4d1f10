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
	"syscall"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/tasks"
)

// JournalFile is the file of the ledger itself. A program that removes all of [Dir] removes it
// last, because the other files are useless without it.
const JournalFile = Dir + "/journal"

// loadJournal reads the lines and the head of the journal. Entries are decoded on demand.
func (l *Ledger) loadJournal(r Reader) {
	data, err := r.ReadFile(JournalFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if names, err := r.ReadDir(revisionDir); err == nil && len(names) > 0 {
			l.lose(JournalFile + " is gone") // a revision is written before the journal that names it
		}
		return
	case isClosed(err):
		l.damage = append(l.damage, JournalFile+" can be read by root only: what is no longer wanted is not listed")
		l.Unreadable = true
		return
	case err == nil && len(data) == 0:
		l.lose(JournalFile + " is empty")
		return
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok && errno != syscall.EISDIR {
		withhold(l, fmt.Errorf("read the ledger: %w: its entries may be intact, so nothing is changed", err))
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

// InTheWay returns the error that writing the journal will cause if something at its path is not a
// file. A dry run reports it.
func InTheWay(v host.View) error {
	there, err := v.Files.Lstat(JournalFile)
	if err != nil || there.Type == hostfs.Regular || there.Type == hostfs.Symlink {
		return nil // the reader reports that it cannot be looked at
	}
	return fmt.Errorf("write the ledger: %w",
		&hostpath.InTheWayError{Path: JournalFile, Is: there.Type, Want: hostfs.Regular})
}

// Head returns the head of the last commit.
func (l *Ledger) Head() Head { return l.head }

// Baked reports whether the ledger was made in an image and this machine has never been right with
// it. Then nothing on this machine depends on its network yet.
func (l *Ledger) Baked() bool { return l.Head().Current > 0 && l.Head().Boot == "" }

// Entries returns all entries. The caller must not change the map. It decodes the entries on the
// first call, because a run without changes does not need them.
func (l *Ledger) Entries() map[graph.Key]Entry {
	if l.entries == nil {
		var err error
		if l.entries, l.dirs, err = replay(l.lines); err != nil {
			l.lose(fmt.Sprintf("%s: %v", JournalFile, err))
		}
		for key, e := range l.entries {
			if l.inherited && e.Drift != nil {
				e.Drift = nil
				l.entries[key] = e
			}
		}
	}
	return l.entries
}

// Unpacked returns the files that archives brought, without decoding the whole journal. They are
// nearly all bytes that the agent has written to the node. Some of the files may have no owner any
// more.
func (l *Ledger) Unpacked() (paths []string) {
	mark := []byte(`"kind":"` + tasks.KindArchive + `"`)
	for _, one := range l.lines {
		if one.kind != linePut || !bytes.Contains(one.value, mark) {
			continue
		}
		var e struct {
			Task *tasks.Recorded `json:"task"`
		}
		if json.Unmarshal(one.value, &e) == nil && e.Task != nil { // Entries reports a damaged line
			paths = append(paths, e.Task.Unpacked()...)
		}
	}
	return paths
}

// Dirs returns the modification times that directories had before the agent put something into
// them.
func (l *Ledger) Dirs() map[string]int64 {
	l.Entries()
	return l.dirs
}

// Commit writes a batch as one record with one fsync. It writes blobs and the revision before the
// record that names them. On an error the ledger on the disk is as before. A batch with
// [Batch.Later] stays in memory until the next Commit or [Ledger.Flush].
func (l *Ledger) Commit(ctx context.Context, w Host, b Batch) error {
	if l.Newer != nil {
		return l.Newer
	}
	l.Entries()
	if err := saveContents(ctx, w, b); err != nil {
		return err
	}
	entries, dirs, head := maps.Clone(l.entries), maps.Clone(l.dirs), b.Head
	b.Head = l.durable(head)
	text, err := apply(b, entries, dirs)
	if err != nil {
		return err
	}
	lines, _, err := readLines(text)
	if err != nil {
		return unwritten(err)
	}
	lines = append(slices.Clip(l.lines), lines...)
	if l.rewrite || len(l.lines) == 0 || len(lines) > len(entries)*3/2+64 {
		if text, err = wholeJournal(entries, dirs, b.Head); err != nil {
			return err
		}
		if lines, _, err = readLines(text); err != nil {
			return unwritten(err)
		}
		if err := write(ctx, w, JournalFile, text); err != nil {
			return unwritten(err)
		}
		text = nil
	} else if text = append(slices.Clip(l.later), text...); !b.Later {
		if err := w.AppendFile(JournalFile, text, 0o600); err != nil {
			l.rewrite = true // a part of it may be on the disk
			return unwritten(err)
		}
		text = nil
	}
	l.lines, l.entries, l.dirs, l.head, l.rewrite, l.later = lines, entries, dirs, head, false, text
	return nil
}

// Flush writes a batch with [Batch.Later] if no other batch has followed it.
func (l *Ledger) Flush(ctx context.Context, w Host) error {
	if len(l.later) == 0 {
		return nil
	}
	return l.Commit(ctx, w, Batch{Head: l.head})
}

// apply makes the lines of a batch, and applies the batch to entries and dirs.
func apply(b Batch, entries map[graph.Key]Entry, dirs map[string]int64) (text []byte, err error) {
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
	return appendLine(text, lineHead, b.Head)
}

// wholeJournal returns the journal without lines that later lines have replaced.
func wholeJournal(entries map[graph.Key]Entry, dirs map[string]int64, head Head) ([]byte, error) {
	b := Batch{Dirs: dirs, Head: head}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		b.Put = append(b.Put, entries[key])
	}
	return apply(b, map[graph.Key]Entry{}, map[string]int64{})
}
