package decode

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/problem"
)

// CIDRs reads one range, or one range of each family with a comma between them.
func CIDRs(name string, to *values.CIDRs) Field {
	return Field{Name: name, Set: func(v Reading) {
		if v.Kind != document.KindString {
			v.WrongKind("a string: a range such as 100.96.0.0/11, or one of each family with a comma")
			return
		}
		var all values.CIDRs
		for s := range strings.SplitSeq(v.Text, ",") {
			p, ok := prefix(v, strings.TrimSpace(s))
			if !ok {
				return
			}
			all = append(all, p)
		}
		if oneOfEachFamily(v, all) {
			*to = all
		}
	}}
}

// CIDRList reads a list of ranges, at most one of each family.
func CIDRList(name string, to *values.CIDRs) Field {
	return Field{Name: name, Set: func(v Reading) {
		var all []netip.Prefix
		before := v.Doc.Errors
		Ranges(name, &all).Set(v)
		if v.Doc.Errors == before && oneOfEachFamily(v, all) {
			*to = all
		}
	}}
}

func prefix(v Reading, s string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(s)
	switch {
	case err != nil:
		hint := misspelt(s)
		if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
			hint = fmt.Sprintf("an address alone is %s", netip.PrefixFrom(a, a.BitLen()))
		}
		v.Bad("a range such as 100.96.0.0/11 or fd00:10::/64", hint)
		return p, false
	case p.Addr().Is4In6():
		v.Bad("an IPv4 or an IPv6 range, not IPv4 written as IPv6", "")
		return p, false
	case p != p.Masked():
		v.Bad("a range whose host bits are zero", fmt.Sprintf("did you mean %s?", p.Masked()))
		return p, false
	}
	return p, true
}

// misspelt returns why a text is no address or range, if the reason is not obvious.
func misspelt(s string) string {
	address, length, _ := strings.Cut(s, "/")
	if _, zone, has := strings.Cut(address, "%"); has {
		return fmt.Sprintf("take %%%s out: a zone names a link of one machine", document.Clip(zone))
	}
	parts := strings.Split(address, ".")
	for i, part := range parts {
		if short := strings.TrimLeft(part, "0"); short != part {
			parts[i] = cmp.Or(short, "0")
		}
	}
	meant := strings.Join(parts, ".")
	if length != "" {
		meant += "/" + length
	}
	_, notAddress := netip.ParseAddr(meant)
	_, notRange := netip.ParsePrefix(meant)
	if meant != s && (notAddress == nil || notRange == nil) {
		return fmt.Sprintf("did you mean %s? A number that begins with 0 is octal to some programs, and is refused",
			meant)
	}
	if why := misspeltAddress(address); why != "" {
		return why
	}
	return misspeltLength(address, length)
}

// misspeltAddress returns why a text is no address, or "" if there is no simple reason.
func misspeltAddress(s string) string {
	if _, err := netip.ParseAddr(s); err == nil {
		return ""
	}
	parts := strings.Split(s, ".")
	switch {
	case strings.ContainsAny(s, " ;"):
		return "take the blanks out; two ranges have a comma between them"
	case strings.HasPrefix(s, "["):
		return "take the brackets out"
	case strings.Contains(s, ":"):
		return "an IPv6 address has up to eight groups of hex digits, and :: once"
	case strings.Trim(s, "0123456789.") != "":
		return "" // a word, and no address
	case len(parts) != 4:
		return fmt.Sprintf("an IPv4 address has four numbers, and this has %d", len(parts))
	}
	for _, part := range parts {
		if n, err := strconv.Atoi(part); err != nil || n > 255 {
			return fmt.Sprintf("%q is no number from 0 to 255", document.Clip(part))
		}
	}
	return ""
}

// misspeltLength returns why a text is no prefix length for an address.
func misspeltLength(address, length string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || length == "" {
		return ""
	}
	if mask, err := netip.ParseAddr(length); err == nil && mask.Is4() {
		if ones, bits := net.IPMask(mask.AsSlice()).Size(); bits > 0 {
			return fmt.Sprintf("did you mean %s/%d?", address, ones)
		}
	}
	if n, err := strconv.Atoi(length); err == nil && n >= 0 && n <= a.BitLen() {
		return fmt.Sprintf("did you mean %s/%d?", address, n)
	}
	return fmt.Sprintf("write a length from 0 to %d after the /", a.BitLen())
}

