package model

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// userFiles installs the fileAssets of the documents.
func (b *builder) userFiles() error {
	var last document.Origin
	var from string // the last origin as text: ten thousand files may share one origin
	b.tasks = slices.Grow(b.tasks, len(b.in.Node.FileAssets)+64)
	for i := range b.in.Node.FileAssets {
		f := &b.in.Node.FileAssets[i]
		if f.Origin != last {
			last, from = f.Origin, f.Origin.String()
		}
		why := whyFiles
		if f.Name != "" {
			why += " " + f.Name
		}
		meta := tasks.Meta{From: from, Why: why, Secret: f.Secret, Refused: f.Refused}
		// The effect runs now, under a checkpoint, and not at the next boot, when nothing probes
		// the node.
		switch {
		case strings.HasPrefix(f.Path, "/etc/systemd/network/"):
			meta.Effects = []graph.Key{tasks.Reload(networkd)}
		case strings.HasPrefix(f.Path, "/etc/NetworkManager/conf.d/"):
			meta.Effects = []graph.Key{tasks.Reload(networkManager)}
		}
		b.add(tasks.File{Meta: meta,
			Path: f.Path, Stored: &f.Content, Mode: f.Mode, Owner: f.Owner})
	}
	return nil
}

// These are the reasons of tasks that the documents ask for directly, not the network.
const (
	whyFiles   = "fileAssets"
	whyHooks   = "hooks"
	whySysctls = "sysctlParameters"
)

// Asked reports whether the documents ask for a task directly: a file, a hook or a sysctl.
func Asked(m tasks.Meta) bool {
	return m.Why == whyHooks || m.Why == whySysctls || m.Why == whyFiles || strings.HasPrefix(m.Why, whyFiles+" ")
}
