package residue

import (
	"errors"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// tcxPrograms lists the programs attached to a link by TCX (since Linux 6.6), which `tc` does not
// show.
func tcxPrograms(l netlink.Link) ([]Program, error) {
	var out []Program
	for _, way := range []struct {
		name   string
		attach uint32
	}{{"ingress", unix.BPF_TCX_INGRESS}, {"egress", unix.BPF_TCX_EGRESS}} {
		programs, holders, err := attachedByLinks(l.Attrs().Index, way.attach)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.E2BIG) || errors.Is(err, unix.ENOSYS) ||
			errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) {
			continue // no TCX, no eBPF, the link is gone, or nothing is attached
		}
		if err != nil {
			return nil, err
		}
		for i, id := range programs {
			if holders[i] == 0 {
				continue // attached without an eBPF link: no network does this
			}
			name, err := programName(id)
			if err != nil {
				return nil, err
			}
			out = append(out, Program{Hook: HookTC, Name: name, Where: l.Attrs().Name + " " + way.name + " tcx",
				id: id, pinnedBy: holders[i]})
		}
	}
	return out, nil
}

// linkError handles the error of a failed detach. If an eBPF link attaches the program, the kernel
// returns EBUSY, or ENOENT as if nothing were attached. linkError then detaches that link.
func linkError(kind uint32, p Program, err error) error {
	if !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOENT) {
		return err
	}
	var holder uint32
	err = eachLink(func(l bpfLink) bool {
		if l.kind == kind && l.program == p.id && (kind == unix.BPF_LINK_TYPE_XDP && l.at == uint32(p.link) ||
			kind == unix.BPF_LINK_TYPE_CGROUP && l.attach == p.attach) {
			holder = l.id
		}
		return holder != 0
	})
	if err != nil || holder == 0 {
		return err
	}
	return detachLink(holder)
}
