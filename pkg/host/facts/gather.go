package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Gather looks once at what is true for a whole pass. It writes nothing,
// starts nobody and runs no program. What a node may well lack is left empty; what is there and
// cannot be read is listed in [Facts.Problems].
func Gather(ctx context.Context, l *Sources) (*Facts, error) {
	facts := &Facts{Arch: architecture(l), Hostname: hostname(l)}
	g := gatherer{Sources: l, facts: facts, mu: &sync.Mutex{}}
	g.osRelease()
	facts.Contain = Container(l.kernel, l.opt.Sandbox)
	// What files say is read, and the runtime asked, while the kernel is asked. That goes on here:
	// a thread says in which network namespace.
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.facts.Peers = Peers(g.files)
		g.services()
		g.lateSysctls()
		g.resolvConf()
		g.kubelet()
		facts.Runtime = g.runtime(ctx)
	}()
	if facts.Kernel = kernelFacts(l.kernel, facts.Contain); !l.opt.live() {
		facts.Kernel = imageKernel(l)
	} else if facts.Contain == "" {
		facts.Cloud = cloudOf(l.kernel)
	}
	facts.Cgroup = cgroupVersion(l.kernel)
	facts.Init = initSystem(l)
	g.forward(ctx)
	err := g.links(ctx)
	<-done
	if err != nil {
		return nil, fmt.Errorf("gather the host's facts: %w", err)
	}
	g.symbolicLinks()
	slices.Sort(facts.Problems) // they were met at the same time
	return facts, nil
}

// GatherBrief looks for where the machine runs and how its kubelet does, and asks nobody.
func GatherBrief(l *Sources, facts *Facts) {
	g := gatherer{Sources: l, facts: facts, mu: &sync.Mutex{}}
	if facts.Contain = Container(l.kernel, l.opt.Sandbox); l.opt.live() && facts.Contain == "" {
		facts.Cloud = cloudOf(l.kernel)
	}
	g.kubelet()
}

// symbolicLinks looks for links on the way to what networks and their runtime have on the disk.
func (g *gatherer) symbolicLinks() {
	dirs := append([]string{"/etc/cni/net.d", "/opt/cni/bin", "/etc/sysctl.d", "/etc/modules-load.d",
		"/etc/systemd/system", hostfs.StateDir, g.facts.Runtime.ConfigFile},
		g.facts.Runtime.BinDirs...)
	for _, dir := range append(dirs, g.facts.Runtime.ConfDir) {
		var link *hostpath.LinkError
		if dir != "" && errors.As(g.files.Way(dir), &link) && !slices.Contains(g.facts.SymbolicLinks, *link) {
			g.facts.SymbolicLinks = append(g.facts.SymbolicLinks, *link)
		}
	}
}

// gatherer fills facts from a host.
type gatherer struct {
	*Sources
	facts *Facts
	mu    *sync.Mutex // for Problems

	without string // a file of the runtime's that is passed over
}

// problem notes what is there and cannot be read, once.
func (g gatherer) problem(what string, err error) {
	if g.without != "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.facts.Problems = append(g.facts.Problems, fmt.Sprintf("%s: %v", what, err))
}

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
