package facts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostpath"
)

// Gather reads once what is true for a whole pass. It writes nothing, starts no service and runs no
// program. Things that a node need not have are left empty. Things that exist and cannot be read
// are listed in [Facts.Problems].
func Gather(ctx context.Context, l *Sources) (*Facts, error) {
	facts := &Facts{Arch: architecture(l), Hostname: hostname(l)}
	g := newGatherer(l, facts)
	g.osRelease()
	facts.Contain = Container(l.kernel, l.opt.Sandbox)
	// These goroutines read files. The first one also asks the runtime, and takes longest.
	// Meanwhile the caller's goroutine asks the kernel, because its thread determines the network
	// namespace.
	var files sync.WaitGroup
	files.Go(func() {
		g.kubelet()
		facts.Runtime = g.runtime(ctx)
	})
	files.Go(func() {
		g.facts.Peers = OtherAgents(g.files)
		g.services()
		g.lateSysctls()
		g.resolvConf()
	})
	if facts.Kernel = kernelFacts(l.kernel, facts.Contain); !l.opt.live() {
		facts.Kernel = imageKernel(l)
	} else if facts.Contain == "" {
		facts.Cloud = cloudOf(l.kernel)
	}
	facts.Cgroup = cgroupVersion(l.kernel)
	facts.Init = initSystem(l)
	g.forward(ctx)
	err := g.links(ctx)
	files.Wait()
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
	g := newGatherer(l, facts)
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
