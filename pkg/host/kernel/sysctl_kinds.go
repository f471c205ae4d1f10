package kernel

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/netwright/netwright/pkg/lazyregexp"
)

// kinds are of keys whose values are neither whole numbers nor plain text. A pattern is that of
// [path.Match] for a [SysctlPath]. same brings a value into the one form that all texts have which
// the kernel takes for the same; it leaves a text as it is that the kernel refuses.
var kinds = []struct {
	pattern string
	same    func(value string) string
}{
	{"net/ipv6/conf/*/stable_secret", address},         // net/ipv6/addrconf.c, addrconf_sysctl_stable_secret
	{"net/ipv4/tcp_fastopen_key", hexGroups},           // net/ipv4/sysctl_net_ipv4.c, proc_tcp_fastopen_key
	{"net/core/rps_default_mask", cpuMask},             // net/core/sysctl_net_core.c, dump_cpumask
	{"net/core/flow_limit_cpu_bitmap", cpuMask},        // the same
	{"net/ipv4/ip_local_reserved_ports", numberRanges}, // kernel/sysctl.c, proc_do_large_bitmap
	{"net/ipv6/icmp/ratemask", numberRanges},           // the same
	{"kernel/watchdog_cpumask", numberRanges},          // the same
	{"net/ipv4/tcp_allowed_congestion_control", setOf}, // net/ipv4/tcp_cong.c
	{"kernel/seccomp/actions_logged", setOf},           // kernel/seccomp.c
	{"net/netfilter/nf_log/*", strings.ToLower},        // net/netfilter/nf_log.c, __find_logger
	{"kernel/*_sys_info", setOf},                       // lib/sys_info.c
}

// SameSysctl says that a key which has one value needs no write to have the wanted one, by the kind
// of the key: how it is written does not matter, nor the numbers after those that are wanted, which
// a write leaves as they are.
func SameSysctl(key, have, want string) bool {
	if have == want {
		return true
	}
	same, file := numbers, SysctlPath(key)
	for _, kind := range kinds {
		if ok, _ := path.Match(kind.pattern, file); ok {
			same = kind.same
		}
	}
	have, want = same(have), same(want)
	return have == want || want != "" && strings.Trim(want, "0123456789- ") == "" && strings.HasPrefix(have, want+" ")
}

// numbers are fields that white space parts. The kernel reads 0x10 and 010 as C does, and says
// decimals.
func numbers(value string) string {
	fields := strings.Fields(value)
	for i, field := range fields {
		if n, err := strconv.ParseInt(field, 0, 64); err == nil {
			fields[i] = strconv.FormatInt(n, 10)
		}
	}
	return strings.Join(fields, " ")
}

// address is one of IPv6.
func address(value string) string {
	addr, err := netip.ParseAddr(strings.TrimSpace(value))
	if err != nil {
		return value
	}
	return addr.String()
}

// numberRanges are a list in any order, some in others.
func numberRanges(value string) string {
	all, ok := parsePorts(value)
	if !ok {
		return value
	}
	return fmt.Sprint(all)
}

// setOf are words in any order.
func setOf(value string) string {
	words := list(value)
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

var zerosBefore = lazyregexp.New(`\b0+([0-9a-f])`)

// hexGroups are of 32 bits each.
func hexGroups(value string) string {
	return zerosBefore().ReplaceAllString(strings.ToLower(strings.Join(list(value), ",")), "$1")
}

// cpuMask is groups of 32 processors, the first ones the last.
func cpuMask(value string) string { return strings.TrimLeft(hexGroups(value), "0,") }

// list parts items at commas and white space.
func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}
