package facts

import (
	"sync"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Sources are the readers from which facts are gathered.
type Sources struct {
	files    *hostfs.Reader
	kernel   *kernel.Reader
	net      *rtnl.Reader
	firewall *firewall.Reader
	units    *systemd.Reader
	opt      Options
	slices   func() []string // systemSlices, which exist as long as systemd runs
}

// Options describe the host of the readers.
type Options struct {
	Root    string           // "/" (or "") is the running host
	Sandbox bool             // the process is in temporary namespaces
	Stamps  hostfs.Stamps    // cached versions of programs; nil: none
	Runtime *cri.StatusCache // asks the runtime in the background; nil: each look asks
}

func (o Options) live() bool { return sys.IsLive(o.Root) }

// NewSources returns Sources with these readers, which the caller must close.
func NewSources(
	f *hostfs.Reader, k *kernel.Reader, n *rtnl.Reader, fw *firewall.Reader, u *systemd.Reader, opt Options,
) *Sources {
	s := &Sources{files: f, kernel: k, net: n, firewall: fw, units: u, opt: opt}
	s.slices = sync.OnceValue(s.systemSlices)
	return s
}
