package networks

import "github.com/netwright/netwright/pkg/config/decode"

// CNI is spec.networking.cni. Alone it selects a network of your own. Beside another network it
// only sets the directories.
type CNI struct {
	BinDir  string `json:"binDir"`  // where plugins go. A default gives way to the directory that the runtime uses
	ConfDir string `json:"confDir"` // where confs go. A default gives way to the directory that the runtime uses
	// UsesSecondaryIP: pods take secondary addresses of the node's interfaces: kubelet needs
	// --node-ip where it is started, as a warning says. Bring your own only
	UsesSecondaryIP bool `json:"usesSecondaryIP,omitempty"`
}

func (c *CNI) fields() []decode.Field {
	return []decode.Field{
		decode.AbsolutePath("binDir", &c.BinDir),
		decode.AbsolutePath("confDir", &c.ConfDir),
		decode.Bool("usesSecondaryIP", &c.UsesSecondaryIP),
	}
}
