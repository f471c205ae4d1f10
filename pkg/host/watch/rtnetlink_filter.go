package watch

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// A filter in the kernel drops the messages of rtnetlink about links, addresses, routes and sysctls
// of other programs: each pod causes some fifty, and each would wake the process. It may accept a
// message that does not matter, but must not drop one that does. [routeWatch.handle] judges what is
// accepted.

// filterMost is the largest number of names or values that the filter compares with one attribute.
// Where there are more, it accepts all messages with that attribute: the kernel's limit is 4096
// instructions.
const filterMost = 200

// Offsets in a message: struct nlmsghdr, and the header that follows it.
const (
	atType   = 4
	atFlags  = 6
	atBody   = unix.NLMSG_HDRLEN
	atIndex  = atBody + 4 // of struct ifinfomsg, and of struct ifaddrmsg
	atLength = atBody + 1 // of the destination, in struct rtmsg
	attrHead = unix.SizeofRtAttr
)

// program returns the filter for an interest. indexes are those of the links of the interest.
func (a *routeAim) program(indexes []int32) []unix.SockFilter {
	code := []unix.SockFilter{
		// A list has several messages in one buffer: accept it whole.
		loadA(unix.BPF_ABS|unix.BPF_H, atFlags), ifA(unix.BPF_JSET, native16(unix.NLM_F_MULTI), 0, 1), accept,
	}
	for _, part := range []struct {
		kinds [2]uint16
		code  []unix.SockFilter
	}{
		{[2]uint16{unix.RTM_NEWLINK, unix.RTM_DELLINK}, a.linkProgram(indexes)},
		{[2]uint16{unix.RTM_NEWADDR, unix.RTM_DELADDR}, a.addressProgram(indexes)},
		{[2]uint16{unix.RTM_NEWROUTE, unix.RTM_DELROUTE}, a.routeProgram()},
		{[2]uint16{unix.RTM_NEWNETCONF, unix.RTM_DELNETCONF}, a.netconfProgram(indexes)},
	} {
		code = append(code, loadA(unix.BPF_ABS|unix.BPF_H, atType),
			ifA(unix.BPF_JEQ, native16(part.kinds[0]), 2, 0),
			ifA(unix.BPF_JEQ, native16(part.kinds[1]), 1, 0), skip(len(part.code)))
		code = append(code, part.code...)
	}
	return append(code, accept)
}

// linkProgram accepts links by index, so also those that were renamed, and by name.
func (a *routeAim) linkProgram(indexes []int32) []unix.SockFilter {
	code := []unix.SockFilter{ // what is about a link as a bridge port does not matter
		loadA(unix.BPF_ABS|unix.BPF_B, atBody), ifA(unix.BPF_JEQ, unix.AF_UNSPEC, 1, 0), drop,
		loadA(unix.BPF_ABS|unix.BPF_W, atIndex),
	}
	code = append(code, anyOf(natives(indexes))...)
	code = append(code, find(atBody+unix.SizeofIfInfomsg, unix.IFLA_IFNAME)...)
	if len(a.links) > filterMost {
		return append(code, accept)
	}
	for name := range a.links {
		code = append(code, nameIs(name)...)
	}
	return append(code, drop)
}

// nameIs accepts a message whose attribute at X is a name. It compares words of four bytes, and
// then single bytes: the next word exists where the one before is the same and has no byte of zero.
func nameIs(name string) (code []unix.SockFilter) {
	text := append([]byte(name), 0)
	for at := 0; at < len(text); {
		width, size := uint16(unix.BPF_W), 4
		if len(text)-at < size {
			width, size = unix.BPF_B, 1
		}
		code = append(code, loadA(unix.BPF_IND|width, attrHead+uint32(at)),
			ifA(unix.BPF_JEQ, number(text[at:at+size]), 0, 0))
		at += size
	}
	for i := 1; i < len(code); i += 2 {
		code[i].Jf = uint8(len(code) - i)
	}
	return append(code, accept)
}

