package networks

import "github.com/netwright/netwright/pkg/config/decode"

// CNI is spec.networking.cni. Alone it selects a network of your own. Beside another network it
// only sets the directories.
type CNI struct {
	// BinDir: Names the directory of plugins. The default gives way to the directory that the
	// runtime uses.
	BinDir string `json:"binDir"`
	// ConfDir: Names the directory of confs. The default gives way to the directory that the
	// runtime uses.
	ConfDir string `json:"confDir"`
	// UsesSecondaryIP: true means that pods take secondary addresses of the node's interfaces. Then
	// kubelet needs --node-ip, as a warning says. It counts only for a network of your own.
	UsesSecondaryIP bool `json:"usesSecondaryIP,omitempty"`
}

func (c *CNI) fields() []decode.Field {
	return []decode.Field{
		decode.AbsolutePath("binDir", &c.BinDir),
		decode.AbsolutePath("confDir", &c.ConfDir),
		decode.Bool("usesSecondaryIP", &c.UsesSecondaryIP),
	}
}
