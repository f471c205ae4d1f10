package host

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/residue"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// ErrNotExist means that something is not on the host. It is [fs.ErrNotExist], for files, sysctls,
// links, units and tables.
var ErrNotExist = fs.ErrNotExist

// Unread reports whether a file may exist although this process cannot read it now: it has no
// permission, no file descriptor or no memory, or the disk fails.
func Unread(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && !slices.Contains(notAFile, errno)
}

// notAFile are the kernel's errors for a path that does not exist or is no file.
var notAFile = []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP}

// Shortages returns the kernel's errors for a process that gets no file descriptor or no memory.
// Such an error says nothing about who was to be asked.
func Shortages() []error {
	return []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS}
}

// ErrNoLiveState means that no running kernel or systemd belongs to the root (--root): it is an
// image or a directory tree, and live state cannot be read there.
var ErrNoLiveState = sys.ErrNoLiveState

// View is the host as a plan reads it: one small interface for each part. None of them writes,
// loads a module, starts a unit or makes the kernel do so. [Live.View] returns the host as it is,
// [Pending.Over] the host as a plan will make it. All methods may be called from several goroutines
// and may be retried.
type View struct {
	Facts    *Facts // what is true of the host for the whole pass
	Files    hostfs.Files
	Kernel   Kernel
	Net      Net
	Firewall Firewall
	Units    Units
	Runtime  Runtime
	Residue  residue.Reader // what a network left on the host; only cleanup uses it
	Metadata Metadata
	Upcoming Upcoming
	// UnitFiles finds units that have a file. It looks for each unit once.
	UnitFiles *facts.UnitFinder
}

// Kernel reads sysctls, modules and mounts.
type Kernel interface {
	// Sysctl reads a key in dotted form. A slash in the key stands for a dot inside a name
	// ("net.ipv4.conf.eth0/100.rp_filter"). White space between fields becomes one space. It
	// returns [ErrNotExist] if the kernel has no such key.
	Sysctl(key string) (string, error)
	// Module reports whether a module is built in, loaded, loadable or missing.
	Module(name string) (kernel.ModuleState, error)
	// Mounted returns the type of the file system that is mounted at a path ("bpf"). It returns
	// [ErrNotExist] if none is mounted there, and [ErrNoLiveState] for an image.
	Mounted(path string) (fstype string, err error)
}

// Net reads links, addresses, routes and rules of the process' network namespace.
type Net interface {
	// Links lists all links, sorted by index.
	Links(ctx context.Context) ([]rtnl.Link, error)
	// Link finds a link by name. It returns [ErrNotExist] if there is none.
	Link(ctx context.Context, name string) (rtnl.Link, error)
	// Addresses lists the addresses of a link, or of all links for the name "".
	Addresses(ctx context.Context, link string) ([]rtnl.Address, error)
	// Routes lists the routes of a table (0: main), or of all tables for [rtnl.AllTables]. The
	// routes that the kernel makes for addresses in table local (local, broadcast, anycast,
	// multicast) are left out.
	Routes(ctx context.Context, table int) ([]rtnl.Route, error)
	// Rules lists the policy rules of both families.
	Rules(ctx context.Context) ([]rtnl.Rule, error)
}

// Firewall reads the packet filter of the process' network namespace.
type Firewall interface {
	// Table reads an nft table with its chains and rules in canonical form (see
	// [firewall.Table.Canonical]), without loading a module. It returns [ErrNotExist] if there is
	// none.
	Table(ctx context.Context, family, name string) (firewall.Table, error)
	// ForwardChains lists the base chains at the forward hook of nf_tables and of ip_tables,
	// without loading a module.
	ForwardChains(ctx context.Context) ([]firewall.ForwardChain, error)
	// IPTChains lists the chains of iptables in nf_tables and in ip_tables, without loading a
	// module.
	IPTChains(ctx context.Context) ([]firewall.IPTChain, error)
	// NFTChains lists the chains of an nft table, with their rules in the syntax of iptables,
	// without loading a module. It returns none if there is no such table.
	NFTChains(ctx context.Context, family, table string) ([]firewall.IPTChain, error)
	// Tables lists the nft tables, without loading a module.
	Tables(ctx context.Context) ([]firewall.TableName, error)
	// IPSets lists the names of the ipsets, sorted, without loading a module.
	IPSets(ctx context.Context) ([]string, error)
}

// Units reads systemd over D-Bus without starting anything.
type Units interface {
	// Unit returns the state of a unit. A LoadState of "not-found" is not an error. It returns
	// [ErrNoLiveState] where no systemd runs.
	Unit(ctx context.Context, name string) (systemd.UnitState, error)
	// UnitsLoadedUS returns when systemd last read its unit files, at its start or by a
	// daemon-reload: CLOCK_MONOTONIC, in microseconds. It is 0 where systemd does not report this
	// (before version 250).
	UnitsLoadedUS(ctx context.Context) (uint64, error)
	// FailedReload describes how the last reload of a service since its start failed. It is "" if
	// the reload did not fail.
	FailedReload(ctx context.Context, name string) string
}

// Metadata asks the metadata service of the cloud about this machine.
type Metadata interface {
	// LearnInstance adds to the facts what AWS says about this instance: only its type, or
	// everything. The goroutine that opened the view must call it before the facts are used.
	LearnInstance(ctx context.Context, all bool)
}

// Upcoming reports what upstream tasks of the same plan will change. In a view of the host as it
// is, nothing is planned.
type Upcoming interface {
	// WillExist reports whether an upstream task plans to create or load what the key names, such
	// as "link:cbr0", "module:br_netfilter", "file:/etc/x".
	WillExist(key string) bool
	// Asked lists the keys that asked for an effect in this plan, or in an earlier run that did not
	// carry it out, in the order of asking.
	Asked(effect string) []string
}
