package directory

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/problem"
)

// notServed are the errors of a disk, a file server or a FUSE daemon that does not answer.
var notServed = []syscall.Errno{syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, syscall.ENOTCONN}

// explain adds to the error of a failed access what to do. name is below the cluster.
func explain(verb, name string, err error) error {
	// its path is relative to a directory that the reader does not know
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return problem.StoreAccess.Errorf("%s %q: %w: let the agent's user read it", verb, name, err)
	case errors.Is(err, fs.ErrNotExist):
		return problem.StoreMissing.Errorf("%s %q: %w: put it there, or repair the link or the name that leads to it",
			verb, name, err)
	case errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("%s %q: %w: repair the symbolic link", verb, name, err)
	case escapes(err):
		return fmt.Errorf("%s %q: it is a symbolic link that leads out of the store, which is not followed: copy the "+
			"file into the store", verb, name)
	case slices.ContainsFunc(notServed, func(of syscall.Errno) bool { return errors.Is(err, of) }):
		return graph.Transient(fmt.Errorf("%s %q: %w: look at the disk or the file server", verb, name, err))
	}
	return fmt.Errorf("%s %q: %w", verb, name, err)
}

// explainDir does what explain does, for the store's own directory.
func explainDir(dir string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	info, statErr := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return problem.StoreMissing.Errorf("there is no directory %s: make or mount it, or set store to the right "+
			"one: %w", dir, err)
	case errors.Is(err, syscall.ENOTDIR), statErr == nil && !info.IsDir():
		return problem.StoreLocation.Errorf("%s is no directory: set store to the directory that has the cluster's "+
			"directory: %w", dir, err)
	}
	return explain("open", dir, err)
}

// escapes reports whether err is the error of os.Root for a path that leaves its directory. The
// error has no exported name.
func escapes(err error) bool { return err != nil && strings.Contains(err.Error(), "path escapes") }
