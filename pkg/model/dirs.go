package model

import (
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
)

// CNIDirs are the directories of confs and plugins that count on a node: those
// of the documents, or those of its runtime where no document says any. What
// adds pods looks where the tasks of [Build] put things.
func CNIDirs(n *config.Node, f *host.Facts) (confDir string, binDirs []string) {
	v := view(Input{Node: n, Facts: f})
	return v.ConfDir, v.BinDirs
}