// addressProgram accepts addresses by value, for a link to one peer also by that of the peer, and
// all addresses of the links of the interest, if it has holders.
func (a *routeAim) addressProgram(indexes []int32) (code []unix.SockFilter) {
	if len(a.holders) > 0 {
		code = append(code, loadA(unix.BPF_ABS|unix.BPF_W, atIndex))
		code = append(code, anyOf(natives(indexes))...)
	}
	var keys []uint32
	for ip := range a.addresses {
		keys = append(keys, fold(ip))
	}
	for _, kind := range []uint32{unix.IFA_LOCAL, unix.IFA_ADDRESS} {
		code = append(code, folded(atBody+unix.SizeofIfAddrmsg, kind, anyOf(keys))...)
	}
	return append(code, drop)
}

// routeProgram accepts routes by destination, and all default routes.
func (a *routeAim) routeProgram() []unix.SockFilter {
	if a.ignoresRoutes() {
		return []unix.SockFilter{drop}
	}
	var keys []uint32
	for route := range a.routes {
		keys = append(keys, fold(route.dst.Addr())^uint32(route.dst.Bits()))
	}
	length := []unix.SockFilter{aToX, loadA(unix.BPF_ABS|unix.BPF_B, atLength), aXorX}
	code := find(atBody+unix.SizeofRtMsg, unix.RTA_DST)
	code = append(code, folded(atBody+unix.SizeofRtMsg, unix.RTA_DST, slices.Concat(length, anyOf(keys)))...)
	return append(code, drop)
}

// netconfProgram accepts what is about all links, about later ones, and about those of the
// interest.
func (a *routeAim) netconfProgram(indexes []int32) []unix.SockFilter {
	if len(a.conf) == 0 {
		return []unix.SockFilter{drop}
	}
	const head, ifindex = 4, 1 // see netconf
	code := find(atBody+head, ifindex)
	code = append(code, loadA(unix.BPF_IND|unix.BPF_W, attrHead))
	code = append(code, anyOf(natives(append(slices.Clone(indexes), -1, -2)))...)
	return append(code, drop)
}

// find loads the offset of an attribute into X. It accepts a message without the attribute.
func find(from, kind uint32) []unix.SockFilter { return seek(from, kind, accept) }

// seek loads the offset of an attribute into X; absent is what it does without the attribute.
func seek(from, kind uint32, absent unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{
		loadX(kind), loadA(unix.BPF_IMM, from), findAttr, ifA(unix.BPF_JEQ, 0, 0, 1), absent, aToX,
	}
}

// folded loads an attribute that is an address into A, as [fold] folds it, and continues with rest.
// It goes on behind rest where the message has no such attribute.
func folded(from, kind uint32, rest []unix.SockFilter) []unix.SockFilter {
	address := []unix.SockFilter{
		loadA(unix.BPF_ABS|unix.BPF_B, atBody), // the family
		ifA(unix.BPF_JEQ, unix.AF_INET, 8, 0), ifA(unix.BPF_JEQ, unix.AF_INET6, 1, 0), accept,
		loadA(unix.BPF_IND|unix.BPF_W, attrHead+4), aToM,
		loadA(unix.BPF_IND|unix.BPF_W, attrHead+12), mToX, aXorX, skip(1),
		loadA(unix.BPF_IND|unix.BPF_W, attrHead), // of IPv4
	}
	return slices.Concat(seek(from, kind, skip(1+len(address)+len(rest))), address, rest)
}

// fold returns a number of 32 bits for an address, where few others have the same.
func fold(ip netip.Addr) uint32 {
	b := ip.AsSlice()
	if len(b) == net.IPv6len {
		return number(b[4:8]) ^ number(b[12:16])
	}
	return number(b)
}

// anyOf accepts a message where A is any of the values.
func anyOf(values []uint32) (code []unix.SockFilter) {
	if len(values) > filterMost {
		return []unix.SockFilter{accept}
	}
	for _, value := range values {
		code = append(code, ifA(unix.BPF_JEQ, value, 0, 1), accept)
	}
	return code
}

// native16 returns the filter's value for a word in the machine's order.
func native16(n uint16) uint32 { return number(binary.NativeEndian.AppendUint16(nil, n)) }

// natives returns the filter's values for words in the machine's order.
func natives(list []int32) (out []uint32) {
	for _, n := range list {
		out = append(out, number(binary.NativeEndian.AppendUint32(nil, uint32(n))))
	}
	return out
}
