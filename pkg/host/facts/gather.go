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

// Gather reads once what is true for a whole pass. It writes nothing, starts no service and runs no
// program. Things that a node need not have are left empty. Things that exist and cannot be read
// are listed in [Facts.Problems].
func Gather(ctx context.Context, l *Sources) (*Facts, error) {
	facts := &Facts{Arch: architecture(l), Hostname: hostname(l)}
	g := gatherer{Sources: l, facts: facts, mu: &sync.Mutex{}}
	g.osRelease()
	facts.Contain = Container(l.kernel, l.opt.Sandbox)
	// This goroutine reads files and asks the runtime. Meanwhile the caller's goroutine asks the
	// kernel, because its thread determines the network namespace.
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
	slices.Sort(facts.Problems) // several goroutines added them
	return facts, nil
}

// GatherBrief finds out where the machine runs, and reads the settings of its kubelet. It asks no
// other program.
func GatherBrief(l *Sources, facts *Facts) {
	g := gatherer{Sources: l, facts: facts, mu: &sync.Mutex{}}
	if facts.Contain = Container(l.kernel, l.opt.Sandbox); l.opt.live() && facts.Contain == "" {
		facts.Cloud = cloudOf(l.kernel)
	}
	g.kubelet()
}

// symbolicLinks finds the symlinks on the paths of files of networks and of the runtime.
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

	without string // file of the runtime to be ignored
}

// problem records something that exists and cannot be read. In the second read without the agent's
// drop-in it records nothing.
func (g gatherer) problem(what string, err error) {
	if g.without != "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.facts.Problems = append(g.facts.Problems, fmt.Sprintf("%s: %v", what, err))
}

// Sources are the readers from which facts are gathered.
type Sources struct {
	files    *hostfs.Reader
	kernel   *kernel.Reader
	net      *rtnl.Reader
	firewall *firewall.Reader
	units    *systemd.Reader
	opt      Options
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
	return &Sources{f, k, n, fw, u, opt}
}
