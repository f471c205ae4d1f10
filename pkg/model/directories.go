package model

import (
	"io/fs"

	"github.com/netwright/netwright/pkg/tasks"
)

// directories are those that the node must have whatever the network. containerd makes a missing
// conf directory with mode 0700, where DaemonSets that do not run as root cannot write: so it is
// there first.
func (b *builder) directories() error {
	for _, d := range []struct {
		path string
		mode fs.FileMode
		why  string
	}{
		{"/etc/netwright", 0o755, "our settings"},
		{"/var/lib/netwright", 0o700, "the ledger"},
		{b.view.ConfDir, 0o755, "CNI confs"},
		{b.view.BinDir, 0o755, "CNI plugins"},
	} {
		b.add(tasks.Directory{Meta: nodeDefault(d.why), Path: d.path, Mode: d.mode})
	}
	return nil
}
