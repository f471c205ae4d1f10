package watch

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"golang.org/x/net/bpf"
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
	atIndex  = atBody + 4 // of struct ifinfomsg
	atLength = atBody + 1 // of the destination, in struct rtmsg
	attrHead = unix.SizeofRtAttr
)

var (
	accept = bpf.RetConstant{Val: 1 << 16}
	drop   = bpf.RetConstant{Val: 0}
)

// program returns the filter for an interest. indexes are those of the links of the interest.
func (a *routeAim) program(indexes []int32) []bpf.Instruction {
	code := []bpf.Instruction{
		// A list has several messages in one buffer: accept it whole.
		bpf.LoadAbsolute{Off: atFlags, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: native16(unix.NLM_F_MULTI), SkipFalse: 1}, accept,
	}
	for _, part := range []struct {
		kinds [2]uint16
		code  []bpf.Instruction
	}{
		{[2]uint16{unix.RTM_NEWLINK, unix.RTM_DELLINK}, a.linkProgram(indexes)},
		{[2]uint16{unix.RTM_NEWADDR, unix.RTM_DELADDR}, a.addressProgram()},
		{[2]uint16{unix.RTM_NEWROUTE, unix.RTM_DELROUTE}, a.routeProgram()},
		{[2]uint16{unix.RTM_NEWNETCONF, unix.RTM_DELNETCONF}, a.netconfProgram(indexes)},
	} {
		code = append(code, bpf.LoadAbsolute{Off: atType, Size: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: native16(part.kinds[0]), SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: native16(part.kinds[1]), SkipFalse: 1},
			bpf.Jump{Skip: uint32(len(part.code))})
		code = append(code, part.code...)
	}
	return append(code, accept)
}

// linkProgram accepts links by index, so also those that were renamed, and by name.
func (a *routeAim) linkProgram(indexes []int32) []bpf.Instruction {
	code := []bpf.Instruction{ // what is about a link as a bridge port does not matter
		bpf.LoadAbsolute{Off: atBody, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNSPEC, SkipTrue: 1}, drop,
		bpf.LoadAbsolute{Off: atIndex, Size: 4},
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

// nameIs accepts a message whose attribute at X is a name. It compares words of four bytes: the
// next word exists where the one before is the same and has no byte of zero.
func nameIs(name string) (code []bpf.Instruction) {
	const word = 4
	text := append([]byte(name), 0)
	compare := func(at, size int) {
		code = append(code, bpf.LoadIndirect{Off: uint32(attrHead + at), Size: size},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number(text[at : at+size])})
	}
	at := 0
	for ; len(text)-at >= word; at += word {
		compare(at, word)
	}
	for ; at < len(text); at++ {
		compare(at, 1)
	}
	code = append(code, accept)
	for i, one := range code {
		if jump, is := one.(bpf.JumpIf); is {
			jump.SkipTrue = uint8(len(code) - i - 1)
			code[i] = jump
		}
	}
	return code
}

// addressProgram accepts addresses by value, for a link to one peer also by that of the peer.
func (a *routeAim) addressProgram() (code []bpf.Instruction) {
	if len(a.addresses) == 0 {
		return []bpf.Instruction{drop}
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
func (a *routeAim) routeProgram() []bpf.Instruction {
	if len(a.routes) == 0 {
		return []bpf.Instruction{drop}
	}
	var keys []uint32
	for route := range a.routes {
		keys = append(keys, fold(route.dst.Addr())^uint32(route.dst.Bits()))
	}
	length := []bpf.Instruction{bpf.TAX{}, bpf.LoadAbsolute{Off: atLength, Size: 1}, bpf.ALUOpX{Op: bpf.ALUOpXor}}
	code := find(atBody+unix.SizeofRtMsg, unix.RTA_DST)
	code = append(code, folded(atBody+unix.SizeofRtMsg, unix.RTA_DST, slices.Concat(length, anyOf(keys)))...)
	return append(code, drop)
}

// netconfProgram accepts what is about all links, about later ones, and about those of the
// interest.
func (a *routeAim) netconfProgram(indexes []int32) []bpf.Instruction {
	if len(a.conf) == 0 {
		return []bpf.Instruction{drop}
	}
	const head, ifindex = 4, 1 // see netconf
	code := find(atBody+head, ifindex)
	code = append(code, bpf.LoadIndirect{Off: attrHead, Size: 4})
	code = append(code, anyOf(natives(append(slices.Clone(indexes), -1, -2)))...)
	return append(code, drop)
}

// find loads the offset of an attribute into X. It accepts a message without the attribute.
func find(from, kind uint32) []bpf.Instruction { return seek(from, kind, accept) }

// seek loads the offset of an attribute into X; absent is what it does without the attribute.
func seek(from, kind uint32, absent bpf.Instruction) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadConstant{Dst: bpf.RegX, Val: kind}, bpf.LoadConstant{Dst: bpf.RegA, Val: from},
		bpf.LoadExtension{Num: bpf.ExtNetlinkAttr},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1}, absent, bpf.TAX{},
	}
}

// folded loads an attribute that is an address into A, as [fold] folds it, and continues with rest.
// It goes on behind rest where the message has no such attribute.
func folded(from, kind uint32, rest []bpf.Instruction) []bpf.Instruction {
	address := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atBody, Size: 1}, // the family
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 8},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1}, accept,
		bpf.LoadIndirect{Off: attrHead + 4, Size: 4}, bpf.StoreScratch{Src: bpf.RegA},
		bpf.LoadIndirect{Off: attrHead + 12, Size: 4}, bpf.LoadScratch{Dst: bpf.RegX}, bpf.ALUOpX{Op: bpf.ALUOpXor},
		bpf.Jump{Skip: 1},
		bpf.LoadIndirect{Off: attrHead, Size: 4}, // of IPv4
	}
	return slices.Concat(seek(from, kind, bpf.Jump{Skip: uint32(1 + len(address) + len(rest))}), address, rest)
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
func anyOf(values []uint32) (code []bpf.Instruction) {
	if len(values) > filterMost {
		return []bpf.Instruction{accept}
	}
	for _, value := range values {
		code = append(code, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: value, SkipTrue: 1}, accept)
	}
	return code
}

// number returns the value that the filter, which reads big-endian words, has for these bytes.
func number(b []byte) (n uint32) {
	for _, one := range b {
		n = n<<8 | uint32(one)
	}
	return n
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
