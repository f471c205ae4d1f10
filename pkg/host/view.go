package host

import (
	"context"
	"io/fs"
	"net/netip"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/host/residue"
	"github.com/netwright/netwright/pkg/host/systemd"
)

// ErrNotExist says that what was asked for is not on the host. It is
// [fs.ErrNotExist], for files, sysctls, links, units and tables alike.
var ErrNotExist = fs.ErrNotExist

// ErrNotHere says that the root is an image or a tree without a running
// kernel or systemd behind it (--root): live state cannot be read there.
var ErrNotHere = sys.ErrNotHere

// View is the host as a plan may see it. No method writes, loads a module,
// starts a unit or makes the kernel do so. Implementations: [Live] and the
// overlay that [Pending.Over] returns. All methods may be called from several
// goroutines and may be retried.
type View interface {
	// Facts are what is true of the host for the whole pass.
	Facts() *Facts

	hostfs.Files
	Kernel
	Network
	Units
	Runtime
	Upcoming
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
	// ("bpf"). [ErrNotExist] if nothing is. [ErrNotHere] below an image's root.
	Mounted(path string) (fstype string, err error)
}

// Network reads links, addresses, routes, rules and nft tables of the network
// namespace that the process is in.
type Network interface {
	// Links lists all links, by index.
	Links(ctx context.Context) ([]Link, error)
	// Link finds one by name. [ErrNotExist] if absent.
	Link(ctx context.Context, name string) (Link, error)
	// Addresses lists the addresses of a link, or of all with name "".
	Addresses(ctx context.Context, link string) ([]Address, error)
	// Routes lists the unicast, blackhole and unreachable routes of a table (0: main), or of
	// [AllTables], and the local ones outside of the table for them.
	Routes(ctx context.Context, table int) ([]Route, error)
	// Rules lists the policy rules of both families.
	Rules(ctx context.Context) ([]Rule, error)
	// Table reads an nft table with its chains and rules in canonical form (see
	// [Table.Canonical]), without loading a module. [ErrNotExist] if absent.
	Table(ctx context.Context, family, name string) (Table, error)
	// ForwardChains lists the base chains at the forward hook of nf_tables and of
	// ip_tables, without loading a module.
	ForwardChains(ctx context.Context) ([]ForwardChain, error)
	// IPTChains lists the chains of iptables, those of nf_tables and those of
	// ip_tables, without loading a module.
	IPTChains(ctx context.Context) ([]IPTChain, error)
	// NFTChains lists the chains of an nft table with their rules in the words of iptables, without
	// loading a module. There are none where the table is not.
	NFTChains(ctx context.Context, family, table string) ([]IPTChain, error)
	// Tables lists the nft tables, without loading a module.
	Tables(ctx context.Context) ([]TableName, error)
	// IPSets lists the names of the ipsets, sorted, without loading a module.
	IPSets(ctx context.Context) ([]string, error)
	// Residue reads what only the clean-up after a network asks for.
	Residue() residue.Reader
}

// Units reads systemd over D-Bus without starting anything.
type Units interface {
	// Unit describes a unit. LoadState "not-found" is not an error.
	// [ErrNotHere] where no systemd runs.
	Unit(ctx context.Context, name string) (systemd.UnitState, error)
	// UnitsLoadedUS is when systemd last read its unit files, at its start or by a daemon-reload:
	// CLOCK_MONOTONIC, microseconds. 0 where systemd does not tell (before 250).
	UnitsLoadedUS(ctx context.Context) (uint64, error)
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

// Link is a network interface.
type Link struct {
	Index     int
	Name      string
	Kind      string // "" for a physical one; bridge, veth, vxlan, dummy …
	MTU       int
	MAC       string
	Up        bool // administratively
	Running   bool // has a carrier
	Loopback  bool
	PtP       bool // point to point
	Master    string
	Alias     string
	Physical  bool // has a device behind it
	Promisc   bool
	ParentDev string // the device behind it, as its bus names it
	Flags     uint32 `json:",omitempty"` // of net_device (linux/if.h); 0: an earlier release wrote it down, without them
}

// Address is an address on a link.
type Address struct {
	Link   string
	Prefix netip.Prefix
	Scope  string // global, link, host
	Label  string
	// Dynamic says that the kernel or a DHCP client gave it and may take it.
	Dynamic bool
}

// Route is a route of one table.
type Route struct {
	Type     string       // unicast, blackhole, unreachable, local
	Dst      netip.Prefix // 0.0.0.0/0 or ::/0 for a default route
	Gateway  netip.Addr   // invalid: none
	Link     string       // "": none (blackhole)
	Source   netip.Addr   // preferred source
	Table    int          // 254 main
	Metric   int
	Protocol int // rtnetlink's number; ours is [RouteProtocol]
	Scope    int
	MTU      int
	OnLink   bool
}

// RouteProtocol marks the routes that are ours (rtnetlink protocol number).
// /etc/iproute2/rt_protos of current distributions leaves it free.
const RouteProtocol = 149

// Rule is a policy rule.
type Rule struct {
	Priority int
	Family   int          // 4 or 6
	Src, Dst netip.Prefix // invalid: all
	IIF, OIF string
	Mark     uint32
	Mask     uint32
	Table    int
	Protocol int // who made it, as for routes
	// Narrow says that it asks for more than is read here: ports, users, the reverse.
	Narrow bool `json:"-"`
}
