package ledger

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Cached is a ledger that stays in memory between runs, with the stat of its files when it was
// cached. A caller that uses it again must hold the lock of a run.
type Cached struct {
	*Ledger
	files [2]hostfs.FileInfo
}

// Stater returns the stat of files. [hostfs.Files] implements it.
type Stater interface {
	Lstat(path string) (hostfs.FileInfo, error)
}

// Cache caches a ledger. The caller must have held the lock since it read the ledger. It returns an
// error if the ledger is damaged.
func Cache(r Stater, l *Ledger) (*Cached, error) {
	files, err := filesOf(r)
	if err == nil && len(l.damage) > 0 {
		err = errors.New(l.damage[0])
	}
	return &Cached{l, files}, err
}

// Stale reports whether another process wrote the ledger since it was cached. Then it must be read
// again. A journal only grows, or is replaced by a file with another inode while the old one still
// exists. So Stale sees each change, whatever the times of the files are.
func (k *Cached) Stale(r Stater) bool {
	now, err := filesOf(r)
	return err != nil || now != k.files
}

// filesOf returns the stat of the files of the ledger. It leaves out the stamps: without them files
// are read again, and other processes write the same stamps for a file.
func filesOf(r Stater) (files [2]hostfs.FileInfo, err error) {
	for i, name := range [...]string{JournalFile, effectsFile} {
		if files[i], err = r.Lstat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, fmt.Errorf("look at the ledger: %w", err)
		}
	}
	return files, nil
}
