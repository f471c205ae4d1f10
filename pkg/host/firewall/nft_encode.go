package firewall

import (
	"net/netip"
	"slices"

	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// The terms of [Table] and their values in the kernel.
var (
	ipFamilies = []string{"ip", "ip6", "inet"} // families with IP packets
	// ipHooks are the hooks of these families by number (linux/netfilter.h, NF_INET_…).
	ipHooks     = []string{"prerouting", "input", "forward", "output", "postrouting"}
	nftVerdicts = map[string]expr.Any{
		"accept": &expr.Verdict{Kind: expr.VerdictAccept}, "drop": &expr.Verdict{Kind: expr.VerdictDrop},
		"return": &expr.Verdict{Kind: expr.VerdictReturn}, "masquerade": &expr.Masq{},
		"masquerade fully-random": &expr.Masq{FullyRandom: true},
	}
	// ctStates are in the order in which nft prints them; ctBits are their bits (NF_CT_STATE_BIT).
	ctStates = []string{"invalid", "established", "related", "new", "untracked"}
	ctBits   = []uint32{expr.CtStateBitINVALID, expr.CtStateBitESTABLISHED, expr.CtStateBitRELATED, expr.CtStateBitNEW,
		expr.CtStateBitUNTRACKED}
)

// maxLinkName is the longest name of a link: IFNAMSIZ without the final NUL.
const maxLinkName = unix.IFNAMSIZ - 1

// reg is the only register that the agent's rules use.
const reg = unix.NFT_REG_1

// exprs encodes a canonical rule of a table for the kernel: matches in the order of [NFRule]'s
// fields, then the verdict.
func (r NFRule) exprs(table string) []expr.Any {
	var out []expr.Any
	if table == "inet" && r.Family != 0 {
		proto := byte(unix.NFPROTO_IPV4)
		if r.Family == 6 {
			proto = unix.NFPROTO_IPV6
		}
		out = append(out, &expr.Meta{Key: expr.MetaKeyNFPROTO, Register: reg}, compare(expr.CmpOpEq, []byte{proto}))
	}
	out = append(out, addressExprs(srcAddr, expr.CmpOpEq, r.SrcIn)...)
	out = append(out, addressExprs(srcAddr, expr.CmpOpNeq, r.SrcNotIn)...)
	out = append(out, addressExprs(dstAddr, expr.CmpOpEq, r.DstIn)...)
	out = append(out, addressExprs(dstAddr, expr.CmpOpNeq, r.DstNotIn)...)
	out = append(out, nameExprs(expr.MetaKeyIIFNAME, expr.CmpOpEq, r.IIF)...)
	out = append(out, nameExprs(expr.MetaKeyIIFNAME, expr.CmpOpNeq, r.IIFNot)...)
	out = append(out, nameExprs(expr.MetaKeyOIFNAME, expr.CmpOpEq, r.OIF)...)
	out = append(out, nameExprs(expr.MetaKeyOIFNAME, expr.CmpOpNeq, r.OIFNot)...)
	if r.DstLocal != nil {
		op := expr.CmpOpNeq
		if *r.DstLocal {
			op = expr.CmpOpEq
		}
		out = append(out, &expr.Fib{Register: reg, FlagDADDR: true, ResultADDRTYPE: true},
			compare(op, binaryutil.NativeEndian.PutUint32(unix.RTN_LOCAL)))
	}
	if len(r.CTState) > 0 {
		var mask uint32
		for i, s := range ctStates {
			if slices.Contains(r.CTState, s) {
				mask |= ctBits[i]
			}
		}
		zero := make([]byte, 4)
		out = append(out,
			&expr.Ct{Register: reg, Key: expr.CtKeySTATE},
			&expr.Bitwise{SourceRegister: reg, DestRegister: reg, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(mask),
				Xor: zero},
			compare(expr.CmpOpNeq, zero))
	}
	if r.Verdict == dnat {
		family := uint32(unix.NFPROTO_IPV4)
		if r.DNAT.Is6() {
			family = unix.NFPROTO_IPV6
		}
		return append(out, &expr.Immediate{Register: reg, Data: r.DNAT.AsSlice()},
			&expr.NAT{Type: expr.NATTypeDestNAT, Family: family, RegAddrMin: reg, RegAddrMax: reg})
	}
	return append(out, nftVerdicts[r.Verdict])
}

// dnat is the verdict that needs an address, [NFRule.DNAT].
const dnat = "dnat"

func compare(op expr.CmpOp, data []byte) expr.Any {
	return &expr.Cmp{Op: op, Register: reg, Data: data}
}

// field is the offset of an address in the IPv4 and in the IPv6 header.
type field struct{ v4, v6 uint32 }

var (
	srcAddr = field{12, 8}
	dstAddr = field{16, 24}
)

func (f field) payload(v4 bool) *expr.Payload {
	if v4 {
		return &expr.Payload{DestRegister: reg, Base: expr.PayloadBaseNetworkHeader, Offset: f.v4, Len: 4}
	}
	return &expr.Payload{DestRegister: reg, Base: expr.PayloadBaseNetworkHeader, Offset: f.v6, Len: 16}
}

func addressExprs(f field, op expr.CmpOp, list []netip.Prefix) []expr.Any {
	var out []expr.Any
	for _, p := range list {
		size := p.Addr().BitLen() / 8
		out = append(out, f.payload(p.Addr().Is4()))
		if !p.IsSingleIP() {
			out = append(out, &expr.Bitwise{SourceRegister: reg, DestRegister: reg, Len: uint32(size),
				Mask: sys.IPNet(p).Mask, Xor: make([]byte, size)})
		}
		out = append(out, compare(op, p.Addr().AsSlice()))
	}
	return out
}

func nameExprs(key expr.MetaKey, op expr.CmpOp, name string) []expr.Any {
	if name == "" {
		return nil
	}
	// A whole name is compared with its padding, a prefix (eth*) without.
	data := make([]byte, unix.IFNAMSIZ)
	n := copy(data, name)
	if name[n-1] == '*' {
		data = data[:n-1]
	}
	return []expr.Any{&expr.Meta{Key: key, Register: reg}, compare(op, data)}
}
