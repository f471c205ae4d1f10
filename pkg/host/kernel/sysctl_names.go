package kernel

import (
	"fmt"
	"slices"
	"strings"
)

// SysctlScope says whether a sysctl belongs to a network namespace or to the host.
type SysctlScope string

// The scopes of a sysctl.
const (
	// ScopeNetns is a key that each network namespace has.
	ScopeNetns SysctlScope = "netns"
	// ScopeHost is a key of the whole machine. The agent never writes it from a container or a
	// sandbox.
	ScopeHost SysctlScope = "host"
)

// hostNet are the keys below net.* that belong to the whole machine. They come from the tables that
// the kernel registers only for the initial network namespace (net/core/sysctl_net_core.c,
// net/ipv4/sysctl_net_ipv4.c, net/ipv4/route.c, net/core/neighbour.c,
// net/netfilter/nf_conntrack_standalone.c). In other namespaces they are missing, read-only or
// refused. A trailing * makes a prefix. A test compares the list with the running kernel.
var hostNet = []string{
	"net.core.*",
	"net.ipv4.cipso_*",
	"net.ipv4.fib_sync_mem",
	"net.ipv4.inet_peer_*",
	"net.ipv4.ipfrag_secret_interval",
	"net.ipv4.neigh.default.*",
	"net.ipv4.route.error_*",
	"net.ipv4.route.gc_*",
	"net.ipv4.route.max_size",
	"net.ipv4.route.redirect_*",
	"net.ipv4.tcp_allowed_congestion_control",
	"net.ipv4.tcp_available_*",
	"net.ipv4.tcp_low_latency",
	"net.ipv4.tcp_max_orphans",
	"net.ipv4.tcp_mem",
	"net.ipv4.udp_mem",
	"net.ipv6.calipso_*",
	"net.ipv6.ip6frag_secret_interval",
	"net.ipv6.mld_max_msf",
	"net.ipv6.mld_qrv",
	"net.ipv6.neigh.default.*",
	"net.netfilter.nf_conntrack_buckets",
	"net.netfilter.nf_conntrack_expect_max",
	"net.netfilter.nf_conntrack_max",
	// Each namespace can write this key, but it is one switch of the machine, which nothing turns
	// off again.
	"net.netfilter.nf_hooks_lwtunnel",
	"net.netfilter.nf_log_all_netns",
	"net.nf_conntrack_max",
	"net.rds.*",
	"net.sctp.sctp_mem",
	"net.sctp.sctp_rmem",
	"net.sctp.sctp_wmem",
	"net.tipc.*",
}

// netnsCore are the keys of net.core that each network namespace has (optmem_max since Linux 6.7).
var netnsCore = []string{
	"net.core.bypass_prot_mem",
	"net.core.optmem_max",
	"net.core.rps_default_mask",
	"net.core.somaxconn",
	"net.core.tstamp_allow_data",
	"net.core.txrehash",
	"net.core.xfrm_*",
}

// ScopeOf returns the scope of a key in dotted form.
func ScopeOf(key string) SysctlScope {
	switch {
	case !strings.HasPrefix(key, "net."):
		return ScopeHost
	case matchesAny(netnsCore, key):
		return ScopeNetns
	case matchesAny(hostNet, key):
		return ScopeHost
	}
	return ScopeNetns
}

// matchesAny reports whether a pattern equals the key, or with a trailing * is its prefix.
func matchesAny(patterns []string, key string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if prefix, ok := strings.CutSuffix(p, "*"); ok {
			return strings.HasPrefix(key, prefix)
		}
		return p == key
	})
}

// CanonicalSysctl returns the dotted form of a key. The key may have dots, with a slash for a dot
// inside a name, or slashes as in sysctl.d(5). Any other form is an error, so that a key can never
// name a file outside /proc/sys.
func CanonicalSysctl(key string) (string, error) {
	dotted := key
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '/' {
		dotted = swapSeparators(key)
	}
	for part := range strings.SplitSeq(dotted, ".") {
		if part == "" || strings.HasPrefix(part, "/") || strings.ContainsAny(part, " \t\n\x00*?[") {
			return "", fmt.Errorf("%q is no sysctl key: write it like net.ipv4.ip_forward, "+
				"a dot inside an interface name as a slash (net.ipv4.conf.eth0/100.rp_filter)", key)
		}
	}
	return dotted, nil
}

// SysctlPath returns the path of a canonical key below /proc/sys.
func SysctlPath(key string) string { return swapSeparators(key) }

// swapSeparators replaces dots by slashes and slashes by dots. This converts the dotted form of a
// key to its path, and back.
func swapSeparators(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '.':
			return '/'
		case '/':
			return '.'
		}
		return r
	}, s)
}

// SysctlModule returns the module that adds a key to the kernel. It is "" if the key always exists,
// or if the module is unknown.
func SysctlModule(key string) string {
	for _, m := range sysctlModules {
		if strings.HasPrefix(key, m.prefix) {
			return m.module
		}
	}
	return ""
}

var sysctlModules = []struct{ prefix, module string }{
	{"net.bridge.", "br_netfilter"},
	{"net.netfilter.nf_conntrack_", "nf_conntrack"},
	{"net.nf_conntrack_max", "nf_conntrack"},
	{"net.netfilter.nf_flowtable_", "nf_flow_table"},
	{"net.ipv4.vs.", "ip_vs"},
	{"net.mpls.", "mpls_router"},
	{"net.sctp.", "sctp"},
}

// SysctlLink returns the interface that a key belongs to, or "" if it belongs to no single one.
func SysctlLink(key string) string {
	parts := strings.Split(key, ".")
	if len(parts) < 5 || parts[0] != "net" || (parts[2] != "conf" && parts[2] != "neigh") {
		return ""
	}
	switch name := parts[3]; name {
	case "all", "default", "lo":
		return ""
	default:
		return strings.ReplaceAll(name, "/", ".")
	}
}
