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
	case isClosed(err):
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
		&hostpath.InTheWayError{Path: JournalFile, Is: there.Type, Want: hostfs.Regular})
}

// Head returns what the last commit said.
func (l *Ledger) Head() Head { return l.head }

// Baked says that what the ledger knows was put into an image, and that this machine never was up
// with it: nobody on it is in the way of anything.
func (l *Ledger) Baked() bool { return l.Head().Current > 0 && l.Head().Boot == "" }

// Entries returns all entries; the caller must not change the map. Decoding them is put off until
// here, for a run in which nothing changes does not need them.
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
// names them. On an error the ledger on disk is as before. Of a [Batch.Later] nothing is on the
// disk before the next Commit, or [Ledger.Flush].
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
		text = nil
	} else if text = append(slices.Clip(l.later), text...); !b.Later {
		if err := w.AppendFile(JournalFile, text, 0o600); err != nil {
			l.rewrite = true // part of it may be there
			return unwritten(err)
		}
		text = nil
	}
	l.lines, l.entries, l.dirs, l.head, l.rewrite, l.later = lines, entries, dirs, b.Head, false, text
	return nil
}

// Flush writes what a [Batch.Later] left to the next batch, where there was none.
func (l *Ledger) Flush(ctx context.Context, w Host) error {
	if len(l.later) == 0 {
		return nil
	}
	return l.Commit(ctx, w, Batch{Head: l.head})
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
