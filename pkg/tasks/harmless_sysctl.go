package tasks

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// span is the harmless values of a sysctl. A value that is no single whole number is not harmless.
type span struct {
	from, to int64
	// raise says that the value must not be below the running kernel's value, where that is known.
	raise bool
}

// contains reports whether a value is in the span. have is the kernel's value; "": unknown.
func (s span) contains(value, have string) bool {
	n, err := kernelNumber(value)
	if err != nil || n < s.from || n > s.to {
		return false
	}
	was, err := kernelNumber(have)
	return !s.raise || err != nil || n >= was
}

// kernelNumber parses a number as the kernel does: 010 is eight, 0x10 is sixteen.
func kernelNumber(text string) (int64, error) {
	return strconv.ParseInt(strings.TrimSpace(text), 0, 64)
}

func only1() span                { return span{from: 1, to: 1} }
func flag() span                 { return span{from: 0, to: 1} }
func fromTo(from, to int64) span { return span{from: from, to: to} }

// least is the span of a limit: a value below the present one takes something from running
// programs.
func least(from int64) span { return span{from: from, to: 1 << 40, raise: true} }

// harmlessSysctls are the sysctls that cannot harm the node, with their harmless values. The keys
// are those that the agent sets for Kubernetes and for networks, and a few that people often set.
// Sources, unless a line has its own: the kernel's Documentation/admin-guide/sysctl (kernel.rst,
// vm.rst, fs.rst, net.rst) and Documentation/networking/ip-sysctl.rst. A lower bound is the
// kernel's own default, or the least value that kubelet asks for.
//
// Not in the list: sysctls of ARP, neighbour solicitation, rp_filter and timeouts. Nor forwarding
// off, nor IPv6 forwarding on, with which a node loses what routers advertise.
var harmlessSysctls = map[string]span{
	// What the kernel does after a crash. kubelet: pkg/kubelet/cm/container_manager_linux.go,
	// setupKernelTunables.
	"kernel.panic":                        fromTo(0, 3600),
	"kernel.panic_on_oops":                flag(),
	"kernel.softlockup_panic":             flag(),
	"kernel.softlockup_all_cpu_backtrace": flag(),
	"kernel.keys.root_maxkeys":            least(200),
	"kernel.keys.root_maxbytes":           least(20000),
	"kernel.pid_max":                      least(32768),
	"kernel.threads-max":                  least(4096),

	// Memory. With overcommit_memory 2 the kernel refuses memory that programs expect to get.
	"vm.overcommit_memory": flag(),
	"vm.max_map_count":     least(65530),
	"vm.swappiness":        fromTo(0, 200),

	// Limits on files.
	"fs.file-max":                   least(65536),
	"fs.nr_open":                    least(1 << 20),
	"fs.aio-max-nr":                 least(65536),
	"fs.inotify.max_user_instances": least(128),
	"fs.inotify.max_user_watches":   least(8192),
	"fs.inotify.max_queued_events":  least(16384),

	// Queue lengths and buffer limits of sockets: how much a program may ask for, and bursts.
	"net.core.somaxconn":                 fromTo(128, 65535),
	"net.core.netdev_max_backlog":        fromTo(1000, 1<<20),
	"net.core.rmem_max":                  fromTo(212992, 1<<30),
	"net.core.wmem_max":                  fromTo(212992, 1<<30),
	"net.core.bpf_jit_enable":            only1(),
	"net.ipv4.tcp_max_syn_backlog":       fromTo(128, 1<<20),
	"net.ipv4.tcp_slow_start_after_idle": flag(),
	"net.ipv4.tcp_tw_reuse":              fromTo(0, 2),
	// Only for network namespaces that are made later.
	"net.core.fb_tunnels_only_for_init_net": fromTo(0, 2),

	// Neighbour table. With gc_thresh1 0 the kernel removes old entries at any number. A full table
	// breaks the network, so the other limits may only be raised.
	"net.ipv4.neigh.default.gc_thresh1": fromTo(0, 1<<20),
	"net.ipv4.neigh.default.gc_thresh2": least(512),
	"net.ipv4.neigh.default.gc_thresh3": least(1024),
	"net.ipv6.neigh.default.gc_thresh2": least(512),
	"net.ipv6.neigh.default.gc_thresh3": least(1024),

	// With forwarding on, the routes of the host's own packets stay the same.
	"net.ipv4.ip_forward":          only1(),
	"net.ipv4.conf.all.forwarding": only1(),

	// Connection tracking (Documentation/networking/nf_conntrack-sysctl.rst): counters, and a
	// limit.
	"net.netfilter.nf_conntrack_acct":      flag(),
	"net.netfilter.nf_conntrack_timestamp": flag(),
	"net.netfilter.nf_conntrack_max":       least(65536),
	// IPVS (Documentation/networking/ipvs-sysctl.rst) acts on services only.
	"net.ipv4.vs.conntrack": only1(),
}

