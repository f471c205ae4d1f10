package residue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// XFRM is an IPsec policy or state, with the fields that show which program made it. It does not
// store keys.
type XFRM struct {
	Policy     bool         // false: a state
	Dir        string       // of a policy: in, out, fwd
	Src, Dst   netip.Prefix // the selector of a policy; the endpoints of a state
	Mark, Mask uint32
	ReqID      int    // of a policy: of its first template
	SPI        uint32 // likewise
	IfID       int
	Priority   int // of a policy

	policy *netlink.XfrmPolicy
	state  *netlink.XfrmState
}

// String returns the identifying fields in the syntax of `ip xfrm`.
func (x XFRM) String() string {
	kind := "state"
	if x.Policy {
		kind = "policy " + x.Dir
	}
	out := fmt.Sprintf("%s %s %s", kind, x.Src, x.Dst)
	if x.SPI != 0 {
		out += fmt.Sprintf(" spi %#x", x.SPI)
	}
	if x.Mark != 0 || x.Mask != 0 {
		out += fmt.Sprintf(" mark %#x/%#x", x.Mark, x.Mask)
	}
	if x.ReqID != 0 {
		out += fmt.Sprintf(" reqid %d", x.ReqID)
	}
	if x.IfID != 0 {
		out += fmt.Sprintf(" if_id %d", x.IfID)
	}
	return out
}

// XFRM lists the IPsec policies and states, without loading a module.
func (r Reader) XFRM(ctx context.Context) ([]XFRM, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	if !sys.HasModule("/", "xfrm_user", "CONFIG_XFRM_USER") {
		return nil, nil
	}
	var out []XFRM
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		policies, err := sys.Dump(ctx, "policies of IPsec",
			func() ([]netlink.XfrmPolicy, error) { return netlink.XfrmPolicyList(family) })
		if err != nil {
			return nil, err
		}
		for _, p := range policies {
			out = append(out, xfrmPolicy(p))
		}
		states, err := sys.Dump(ctx, "states of IPsec",
			func() ([]netlink.XfrmState, error) { return netlink.XfrmStateList(family) })
		if err != nil {
			return nil, err
		}
		for _, s := range states {
			out = append(out, xfrmState(s))
		}
	}
	return out, nil
}

func xfrmPolicy(p netlink.XfrmPolicy) XFRM {
	out := XFRM{Policy: true, Dir: xfrmDir(p.Dir), Src: sys.Prefix(p.Src), Dst: sys.Prefix(p.Dst), IfID: p.Ifid,
		Priority: p.Priority, policy: &p}
	if p.Mark != nil {
		out.Mark, out.Mask = p.Mark.Value, p.Mark.Mask
	}
	if len(p.Tmpls) > 0 {
		out.ReqID, out.SPI = p.Tmpls[0].Reqid, uint32(p.Tmpls[0].Spi)
	}
	return out
}

func xfrmDir(d netlink.Dir) string {
	switch d {
	case netlink.XFRM_DIR_IN:
		return "in"
	case netlink.XFRM_DIR_OUT:
		return "out"
	case netlink.XFRM_DIR_FWD:
		return "fwd"
	}
	return "socket" // of one socket: the kernel removes it with the socket
}

func xfrmState(s netlink.XfrmState) XFRM {
	s.Auth, s.Crypt, s.Aead = nil, nil, nil // keys
	out := XFRM{Src: hostPrefix(s.Src), Dst: hostPrefix(s.Dst), ReqID: s.Reqid, SPI: uint32(s.Spi), IfID: s.Ifid,
		state: &s}
	if s.Mark != nil {
		out.Mark, out.Mask = s.Mark.Value, s.Mark.Mask
	}
	return out
}

func hostPrefix(ip net.IP) netip.Prefix {
	addr, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.Prefix{}
	}
	addr = addr.Unmap()
	return netip.PrefixFrom(addr, addr.BitLen())
}

// RemoveXFRM removes IPsec policies and states, as they were read. It removes policies first,
// because a policy without a state drops packets. Missing ones are success. The kernel deletes the
// first state with the given SPI and a matching mark. So if a state that must stay has the same
// SPI, this is an error, and both stay. It may be retried.
func (w Writer) RemoveXFRM(ctx context.Context, gone []XFRM) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	all, err := w.XFRM(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, x := range gone {
		if x.Policy {
			failed = append(failed, w.delXFRM(x, func() error { return netlink.XfrmPolicyDel(x.policy) }))
		}
	}
	for _, x := range gone {
		if x.Policy {
			continue
		}
		if i := slices.IndexFunc(all,
			func(o XFRM) bool { return o.shadows(x) && !slices.ContainsFunc(gone, o.same) }); i >= 0 {
			failed = append(failed, fmt.Errorf("remove %s of IPsec: %s, of another program, has the same "+
				"number, and the kernel would remove that one: `ip xfrm state` shows both", x, all[i]))
			continue
		}
		failed = append(failed, w.delXFRM(x, func() error { return netlink.XfrmStateDel(x.state) }))
	}
	return errors.Join(failed...)
}

func (w Writer) delXFRM(x XFRM, del func() error) error {
	err := del()
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s of IPsec: %w", x, err)
	}
	w.changed("removed from IPsec", zap.Stringer("xfrm", x))
	return nil
}

// LeadsTo reports whether a policy sends packets to a state: by the address and SPI of a template,
// or without an SPI by both addresses and the reqid.
func (x XFRM) LeadsTo(s XFRM) bool {
	return x.Policy && !s.Policy && slices.ContainsFunc(x.policy.Tmpls, func(t netlink.XfrmPolicyTmpl) bool {
		named := uint32(t.Spi) == s.SPI
		if t.Spi == 0 {
			named = t.Reqid != 0 && t.Reqid == s.ReqID && t.Src.Equal(s.state.Src)
		}
		return named && t.Proto == s.state.Proto && t.Dst.Equal(s.state.Dst)
	})
}

// same reports whether two values are the same policy or state.
func (x XFRM) same(o XFRM) bool {
	x.policy, x.state, o.policy, o.state = nil, nil, nil, nil
	return x == o
}

// shadows reports whether the kernel may find x when it looks up the state o
// (net/xfrm/xfrm_state.c, __xfrm_state_lookup).
func (x XFRM) shadows(o XFRM) bool {
	return !x.Policy && !x.same(o) && x.Dst == o.Dst && x.SPI == o.SPI && x.state.Proto == o.state.Proto &&
		x.IfID == o.IfID && o.Mark&x.Mask == x.Mark
}
