package tasks

import (
	"slices"

	"github.com/netwright/netwright/pkg/graph"
)

// ReadAtBoot returns what the boot reads again of a key that a task changes: files that stay over a
// boot, and units whose links enable or mask them. The agent asks this for changes that are not
// proved harmless.
//
// It uses two columns of the table of kinds: what an undo needs of a key, and whether a key stays
// over a boot. It does not matter which program reads a file, or whether that program was told to
// read it now: a link manager that failed to reload reads the file only at the next boot. Two kinds
// of files are left out. The agent's own lists of sysctls and modules have a task for each line,
// which does the same now. Certificates are left out because an old one may have expired by the
// boot, and because a private key must be only where it is used.
func ReadAtBoot(t Task, key graph.Key) (files, units []string) {
	owner := ownerOf(t)
	if owner != nil && owner.row() == rowCertificateSet {
		return nil, nil
	}
	before := BeforeOf(t, key)
	if !GoneAfterBoot(owner, key) {
		own := func(file string) bool { return file == ownSysctls || file == ownModules }
		files = slices.DeleteFunc(before.Files, own)
	}
	return files, before.Units
}