// bridgeKeys make packets that bridges forward pass the firewall, as kubelet and kube-proxy
// require. They are harmless where the node itself is not behind a bridge.
const bridgeKeys = "net.bridge.bridge-nf-call-"

// spanOf returns the harmless values of a key, for any host.
func spanOf(key string) (span, bool) {
	if strings.HasPrefix(key, bridgeKeys) {
		return only1(), true
	}
	s, ok := harmlessSysctls[key]
	return s, ok
}

// harmlessBuffers are the sysctls of TCP's buffers, each with three sizes in bytes: the minimum,
// the size for a new connection, and the maximum. The number is the smallest harmless size for a
// new connection: the kernel's own default. Small values stop all TCP connections, "1 1 1" at once.
var harmlessBuffers = map[string]int64{"net.ipv4.tcp_rmem": 87380, "net.ipv4.tcp_wmem": 16384}

// buffersSuffice reports whether three buffer sizes are large enough for a connection and small
// enough for the machine's memory.
func buffersSuffice(value string, begin int64) bool {
	const page, most = 4096, 1 << 28
	var sizes []int64
	for field := range strings.FieldsSeq(value) {
		n, err := kernelNumber(field)
		if err != nil {
			return false
		}
		sizes = append(sizes, n)
	}
	return len(sizes) == 3 && sizes[0] >= page && sizes[1] >= begin && slices.IsSorted(sizes) && sizes[2] <= most
}

// inRange reports whether a value of a key is harmless on any host.
func inRange(key, value, have string) bool {
	if begin, ok := harmlessBuffers[key]; ok {
		return buffersSuffice(value, begin)
	}
	s, ok := spanOf(key)
	return ok && s.contains(value, have)
}

// sysctlKindHarmless is the proof of a sysctl.
func sysctlKindHarmless(ctx context.Context, t Sysctl, c *Change, on Ground) bool {
	have := ""
	if at := slices.IndexFunc(c.Items, func(it Item) bool { return len(it.Fields) > 0 }); at >= 0 {
		have = c.Items[at].Fields[0].Before
	}
	return sysctlHarmless(ctx, t.Key, t.Value, have, on)
}

// sysctlHarmless reports whether a value of a key is harmless on this host.
func sysctlHarmless(ctx context.Context, key, value, have string, on Ground) bool {
	key, err := kernel.CanonicalSysctl(key)
	if err != nil {
		return false
	}
	if key == kernel.ReservedPorts {
		return portsLeft(value, on)
	}
	if !inRange(key, value, have) {
		return false
	}
	return !strings.HasPrefix(key, bridgeKeys) || !behindBridge(ctx, on)
}

// leastPorts is how many ports the connections of a busy node need: half of the kernel's default
// range.
const leastPorts = 14000

// portsLeft reports whether reserved ports leave enough ports for connections that name none.
func portsLeft(reserved string, on Ground) bool {
	within, err := on.View.Kernel.Sysctl(kernel.SourcePortRange)
	if err != nil {
		return false
	}
	left, ok := kernel.SourcePorts(within, reserved)
	return ok && left >= leastPorts
}
