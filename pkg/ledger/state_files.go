package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// Dir is the directory of the ledger.
const Dir = hostfs.StateDir

// LockFile is locked during a pass that may write.
const LockFile = "/run/netwright/lock"

const (
	effectsFile = Dir + "/owed.json"
	stampsFile  = Dir + "/stamps"
)

// Reader reads the files of the ledger. [hostfs.Files] implements it.
type Reader interface {
	ReadFile(path string) ([]byte, error)
	ReadDir(path string) ([]string, error)
}

// Writer writes the files of the ledger. *hostfs.Writer implements it. WriteFile replaces a file
// durably. Mkdir creates a directory.
type Writer interface {
	Mkdir(path string, mode fs.FileMode, uid, gid int) error
	WriteFile(ctx context.Context, path string, content []byte, spec hostfs.FileSpec) error
}

// Host writes the journal and the files that belong to it. *hostfs.Writer implements it.
type Host interface {
	Reader
	Writer
	AppendFile(path string, data []byte, mode fs.FileMode) error
	Batch() *hostfs.Batch
	Remove(path string) error
	SetAside(path, to string, why error) error
}

// write creates the ledger's directory first. A task owns this directory, but pending effects are
// written before any task runs.
func write(ctx context.Context, w Writer, path string, data []byte) error {
	return writeAs(ctx, w, path, data, hostfs.FileSpec{Mode: 0o600})
}

func writeAs(ctx context.Context, w Writer, path string, data []byte, spec hostfs.FileSpec) error {
	if err := w.Mkdir(Dir, 0o700, 0, 0); err != nil {
		return err
	}
	return w.WriteFile(ctx, path, data, spec)
}

// setAside renames a list that could not be read, if why is not nil. The list then counts as empty,
// because a new entry must be saved in any case, for example that a change was undone.
func setAside(w Host, file string, why error) error {
	if why == nil {
		return nil
	}
	return w.SetAside(file, path.Base(file)+damagedSuffix, why)
}

// damagedSuffix is added to the name of a list that could not be read.
const damagedSuffix = ".damaged"

func unwritten(err error) error { return fmt.Errorf("write the ledger: %w", err) }

// readState reads a JSON file of the agent into to. It does not change to if the file does not
// exist or this user may not read it.
func readState(r Reader, file string, to any) error {
	err := readJSON(r, file, to)
	if err != nil && !host.Unread(err) {
		return fmt.Errorf("read %s: %w: it counts as absent", file, err)
	}
	return err
}

// isMissing reports whether a file does not exist or another user owns it. For root, a file that
// cannot be read exists.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) || isClosed(err) }

// isClosed reports whether this user may not read a file. For root it is always false.
func isClosed(err error) bool { return errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 }

// readJSON does what readState does, for callers that explain the error themselves.
func readJSON(r Reader, file string, to any) error {
	data, err := r.ReadFile(file)
	if isMissing(err) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	return err
}

// writeJSON replaces a file durably. name describes its content, for people.
func writeJSON(ctx context.Context, w Writer, file, name string, what any) error {
	data, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := write(ctx, w, file, data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func saveState(ctx context.Context, w Writer, file string, what any) error {
	data, err := json.MarshalIndent(what, "", " ")
	if err == nil {
		err = write(ctx, w, file, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

func dropState(h Host, file string) error {
	if _, err := h.ReadFile(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := h.Remove(file); err != nil {
		return fmt.Errorf("remove %s: %w", file, err)
	}
	return nil
}
