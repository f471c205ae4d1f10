// Package values has the types of values in documents: a version, ranges of addresses, ports, a
// duration. It does not know documents.
package values

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Version is a Kubernetes version. The zero value means that no version is set.
type Version struct {
	Major, Minor, Patch int
}

// ParseVersion reads "1.31.2", "v1.31.2" or "1.31" (patch 0). It ignores pre-release and build
// suffixes ("-alpha.1", "+k3s1"), so 1.24.0-alpha.1 counts as 1.24, because flags are removed with
// the first alpha.
func ParseVersion(s string) (Version, error) {
	core, _, _ := strings.Cut(strings.TrimPrefix(s, "v"), "+")
	core, _, _ = strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return Version{}, fmt.Errorf("read version %q: want MAJOR.MINOR or MAJOR.MINOR.PATCH", s)
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil || (len(p) > 1 && p[0] == '0') {
			return Version{}, fmt.Errorf("read version %q: %q is not a number", s, p)
		}
		n[i] = int(v)
	}
	return Version{Major: n[0], Minor: n[1], Patch: n[2]}, nil
}

// AtLeast reports whether v is major.minor or newer.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

// Before reports whether v is older than other.
func (v Version) Before(other Version) bool {
	return !v.AtLeast(other.Major, other.Minor) ||
		v.Major == other.Major && v.Minor == other.Minor && v.Patch < other.Patch
}

// IsZero reports whether no version is known.
func (v Version) IsZero() bool { return v == Version{} }

// String returns "1.31.2", or "" if no version is known.
func (v Version) String() string {
	if v.IsZero() {
		return ""
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// MarshalText makes a version a plain string in JSON.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// CIDRs are address ranges, canonical (host bits zero), at most one of each family, in the written
// order. As in Kubernetes' own flags, a document writes two families with a comma:
// "10.96.0.0/12,fd00::/108".
type CIDRs []netip.Prefix

// V4 returns the IPv4 range, or an invalid (zero) one if there is none.
func (c CIDRs) V4() netip.Prefix { return c.Family(true) }

// V6 returns the IPv6 range, or an invalid (zero) one if there is none.
func (c CIDRs) V6() netip.Prefix { return c.Family(false) }

func (c CIDRs) Family(v4 bool) netip.Prefix {
	return first(c, func(p netip.Prefix) bool { return p.Addr().Is4() == v4 })
}

// first returns the first element of a list for which is returns true, or the zero value if there
// is none.
func first[T any](list []T, is func(T) bool) (found T) {
	if i := slices.IndexFunc(list, is); i >= 0 {
		found = list[i]
	}
	return found
}

// joined returns the elements of a list with commas between them.
func joined[T fmt.Stringer](list []T) string {
	s := make([]string, len(list))
	for i, it := range list {
		s[i] = it.String()
	}
	return strings.Join(s, ",")
}

// String returns the ranges with commas between them, as Kubernetes' flags require.
func (c CIDRs) String() string { return joined(c) }

// SameFamily returns the range of p's family, or an invalid (zero) one if there is none.
func (c CIDRs) SameFamily(p netip.Prefix) netip.Prefix { return c.Family(p.Addr().Is4()) }

// Within reports whether all of p is in q.
func Within(p, q netip.Prefix) bool { return q.Bits() <= p.Bits() && q.Contains(p.Addr()) }

// Addresses are the addresses of one node, at most one of each family. As in kubelet's --node-ip, a
// document writes two with a comma: "10.0.0.1,fd00::1".
type Addresses []netip.Addr

// V4 returns the IPv4 address, or an invalid (zero) one if there is none.
func (a Addresses) V4() netip.Addr { return a.Family(true) }

// V6 returns the IPv6 address, or an invalid (zero) one if there is none.
func (a Addresses) V6() netip.Addr { return a.Family(false) }

func (a Addresses) Family(v4 bool) netip.Addr {
	return first(a, func(addr netip.Addr) bool { return addr.Is4() == v4 })
}

// String returns the addresses with commas between them.
func (a Addresses) String() string { return joined(a) }

// PortRange is a range of ports that includes both ends.
type PortRange struct {
	First, Last uint16
}

// String returns "30000-32767", which is also the kernel's form for
// net.ipv4.ip_local_reserved_ports.
func (r PortRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// MarshalText makes a range a plain string in JSON.
func (r PortRange) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Duration is a duration that prints as in documents.
type Duration time.Duration

// String returns the duration as documents write it.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText makes a duration a plain string in JSON.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
