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

// A directory is the host's own when nobody but root and whoever runs the agent can change what is
// in it. Then it vouches for its documents as the agent's own file does, which lies there just so.
// Access lists beyond the mode are not looked at.

// ownIDs are root's and those of the caller, also of who calls through sudo.
func ownIDs(caller int, behindSudo string) []uint32 {
	ids := []uint32{0, uint32(caller)}
	if id, err := strconv.ParseUint(os.Getenv(behindSudo), 10, 32); err == nil && caller == 0 {
		ids = append(ids, uint32(id))
	}
	return ids
}

func notOwn(parts []string, why, remedy string) error {
	return fmt.Errorf("%s %s, and whoever can write there rules this node: %s, or publish with a signature (`agent "+
		"store publish --key`), or take what is there with --insecure-unsigned",
		path.Join(parts...), why, remedy)
}

// policy is what a published manifest is held against. The host's own directory vouches for one
// that nobody signed.
func (d *Directory) policy(l *listing) *trust.Policy {
	if d.trust == nil || d.untrustedOwner(l) != nil {
		return d.trust
	}
	own := *d.trust
	own.Unsigned = true
	return &own
}

// untrustedOwner says who else may change what was listed, or put another directory in the place of
// the cluster's; nil: nobody. A symbolic link counts with where it lies, with all that it leads
// through and with where it ends.
func (d *Directory) untrustedOwner(l *listing) error {
	if l.untrusted != nil {
		return l.untrusted
	}
	steps, err := passed(d.String())
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
	return nil
}

// passed lists what a path leads through, from the root on: each directory and each link, those too
// that a link leads through.
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

// maxLinks is how many symlinks one path may have, as in the kernel.
const maxLinks = 40
