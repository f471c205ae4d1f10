package residue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// The hooks where a [Program] can be attached.
const (
	HookTC     = "tc"
	HookXDP    = "xdp"
	HookCgroup = "cgroup"
)

// Program is an eBPF program at the place where it is attached. It stays attached after the network
// is gone, also to physical devices.
type Program struct {
	Hook  string
	Name  string // tc: as `tc filter show` names it; else the kernel's name, at most 15 characters
	Where string // "eth0 ingress", "eth0", "/sys/fs/cgroup connect4"

	filter   *netlink.BpfFilter
	link     int    // XDP: index of the link
	mode     uint32 // XDP_ATTACHED_…
	cgroup   string
	attach   uint32 // cgroup: the hook
	id       uint32 // the kernel's number of the program
	pinnedBy uint32 // TCX: the eBPF link that attaches the program
}

// String describes the program and where it is attached.
func (p Program) String() string { return p.Hook + " " + p.Where + " " + p.Name }

// Programs lists the eBPF programs at tc, XDP and the cgroup2 roots, without loading a module.
func (r Reader) Programs(ctx context.Context) ([]Program, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	links, err := sys.Dump(ctx, "links", netlink.LinkList)
	if err != nil {
		return nil, err
	}
	qdiscs, err := sys.Dump(ctx, "queueing disciplines",
		func() ([]netlink.Qdisc, error) { return netlink.QdiscList(nil) })
	if err != nil {
		return nil, err
	}
	var out []Program
	for _, l := range links {
		if steers(qdiscs, l.Attrs().Index) != nil {
			programs, err := r.filters(ctx, l)
			if err != nil {
				return nil, err
			}
			out = append(out, programs...)
		}
		programs, err := tcxPrograms(l)
		if err != nil {
			return nil, fmt.Errorf("list the eBPF programs of %s: %w", l.Attrs().Name, err)
		}
		out = append(out, programs...)
		if xdp := l.Attrs().Xdp; xdp != nil && xdp.Attached {
			name, err := programName(xdp.ProgId)
			if err != nil {
				return nil, fmt.Errorf("read the XDP program of %s: %w", l.Attrs().Name, err)
			}
			out = append(out, Program{Hook: HookXDP, Name: name, Where: l.Attrs().Name, link: l.Attrs().Index,
				mode: xdp.AttachMode, id: xdp.ProgId})
		}
	}
	attached, err := cgroupPrograms()
	return append(out, attached...), err
}

// steers returns the qdisc of a link that has ingress and egress filters (clsact or ingress), or
// nil.
func steers(all []netlink.Qdisc, link int) netlink.Qdisc {
	i := slices.IndexFunc(all, func(q netlink.Qdisc) bool {
		return q.Attrs().LinkIndex == link && (q.Type() == "clsact" || q.Type() == "ingress")
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// The two parents of clsact; the qdisc ingress has only the first.
var steeredWays = []struct {
	name   string
	parent uint32
}{{"ingress", netlink.HANDLE_MIN_INGRESS}, {"egress", netlink.HANDLE_MIN_EGRESS}}

func (r Reader) filters(ctx context.Context, l netlink.Link) ([]Program, error) {
	if err := r.ready(ctx); err != nil {
		return nil, err
	}
	var out []Program
	for _, way := range steeredWays {
		filters, err := sys.Dump(ctx, "filters of "+l.Attrs().Name,
			func() ([]netlink.Filter, error) { return netlink.FilterList(l, way.parent) })
		if errors.Is(err, unix.ENODEV) {
			continue // the link is gone
		}
		if err != nil {
			return nil, err
		}
		for _, f := range filters {
			if f, is := f.(*netlink.BpfFilter); is {
				out = append(out, Program{Hook: HookTC, Name: f.Name, Where: l.Attrs().Name + " " + way.name, filter: f,
					link: l.Attrs().Index})
			}
		}
	}
	return out, nil
}

// programName reads a program's name from the kernel; "" if the program is gone.
func programName(id uint32) (string, error) {
	name, err := nameOfProgram(id)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if errors.Is(err, unix.EPERM) {
		return "", fmt.Errorf("root is needed (CAP_SYS_ADMIN or CAP_BPF), for reading too: %w", err)
	}
	return name, err
}

// DetachProgram detaches exactly this program; a missing program is success. If a qdisc then has no
// filters, it is removed, too. If an eBPF link attaches the program, the link is detached; its pin
// stays, but has no effect any more. It may be retried.
func (w Writer) DetachProgram(ctx context.Context, p Program) error {
	err := w.ready(ctx)
	if err != nil {
		return err
	}
	switch {
	case p.pinnedBy != 0:
		err = detachLink(p.pinnedBy)
	case p.Hook == HookTC:
		err = w.delFilter(ctx, p)
	case p.Hook == HookXDP:
		err = linkError(unix.BPF_LINK_TYPE_XDP, p, delXDP(p))
	case p.Hook == HookCgroup:
		err = linkError(unix.BPF_LINK_TYPE_CGROUP, p, detachCgroup(p))
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) || errors.As(err, new(netlink.LinkNotFoundError)) {
		return nil // it is gone, or its link with it
	}
	if err != nil {
		return fmt.Errorf("detach eBPF program %s: %w", p, err)
	}
	w.changed("eBPF program detached", zap.String("hook", p.Hook), zap.String("program", p.Name),
		zap.String("where", p.Where))
	return nil
}

func (w Writer) delFilter(ctx context.Context, p Program) error {
	l, err := netlink.LinkByIndex(p.link)
	if err != nil {
		return err
	}
	have, err := w.filters(ctx, l)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(have, p.same) { // without the qdisc the kernel would return EINVAL
		if err := netlink.FilterDel(p.filter); err != nil {
			return err
		}
	}
	for _, way := range steeredWays {
		left, err := sys.Dump(ctx, "filters of "+l.Attrs().Name,
			func() ([]netlink.Filter, error) { return netlink.FilterList(l, way.parent) })
		if err != nil || len(left) > 0 {
			return err
		}
	}
	qdiscs, err := sys.Dump(ctx, "queueing disciplines",
		func() ([]netlink.Qdisc, error) { return netlink.QdiscList(l) })
	if err != nil {
		return err
	}
	if empty := steers(qdiscs, p.link); empty != nil {
		return netlink.QdiscDel(empty)
	}
	return nil
}

// same reports whether two programs are the same filter.
func (p Program) same(o Program) bool {
	return p.Name == o.Name && p.filter.Id == o.filter.Id && p.filter.Parent == o.filter.Parent &&
		p.filter.Priority == o.filter.Priority && p.filter.Handle == o.filter.Handle
}

func delXDP(p Program) error {
	l, err := netlink.LinkByIndex(p.link)
	if err != nil {
		return err
	}
	// These are XDP_FLAGS_SKB_MODE, _DRV_MODE and _HW_MODE for XDP_ATTACHED_DRV, _SKB and _HW
	// (linux/if_link.h).
	flags := map[uint32]int{1: 1 << 2, 2: 1 << 1, 3: 1 << 3}[p.mode]
	return netlink.LinkSetXdpFdWithFlags(l, -1, flags)
}
