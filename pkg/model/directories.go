package model

import (
	"io/fs"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// directories are those that the node must have whatever the network. containerd makes a missing conf directory with mode 0700, where
// DaemonSets that do not run as root cannot write: so it is there first.
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
		dir := tasks.Directory{Meta: nodeDefault(d.why), Path: d.path, Mode: d.mode}
		if d.path == b.view.ConfDir {
			dir.Then = b.watcher()
		}
		b.add(dir)
	}
	return nil
}

// watcher is the restart of the runtime that watches the conf directory. It looks there again only when it starts: where the directory was
// deleted under it, it never sees the confs in the next one, and gives no pod a network.
// https://github.com/containerd/containerd/blob/v1.7.0/pkg/cri/server/cni_conf_syncer.go
func (b *builder) watcher() []graph.Key {
	switch rt := b.in.Facts.Runtime; {
	case rt.CRIDisabled || b.view.DockerKubelet():
	case rt.Name == "containerd":
		return []graph.Key{tasks.Restart(containerdUnit)}
	case rt.Name == "cri-o":
		return []graph.Key{tasks.Restart(crioUnit)}
	}
	return nil
}
