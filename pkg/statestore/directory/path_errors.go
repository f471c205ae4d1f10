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

// notServed is what a disk, a file server or a FUSE daemon that is gone answers.
var notServed = []syscall.Errno{syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, syscall.ENOTCONN}

// explain says of a failed access to a name below the cluster what to do next.
func explain(verb, name string, err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok { // relative to a directory that no reader knows
		err = at.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return problem.StoreAccess.Errorf("%s %q: %w: let the agent's user read it", verb, name, err)
	case errors.Is(err, fs.ErrNotExist):
		return problem.StoreMissing.Errorf("%s %q: %w: put it there, or mend the link or the name that leads to it",
			verb, name, err)
	case errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("%s %q: %w: mend the symbolic link", verb, name, err)
	case escapes(err):
		return fmt.Errorf("%s %q: it is a symbolic link that leads out of the store, which is not followed: copy the "+
			"file into the store", verb, name)
	case slices.ContainsFunc(notServed, func(of syscall.Errno) bool { return errors.Is(err, of) }):
		return graph.Transient(fmt.Errorf("%s %q: %w: look at the disk or the file server", verb, name, err))
	}
	return fmt.Errorf("%s %q: %w", verb, name, err)
}

// explainDir does so for the store's own directory.
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

// escapes reports whether os.Root refused to leave its directory. The error has no exported name.
func escapes(err error) bool { return err != nil && strings.Contains(err.Error(), "path escapes") }
