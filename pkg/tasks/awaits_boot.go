package tasks

import (
	"slices"

	"github.com/netwright/netwright/pkg/graph"
)

// AwaitsBoot is what of a key that a task changes is read again when the node boots: files that
// outlive a boot, and the links that enable and mask units. The agent asks it of changes that
// nobody proved harmless.
//
// It goes by two columns of the table of kinds: what an undo needs of a key, and what outlives a
// boot. Who reads a file is not asked, nor whether a reader was told to look now: a link manager
// that failed once acts at the next boot only. Two things are left out: our own lists of sysctls
// and modules, each of whose lines is a task that does the same now, and certificates, for an old
// one may have ended by the boot, and a key lies nowhere but where it is used.
func AwaitsBoot(t Task, key graph.Key) (files, units []string) {
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
