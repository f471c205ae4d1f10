package facts

import (
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Sources are what facts are gathered from.
type Sources struct {
	files    *hostfs.Reader
	kernel   *kernel.Reader
	net      *rtnl.Reader
	firewall *firewall.Reader
	units    *systemd.Reader
	opt      Options
}

// Options says of which host the readers are.
type Options struct {
	Root    string           // "/" (or "") is the running host
	Sandbox bool             // the process is in throw-away namespaces
	Stamps  hostfs.Stamps    // have what programs said of their version; nil: nobody has
	Runtime *cri.StatusCache // asks the runtime beside the looks; nil: each look asks
}

func (o Options) live() bool { return sys.IsLive(o.Root) }

// NewSources gathers from these readers, which the caller closes.
func NewSources(
	f *hostfs.Reader, k *kernel.Reader, n *rtnl.Reader, fw *firewall.Reader, u *systemd.Reader, opt Options,
) *Sources {
	return &Sources{f, k, n, fw, u, opt}
}
