package host

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/residue"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// ErrNotExist says that what was asked for is not on the host. It is
// [fs.ErrNotExist], for files, sysctls, links, units and tables alike.
var ErrNotExist = fs.ErrNotExist

// Unread says of an error that a file may be there and whole, and that only this process cannot
// read it now: it may not, has no descriptor or no memory for it, or the disk fails.
func Unread(err error) bool {
	errno, ok := errors.AsType[syscall.Errno](err)
	return ok && !slices.Contains(notAFile, errno)
}

// notAFile is what the kernel says where there is none, or something else.
var notAFile = []syscall.Errno{syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP}

// ErrNoLiveState says that the root is an image or a tree without a running
// kernel or systemd behind it (--root): live state cannot be read there.
var ErrNoLiveState = sys.ErrNoLiveState

// View is the host as a plan may see it: a small interface for each room, and none that writes,
// loads a module, starts a unit or makes the kernel do so. [Live.View] makes one of a host as it
// is, and [Pending.Over] one of it as a plan will make it. All methods may be called from several
// goroutines and may be retried.
type View struct {
	Facts    *Facts // what is true of the host for the whole pass
	Files    hostfs.Files
	Kernel   Kernel
	Net      Net
	Firewall Firewall
	Units    Units
	Runtime  Runtime
	Residue  residue.Reader // what only the clean-up after a network asks for
	Metadata Metadata
	Upcoming Upcoming
}

// Kernel reads sysctls, modules and mounts.
type Kernel interface {
	// Sysctl reads a key in dotted form, a slash standing for a dot inside a
	// name ("net.ipv4.conf.eth0/100.rp_filter"). White space between fields is
	// folded to one space. [ErrNotExist] when the kernel has no such key.
	Sysctl(key string) (string, error)
	// Module says whether a module is built in, loaded, loadable or absent.
	Module(name string) (kernel.ModuleState, error)
	// Mounted returns the type of the file system that is mounted at a path
	// ("bpf"). [ErrNotExist] if nothing is. [ErrNoLiveState] below an image's root.
	Mounted(path string) (fstype string, err error)
}

// Net reads links, addresses, routes and rules of the network namespace that the process is in.
type Net interface {
	// Links lists all links, by index.
	Links(ctx context.Context) ([]rtnl.Link, error)
	// Link finds one by name. [ErrNotExist] if absent.
	Link(ctx context.Context, name string) (rtnl.Link, error)
	// Addresses lists the addresses of a link, or of all with name "".
	Addresses(ctx context.Context, link string) ([]rtnl.Address, error)
	// Routes lists the unicast, blackhole and unreachable routes of a table (0: main), or of
	// [rtnl.AllTables], and the local ones outside of the table for them.
	Routes(ctx context.Context, table int) ([]rtnl.Route, error)
	// Rules lists the policy rules of both families.
	Rules(ctx context.Context) ([]rtnl.Rule, error)
}

// Firewall reads the packet filter of the network namespace that the process is in.
type Firewall interface {
	// Table reads an nft table with its chains and rules in canonical form (see
	// [firewall.Table.Canonical]), without loading a module. [ErrNotExist] if absent.
	Table(ctx context.Context, family, name string) (firewall.Table, error)
	// ForwardChains lists the base chains at the forward hook of nf_tables and of
	// ip_tables, without loading a module.
	ForwardChains(ctx context.Context) ([]firewall.ForwardChain, error)
	// IPTChains lists the chains of iptables, those of nf_tables and those of
	// ip_tables, without loading a module.
	IPTChains(ctx context.Context) ([]firewall.IPTChain, error)
	// NFTChains lists the chains of an nft table with their rules in the words of iptables, without
	// loading a module. There are none where the table is not.
	NFTChains(ctx context.Context, family, table string) ([]firewall.IPTChain, error)
	// Tables lists the nft tables, without loading a module.
	Tables(ctx context.Context) ([]firewall.TableName, error)
	// IPSets lists the names of the ipsets, sorted, without loading a module.
	IPSets(ctx context.Context) ([]string, error)
}

// Units reads systemd over D-Bus without starting anything.
type Units interface {
	// Unit describes a unit. LoadState "not-found" is not an error.
	// [ErrNoLiveState] where no systemd runs.
	Unit(ctx context.Context, name string) (systemd.UnitState, error)
	// UnitsLoadedUS is when systemd last read its unit files, at its start or by a daemon-reload:
	// CLOCK_MONOTONIC, microseconds. 0 where systemd does not tell (before 250).
	UnitsLoadedUS(ctx context.Context) (uint64, error)
	// FailedReload is how the last reload of a service failed since its start, "" where it did not.
	FailedReload(ctx context.Context, name string) string
}

// Metadata asks the cloud of this machine.
type Metadata interface {
	// LearnInstance puts into the facts what AWS says of this instance: its type, or all that there
	// is. It is called by the goroutine that opened the view, before the facts are used.
	LearnInstance(ctx context.Context, all bool)
}

// Upcoming tells what upstream tasks of the same plan are going to change.
// A live view always answers no.
type Upcoming interface {
	// WillExist says that an upstream task plans to create or load what the key
	// names, such as "link:cbr0", "module:br_netfilter", "file:/etc/x".
	WillExist(key string) bool
	// Asked lists who asked for an effect in this plan or is owed it from an
	// earlier run, as keys, in the order of asking.
	Asked(effect string) []string
}
