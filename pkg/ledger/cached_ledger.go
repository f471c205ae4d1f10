package ledger

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Cached is a ledger that stays in memory from one run to the next, with how its files were when it
// was as they are. Whoever takes it again has the lock of a run.
type Cached struct {
	*Ledger
	files [2]hostfs.FileInfo
}

// Stater says what files are like; [hostfs.Files] is one.
type Stater interface {
	Lstat(path string) (hostfs.FileInfo, error)
}

// Cache caches a ledger that is as its files are. The caller has had the lock since it was read.
func Cache(r Stater, l *Ledger) (*Cached, error) {
	files, err := filesOf(r)
	if err == nil && len(l.damage) > 0 {
		err = errors.New(l.damage[0])
	}
	return &Cached{l, files}, err
}

// Stale says that somebody wrote the ledger since it was cached: it is to be read anew. A journal
// only grows, or is replaced while the old one has its inode: neither goes unseen, whatever its
// time.
func (k *Cached) Stale(r Stater) bool {
	now, err := filesOf(r)
	return err != nil || now != k.files
}

// filesOf says how the files are that a ledger is read from. Stamps are none: those that are gone
// cost time, and those that others wrote say nothing else of a file.
func filesOf(r Stater) (files [2]hostfs.FileInfo, err error) {
	for i, name := range [...]string{JournalFile, effectsFile} {
		if files[i], err = r.Lstat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, fmt.Errorf("look at the ledger: %w", err)
		}
	}
	return files, nil
}
