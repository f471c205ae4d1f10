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

// Dir is where the ledger lives.
const Dir = hostfs.StateDir

// LockFile is held for the length of a pass that may write.
const LockFile = "/run/netwright/lock"

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
	SetAside(path, to string, why error) error
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

// setAside keeps a list under another name that could not be read for the reason why, if there is
// one. The list counts as empty: what is to be added must be, such as that a change was undone.
func setAside(w Host, file string, why error) error {
	if why == nil {
		return nil
	}
	return w.SetAside(file, path.Base(file)+damagedSuffix, why)
}

// damagedSuffix is added to the name of a list that cannot be read.
const damagedSuffix = ".damaged"

func unwritten(err error) error { return fmt.Errorf("write the ledger: %w", err) }

// readState reads a file of the agent's into to, which stays as it is where there is none, or none
// that may be read.
func readState(r Reader, file string, to any) error {
	err := readJSON(r, file, to)
	if err != nil && !host.Unread(err) {
		return fmt.Errorf("read %s: %w: it counts as absent", file, err)
	}
	return err
}

// isMissing says that a file is not there, or not for this user. What root may not read is there.
func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) || isClosed(err) }

// isClosed says that a file is for another user: root's, to whom nothing is.
func isClosed(err error) bool { return errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 }

// readJSON is readState for who says of an error what it means.
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

// writeJSON replaces a file, durably. name is what is in it, for people.
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
