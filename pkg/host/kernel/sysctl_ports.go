package kernel

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// These two keys together determine the source ports of connections that choose none themselves.
const (
	SourcePortRange = "net.ipv4.ip_local_port_range"
	ReservedPorts   = "net.ipv4.ip_local_reserved_ports"
)

// SourcePorts counts the ports in a [SourcePortRange] ("32768 60999"; empty: the kernel's default)
// that are not in [ReservedPorts] ("8080,30000-32767"). They are the possible source ports of a
// connection that chooses none (ip_local_port_range, ip_local_reserved_ports). It returns false for
// values that the kernel would refuse.
// https://docs.kernel.org/networking/ip-sysctl.html
func SourcePorts(within, reserved string) (int, bool) {
	all, ok := parsePorts(strings.Join(strings.Fields(cmp.Or(within, "32768 60999")), "-"))
	taken, ok2 := parsePorts(reserved)
	if !ok || !ok2 || len(all) != 1 {
		return 0, false
	}
	left := int(all[0].last - all[0].first + 1)
	for _, r := range taken {
		if first, last := max(r.first, all[0].first), min(r.last, all[0].last); first <= last {
			left -= int(last - first + 1)
		}
	}
	return left, true
}

// portRange is an inclusive range of ports.
type portRange struct{ first, last uint64 }

// parsePorts parses a list such as "8080,30000-32767", with numbers as in C. It returns sorted
// ranges that neither overlap nor touch, as the kernel prints them.
func parsePorts(s string) ([]portRange, bool) {
	var all []portRange
	for item := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		if item == "" {
			continue
		}
		lo, hi, isRange := strings.Cut(item, "-")
		if !isRange {
			hi = lo
		}
		first, err1 := strconv.ParseUint(lo, 0, 16)
		last, err2 := strconv.ParseUint(hi, 0, 16)
		if err1 != nil || err2 != nil || last < first {
			return nil, false
		}
		all = append(all, portRange{first, last})
	}
	slices.SortStableFunc(all, func(a, b portRange) int { return int(a.first) - int(b.first) })
	var out []portRange
	for _, r := range all {
		if n := len(out); n > 0 && r.first <= out[n-1].last+1 {
			out[n-1].last = max(out[n-1].last, r.last)
			continue
		}
		out = append(out, r)
	}
	return out, true
}
