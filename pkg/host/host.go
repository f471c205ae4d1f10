package host

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/hostfs/userfile"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/netstate"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// Live reads the host: it has the readers of all sub-packages and nothing that writes. A plan gets
// its [Live.View].
type Live struct {
	Files    *hostfs.Reader
	Kernel   *kernel.Reader
	Net      *rtnl.Reader
	Firewall *firewall.Reader
	Units    *systemd.Reader

	Facts *Facts // what is true of the host for the whole pass

	opt            Options
	stopConnecting context.CancelCauseFunc // of [Options.ConnectSystemd]; nil: nothing connects
}

// Host reads and writes the host: it has the writers of all sub-packages, and a [Live] for reading.
// Only the apply step of a pass holds one.
type Host struct {
	Live *Live

	Files    *hostfs.Writer
	Kernel   *kernel.Writer
	Net      *rtnl.Writer
	NetState *netstate.Writer
	Firewall *firewall.Writer
	Units    *systemd.Writer
}

// newHost adds the writers to the readers of a host.
func newHost(l *Live) *Host {
	h := &Host{
		Live:     l,
		Files:    hostfs.NewWriter(l.Files),
		Net:      rtnl.NewWriter(l.Net, l.Files, l.opt.Log),
		Firewall: firewall.NewWriter(l.Firewall, l.opt.Log),
	}
	h.NetState = netstate.NewWriter(l.Net, h.Net, l.opt.Log)
	lock := func(file string) (io.Closer, error) { return ipc.OpenLock(l.opt.Files(), file) }
	h.Units = systemd.NewWriter(l.Units, lock, l.opt.Log)
	h.Kernel = kernel.NewWriter(l.Kernel, kernel.Options{
		HostSysctls: l.Facts.Kernel.HostSysctls, Modules: l.Facts.Kernel.Modules,
		ModuleSource: facts.ModuleSource(l.Facts.OS, l.Kernel.Release),
		StartUnit:    func(ctx context.Context, name string) error { return h.Units.StartUnit(ctx, name, true) },
		LinkSettings: l.Net.LinkSettings,
		Log:          l.opt.Log,
	})
	return h
}

// OpenView opens the host for reading. The caller must close it.
func OpenView(ctx context.Context, opt Options) (*Live, error) {
	opt.Root = cmp.Or(opt.Root, "/")
	files, err := hostfs.Open(opt.Files())
	if err != nil {
		return nil, err
	}
	l := &Live{
		Files: files, Kernel: kernel.Open(opt.live()), Net: rtnl.Open(opt.live()), Firewall: firewall.Open(opt.live()),
		Units: systemd.Open(opt.live() && !opt.Sandbox), opt: opt,
	}
	if l.Facts = opt.Facts; l.Facts != nil {
		return l, nil
	}
	if opt.ConnectSystemd {
		var connecting context.Context
		connecting, l.stopConnecting = context.WithCancelCause(ctx)
		go l.Units.Connect(connecting)
	}
	l.Facts, err = facts.Gather(ctx, l.sources())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// OpenBrief opens the host for reading, for callers that need few facts: only the kind of machine
// and the state of its kubelet ([facts.GatherBrief]). It asks no other program. The caller must
// close it.
func OpenBrief(opt Options) (*Live, error) {
	opt.Facts = &Facts{}
	l, err := OpenView(context.Background(), opt)
	if err != nil {
		return nil, err
	}
	facts.GatherBrief(l.sources(), l.Facts)
	return l, nil
}

// Open opens the host for reading and writing. The caller must close it.
func Open(ctx context.Context, opt Options) (*Host, error) {
	l, err := OpenView(ctx, opt)
	if err != nil {
		return nil, err
	}
	return newHost(l), nil
}

var errClosed = errors.New("the host was closed")

// Close closes the root, the netlink sockets and the D-Bus connection.
func (l *Live) Close() error {
	if l.stopConnecting != nil {
		l.stopConnecting(errClosed)
	}
	return errors.Join(l.Files.Close(), l.Net.Close(), l.Units.Close())
}

// Close closes the host's [Live].
func (h *Host) Close() error { return h.Live.Close() }

// View returns the host as a plan reads it.
func (l *Live) View() View {
	return View{
		Facts: l.Facts, Files: l.Files, Kernel: l.Kernel, Net: l.Net, Firewall: l.Firewall, Units: l.Units,
		Runtime: l, Residue: l.Residue(), Metadata: l, Upcoming: unplanned{},
		UnitFiles: facts.NewUnitFinder(l.Files),
	}
}

// sources returns the readers from which package facts gathers.
func (l *Live) sources() *facts.Sources {
	return facts.NewSources(l.Files, l.Kernel, l.Net, l.Firewall, l.Units,
		facts.Options{Root: l.opt.Root, Sandbox: l.opt.Sandbox, Stamps: l.opt.Stamps, Runtime: l.opt.Runtime})
}

// LearnInstance implements [Metadata] with [facts.Sources.LearnInstance].
func (l *Live) LearnInstance(ctx context.Context, all bool) {
	l.sources().LearnInstance(ctx, l.Facts, all)
}

// LearnVersions asks programs for their versions: see [facts.LearnVersions].
func (h *Host) LearnVersions(ctx context.Context) error {
	return facts.LearnVersions(ctx, h.Live.sources(), h.Live.Facts)
}

// unplanned is the [Upcoming] of a host without a plan.
type unplanned struct{}

func (unplanned) WillExist(string) bool { return false }

func (unplanned) Asked(string) []string { return nil }

// OpenFiles opens only the files of a host, without facts and stamps. It is for files that must be
// read before the facts are gathered. The caller must close it.
func OpenFiles(opt Options) (*hostfs.Reader, error) {
	of := opt.Files()
	of.Stamps = nil
	return hostfs.Open(of)
}

// OpenFileWriter opens the files below a root for writing. The caller must close it.
func OpenFileWriter(opt Options) (*userfile.Writer, error) {
	return userfile.Open(opt.Files())
}
