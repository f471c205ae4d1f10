package ledger

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Dir is where the ledger lives.
const Dir = hostfs.StateDir

const (
	effectsFile = Dir + "/owed.json"
	stampsFile  = Dir + "/stamps"
)

// Reader is what the ledger reads through; [hostfs.Files] is one.
type Reader interface {
	ReadFile(path string) ([]byte, error)
	ReadDir(path string) ([]string, error)
}

// Writer is what the ledger writes through; *hostfs.Writer is one. WriteFile
// replaces the whole file durably, Mkdir makes a directory that is private.
type Writer interface {
	Mkdir(path string, mode fs.FileMode, uid, gid int) error
	WriteFile(ctx context.Context, path string, content []byte, spec hostfs.FileSpec) error
}

// Host is what the journal, with what is kept beside it, is written through; *hostfs.Writer is one.
type Host interface {
	Reader
	Writer
	AppendFile(path string, data []byte, mode fs.FileMode) error
	Batch() *hostfs.Batch
	Remove(path string) error
}

// write makes the ledger's directory first: a task owns it, but pending effects are written before
// any task runs.
func write(ctx context.Context, w Writer, path string, data []byte) error {
	return writeAs(ctx, w, path, data, hostfs.FileSpec{Mode: 0o600})
}

func writeAs(ctx context.Context, w Writer, path string, data []byte, spec hostfs.FileSpec) error {
	if err := w.Mkdir(Dir, 0o700, 0, 0); err != nil {
		return err
	}
	return w.WriteFile(ctx, path, data, spec)
}

func unwritten(err error) error { return fmt.Errorf("write the ledger: %w", err) }
