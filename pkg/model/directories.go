package model

import (
	"io/fs"

	"github.com/netwright/netwright/pkg/tasks"
)

// directories adds the CNI directories, which every node needs with any network. It makes the conf
// directory before containerd does: containerd would create it with mode 0700, and DaemonSets that
// do not run as root could not write there.
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
