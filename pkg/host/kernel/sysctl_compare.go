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

// kinds are keys whose values are neither integers nor plain text. pattern is a [path.Match]
// pattern for a [SysctlPath]. same converts a value to one form for all texts that mean the same to
// the kernel. It does not change a text that the kernel refuses.
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

// SameSysctl reports whether a key with the value have needs no write to get the value want. It
// compares by the key's kind, so different spellings of a value are equal. Numbers after the wanted
// ones are ignored, because a write does not change them.
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

// numbers parses fields separated by white space. The kernel reads 0x10 and 010 as C does, and
// prints decimals.
func numbers(value string) string {
	fields := strings.Fields(value)
	for i, field := range fields {
		if n, err := strconv.ParseInt(field, 0, 64); err == nil {
			fields[i] = strconv.FormatInt(n, 10)
		}
	}
	return strings.Join(fields, " ")
}

// address parses an IPv6 address.
func address(value string) string {
	addr, err := netip.ParseAddr(strings.TrimSpace(value))
	if err != nil {
		return value
	}
	return addr.String()
}

// numberRanges parses a list of numbers and ranges in any order, which may overlap.
func numberRanges(value string) string {
	all, ok := parsePorts(value)
	if !ok {
		return value
	}
	return fmt.Sprint(all)
}

// setOf parses words in any order.
func setOf(value string) string {
	words := list(value)
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

var zerosBefore = lazyregexp.New(`\b0+([0-9a-f])`)

// hexGroups parses groups of 32 bits.
func hexGroups(value string) string {
	return zerosBefore().ReplaceAllString(strings.ToLower(strings.Join(list(value), ",")), "$1")
}

// cpuMask parses groups of 32 processors; the first processors are in the last group.
func cpuMask(value string) string { return strings.TrimLeft(hexGroups(value), "0,") }

// list splits a value at commas and white space.
func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}
