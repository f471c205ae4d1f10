package firewall

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// decodeRule decodes a rule of the kernel. The decoded rule must encode to exactly the kernel's
// expressions. If it does not, the result is an unknown rule.
func decodeRule(table string, raw rawRule) NFRule {
	d := decoder{rest: raw.exprs}
	for raw.decodable() && len(d.rest) > 0 && d.step() {
	}
	d.rule.Comment = raw.comment
	if len(d.rest) == 0 && d.rule.check() == nil && sameExprs(raw.exprs, d.rule.exprs(table)) {
		return d.rule
	}
	return NFRule{Unknown: raw.describe()}
}

type decoder struct {
	rest []expr.Any
	rule NFRule
}

// step decodes one match or the verdict from rest. It returns false for an unknown one.
func (d *decoder) step() bool {
	switch e := d.rest[0].(type) {
	case *expr.Meta:
		cmp, ok := at[*expr.Cmp](d.rest, 1)
		return ok && d.meta(e.Key, cmp) && d.take(2)
	case *expr.Payload:
		if mask, ok := at[*expr.Bitwise](d.rest, 1); ok {
			cmp, ok := at[*expr.Cmp](d.rest, 2)
			return ok && d.address(e, mask.Mask, cmp) && d.take(3)
		}
		cmp, ok := at[*expr.Cmp](d.rest, 1)
		return ok && d.address(e, bytes.Repeat([]byte{0xff}, int(e.Len)), cmp) && d.take(2)
	case *expr.Fib:
		cmp, ok := at[*expr.Cmp](d.rest, 1)
		if !ok {
			return false
		}
		local := cmp.Op == expr.CmpOpEq
		d.rule.DstLocal = &local
		return d.take(2)
	case *expr.Ct:
		mask, ok := at[*expr.Bitwise](d.rest, 1)
		if !ok || len(mask.Mask) != 4 {
			return false
		}
		bits := binaryutil.NativeEndian.Uint32(mask.Mask)
		for i, s := range ctStates {
			if bits&ctBits[i] != 0 {
				d.rule.CTState = append(d.rule.CTState, s)
			}
		}
		return d.take(3)
	}
	for name, verdict := range nftVerdicts {
		if sameExprs(d.rest[:1], []expr.Any{verdict}) {
			d.rule.Verdict = name
			return d.take(1)
		}
	}
	return false
}

func (d *decoder) take(n int) bool {
	if len(d.rest) < n {
		return false
	}
	d.rest = d.rest[n:]
	return true
}

func (d *decoder) meta(key expr.MetaKey, cmp *expr.Cmp) bool {
	name := string(bytes.TrimRight(cmp.Data, "\x00"))
	if len(cmp.Data) < unix.IFNAMSIZ {
		name += "*"
	}
	switch {
	case key == expr.MetaKeyNFPROTO && len(cmp.Data) == 1:
		d.rule.Family = 4
		if cmp.Data[0] == unix.NFPROTO_IPV6 {
			d.rule.Family = 6
		}
	case key == expr.MetaKeyIIFNAME && cmp.Op == expr.CmpOpEq:
		d.rule.IIF = name
	case key == expr.MetaKeyIIFNAME:
		d.rule.IIFNot = name
	case key == expr.MetaKeyOIFNAME && cmp.Op == expr.CmpOpEq:
		d.rule.OIF = name
	case key == expr.MetaKeyOIFNAME:
		d.rule.OIFNot = name
	default:
		return false
	}
	return true
}

func (d *decoder) address(p *expr.Payload, mask []byte, cmp *expr.Cmp) bool {
	addr, ok := netip.AddrFromSlice(cmp.Data)
	if !ok {
		return false
	}
	bits := 0
	for _, b := range mask {
		for ; b&0x80 != 0; b <<= 1 {
			bits++
		}
	}
	prefix := netip.PrefixFrom(addr, bits)
	eq := cmp.Op == expr.CmpOpEq
	switch source := p.Offset == srcAddr.payload(addr.Is4()).Offset; {
	case source && eq:
		d.rule.SrcIn = append(d.rule.SrcIn, prefix)
	case source:
		d.rule.SrcNotIn = append(d.rule.SrcNotIn, prefix)
	case eq:
		d.rule.DstIn = append(d.rule.DstIn, prefix)
	default:
		d.rule.DstNotIn = append(d.rule.DstNotIn, prefix)
	}
	return true
}

// at returns element i of a list if it is of type T.
func at[T expr.Any](list []expr.Any, i int) (T, bool) {
	var none T
	if i >= len(list) {
		return none, false
	}
	e, ok := list[i].(T)
	return e, ok
}

// sameExprs compares expressions by their encoded form.
func sameExprs(a, b []expr.Any) bool {
	return slices.EqualFunc(a, b, func(x, y expr.Any) bool {
		xs, errX := expr.Marshal(unix.NFPROTO_INET, x)
		ys, errY := expr.Marshal(unix.NFPROTO_INET, y)
		return errX == nil && errY == nil && bytes.Equal(xs, ys)
	})
}
