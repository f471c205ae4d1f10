package verify

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
)

// conf checks that the conf in force, which is the first by name, is the wanted one.
func (c *checker) conf() Result {
	switch {
	case c.want.Conf == nil && c.want.NoPodCIDRs:
		return waiting("the pod CIDRs of this node are not known yet, and the conf has them",
			"`agent --dry-run` says where they come from")
	case c.want.Conf == nil:
		return notApplicable(
			"kubelet itself calls the plugins of " + c.want.Network.Name + ", without a conf in a directory")
	}
	confs, err := c.want.Conf.Effective(c.view)
	switch {
	case graph.IsWait(err):
		return waiting(err.Error(), c.want.ifMissing())
	case err != nil:
		return failed(err.Error(), "")
	}
	c.confs = confs
	var words []string
	for _, conf := range confs {
		words = append(words, fmt.Sprintf("%s (network %q)", conf.File, conf.Name))
	}
	seen := strings.Join(words, ", then ") + ": first in name order"
	if same := c.want.Conf.SameNetwork(c.view, confs[len(confs)-1]); len(same) > 0 {
		seen += "; of the same network, and not read: " + strings.Join(same, ", ")
	}
	return well(seen)
}

// confMTU compares the MTU of the conf with that of the documents, where another program writes the
// conf: the agent cannot set it there.
func (c *checker) confMTU() {
	if c.want.MTU == 0 || len(c.confs) == 0 {
		return
	}
	switch has := c.confs[len(c.confs)-1].MTU(); has {
	case 0: // the plugin finds it
	case c.want.MTU:
		c.note("conf MTU", well(fmt.Sprintf("%d, as in the documents", has)))
	default:
		c.note("conf MTU", failed(fmt.Sprintf("pods get links of %d bytes, and the documents have an mtu of %d", has, c.want.MTU),
			"the agent does not set it: set "+c.want.Network.Name+"'s own configuration in the cluster to the same value"))
	}
}
