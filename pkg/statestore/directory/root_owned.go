package directory

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/statestore/trust"
)

// A directory is trusted like the host's own files if only root and the user who runs the agent can
// change its content. Then its documents need no signature, as the agent's own file needs none.
// Access control lists are not checked.

// ownIDs returns the ids of root and of the caller, and of the user who called sudo.
func ownIDs(caller int, behindSudo string) []uint32 {
	ids := []uint32{0, uint32(caller)}
	if id, err := strconv.ParseUint(os.Getenv(behindSudo), 10, 32); err == nil && caller == 0 {
		ids = append(ids, uint32(id))
	}
	return ids
}

func notOwn(parts []string, why, remedy string) error {
	return fmt.Errorf("%s %s, and anyone who can write there controls this node: %s, or publish with a signature "+
		"(`agent store publish --key`), or take what is there with --insecure-unsigned",
		path.Join(parts...), why, remedy)
}

// policy returns the policy for a published manifest. It accepts an unsigned manifest in a
// directory that only root and the caller can change.
func (d *Directory) policy(l *listing) *trust.Policy {
	if d.trust == nil || d.untrustedOwner(l) != nil {
		return d.trust
	}
	own := *d.trust
	own.Unsigned = true
	return &own
}

// untrustedOwner returns an error if another user may change a listed file, or replace the
// cluster's directory. For a symbolic link, also one in the cluster, it checks the directory of the
// link, every directory on the way to its target, and the target.
func (d *Directory) untrustedOwner(l *listing) error {
	if l.untrusted != nil {
		return l.untrusted
	}
	for _, name := range append(l.links, ".") {
		steps, err := passed(filepath.Join(d.String(), name))
		if err != nil {
			return err
		}
		for i, at := range steps {
			e := seenAs(os.Lstat(at))
			if e.err != nil {
				return explainDir(at, e.err)
			}
			if why := e.untrustedOwner(i < len(steps)-1, at); why != nil {
				return why
			}
		}
	}
	return nil
}

// passed returns every directory and every link that a path leads through, from the root on. It
// follows the links and includes what they lead through.
func passed(name string) (steps []string, err error) {
	here, todo := "/", strings.Split(name, "/")
	steps = []string{here}
	for links := 0; len(todo) > 0; {
		e := todo[0]
		todo = todo[1:]
		if e == "" || e == "." {
			continue
		}
		at := filepath.Join(here, e)
		info, err := os.Lstat(at)
		if err != nil {
			return nil, explainDir(at, err)
		}
		steps = append(steps, at)
		if info.Mode()&fs.ModeSymlink == 0 {
			here = at
			continue
		}
		target, err := os.Readlink(at)
		if links++; err == nil && links > maxLinks {
			err = unix.ELOOP
		}
		if err != nil {
			return nil, explainDir(at, err)
		}
		if filepath.IsAbs(target) {
			here = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	return steps, nil
}

// maxLinks is the maximum number of symbolic links in one path, as in the kernel.
const maxLinks = 40
