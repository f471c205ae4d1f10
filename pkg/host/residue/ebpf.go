package residue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
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

// Program is a program of eBPF where it is attached. What a network attached outlives it there, on
// the machine's own devices too.
type Program struct {
	Hook  string
	Name  string // tc: as `tc filter show` names it; else the kernel's name, at most 15 characters
	Where string // "eth0 ingress", "eth0", "/sys/fs/cgroup connect4"

	filter   *netlink.BpfFilter
	link     int    // of XDP, its index
	mode     uint32 // XDP_ATTACHED_…
	cgroup   string
	attach   ebpf.AttachType
	id       ebpf.ProgramID
	pinnedBy link.ID // of TCX, the link of eBPF that holds it there
}

// String says the program and where it is.
func (p Program) String() string { return p.Hook + " " + p.Where + " " + p.Name }

// Programs lists the programs of eBPF at tc, XDP and the roots of cgroup2, without loading a
// module.
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
			name, err := programName(ebpf.ProgramID(xdp.ProgId))
			if err != nil {
				return nil, fmt.Errorf("read the XDP program of %s: %w", l.Attrs().Name, err)
			}
			out = append(out, Program{Hook: HookXDP, Name: name, Where: l.Attrs().Name, link: l.Attrs().Index,
				mode: xdp.AttachMode, id: ebpf.ProgramID(xdp.ProgId)})
		}
	}
	attached, err := cgroupPrograms()
	return append(out, attached...), err
}

// steers is the queueing discipline of a link that has filters for what comes in and goes out; nil
// if it has none.
func steers(all []netlink.Qdisc, link int) netlink.Qdisc {
	i := slices.IndexFunc(all, func(q netlink.Qdisc) bool {
		return q.Attrs().LinkIndex == link && (q.Type() == "clsact" || q.Type() == "ingress")
	})
	if i < 0 {
		return nil
	}
	return all[i]
}

// The two places of clsact; the discipline ingress has the first only.
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
			continue // it went meanwhile
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

// programName asks the kernel for a program's name; "" if the program went meanwhile.
func programName(id ebpf.ProgramID) (string, error) {
	p, err := ebpf.NewProgramFromID(id)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if errors.Is(err, unix.EPERM) {
		return "", fmt.Errorf("root is needed (CAP_SYS_ADMIN or CAP_BPF), for reading too: %w", err)
	}
	if err != nil {
		return "", err
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return "", err
	}
	return info.Name, nil
}

// DetachProgram takes a program from where it is attached, exactly that one; absence is success. A
// discipline of tc that it leaves without any filter goes too. A link of eBPF that holds it there
// lets go; its pin stays, and holds nothing then. It may be retried.
func (w Writer) DetachProgram(ctx context.Context, p Program) error {
	err := w.ready(ctx)
	if err != nil {
		return err
	}
	switch {
	case p.pinnedBy != 0:
		err = release(p.pinnedBy)
	case p.Hook == HookTC:
		err = w.delFilter(ctx, p)
	case p.Hook == HookXDP:
		err = linkError(link.XDPType, p, delXDP(p))
	case p.Hook == HookCgroup:
		err = linkError(link.CgroupType, p, detachCgroup(p))
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) {
		return nil
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
	if errors.As(err, new(netlink.LinkNotFoundError)) { // it went with what it had
		return nil
	}
	if err != nil {
		return err
	}
	have, err := w.filters(ctx, l)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(have, p.same) { // without its discipline the kernel would say that the request is invalid
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

// same says that two readings are of one filter.
func (p Program) same(o Program) bool {
	return p.Name == o.Name && p.filter.Id == o.filter.Id && p.filter.Parent == o.filter.Parent &&
		p.filter.Priority == o.filter.Priority && p.filter.Handle == o.filter.Handle
}

func delXDP(p Program) error {
	l, err := netlink.LinkByIndex(p.link)
	if errors.As(err, new(netlink.LinkNotFoundError)) { // it went with what it had
		return nil
	}
	if err != nil {
		return err
	}
	// XDP_FLAGS_SKB_MODE, _DRV_MODE and _HW_MODE by XDP_ATTACHED_DRV, _SKB and _HW
	// (linux/if_link.h).
	flags := map[uint32]int{1: 1 << 2, 2: 1 << 1, 3: 1 << 3}[p.mode]
	return netlink.LinkSetXdpFdWithFlags(l, -1, flags)
}