func oneOfEachFamily(v Reading, all values.CIDRs) bool {
	if len(all) > 2 || len(all) == 2 && all[0].Addr().Is4() == all[1].Addr().Is4() {
		v.Error(document.Diagnostic{ID: problem.FieldValue,
			Summary:  fmt.Sprintf("%s has two ranges of one family: %s", v.Path, document.Clip(all.String())),
			Expected: "one range, or one IPv4 and one IPv6 range"})
		return false
	}
	return true
}

// Addresses reads one address, or one address of each family with a comma between them.
func Addresses(name string, to *values.Addresses) Field {
	return Field{Name: name, Set: func(v Reading) {
		const expected = "an address such as 10.0.0.1, or one of each family with a comma: 10.0.0.1,fd00::1"
		if v.Kind != document.KindString {
			v.WrongKind("a string: " + expected)
			return
		}
		var all values.Addresses
		for s := range strings.SplitSeq(v.Text, ",") {
			a, err := netip.ParseAddr(strings.TrimSpace(s))
			hint := misspelt(s)
			if p, err := netip.ParsePrefix(s); err == nil {
				hint = fmt.Sprintf("without the length: %s", p.Addr())
			}
			if err != nil || a.Zone() != "" || a.Is4In6() || a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() {
				v.Bad(expected, hint)
				return
			}
			all = append(all, a)
		}
		if len(all) > 2 || len(all) == 2 && all[0].Is4() == all[1].Is4() {
			v.Bad("one address, or one of each family", "")
			return
		}
		*to = all
	}}
}

// Ports reads a range such as 30000-32767. In a document of kOps it may also be 30000+2767 or
// 30000, as in Kubernetes' own flags.
// https://github.com/kubernetes/apimachinery/blob/master/pkg/util/net/port_range.go
func Ports(name string, to *values.PortRange) Field {
	return Field{Name: name, Set: func(v Reading) {
		first, last, _ := strings.Cut(v.Text, "-")
		if v.Doc.Dialect.Lenient {
			first, last = portEnds(v.Text)
		}
		f, err1 := strconv.ParseUint(first, 10, 16)
		l, err2 := strconv.ParseUint(last, 10, 16)
		if v.Kind != document.KindString || err1 != nil || err2 != nil || f == 0 || f > l {
			hint := ""
			if err1 == nil && err2 == nil && f > l {
				hint = fmt.Sprintf("did you mean %d-%d?", l, f)
			}
			v.Bad("a range of ports such as 30000-32767", hint)
			return
		}
		*to = values.PortRange{First: uint16(f), Last: uint16(l)}
	}}
}

// portEnds returns the first and the last port of a range in any form that Kubernetes accepts.
func portEnds(text string) (first, last string) {
	text = strings.TrimSpace(text)
	if first, last, hyphen := strings.Cut(text, "-"); hyphen {
		return first, last
	}
	first, more, plus := strings.Cut(text, "+")
	if !plus {
		return text, text
	}
	low, _ := strconv.Atoi(first)
	offset, err := strconv.Atoi(more)
	if err != nil {
		return first, ""
	}
	return first, strconv.Itoa(low + offset)
}

// Ranges reads a list of ranges.
func Ranges(name string, to *[]netip.Prefix) Field {
	return Each(name, to, func(p *netip.Prefix) Set {
		return func(v Reading) {
			if v.Kind != document.KindString {
				v.WrongKind("a string: a range such as 100.96.1.0/24")
				return
			}
			*p, _ = prefix(v, v.Text)
		}
	})
}

// EachAddress reads a list of host addresses.
func EachAddress(name string, to *[]netip.Addr) Field {
	return Field{Name: name, Set: func(v Reading) {
		*to = nil
		v.List(func(item Reading) {
			var one values.Addresses
			Addresses(name, &one).Set(item)
			*to = append(*to, one...)
		})
	}}
}
