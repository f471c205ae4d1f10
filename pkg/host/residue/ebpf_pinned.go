package residue

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// tcxPrograms lists the programs attached to a link by TCX (since Linux 6.6), which `tc` does not
// show.
func tcxPrograms(l netlink.Link) ([]Program, error) {
	var out []Program
	for _, way := range []struct {
		name   string
		attach ebpf.AttachType
	}{{"ingress", ebpf.AttachTCXIngress}, {"egress", ebpf.AttachTCXEgress}} {
		found, err := link.QueryPrograms(link.QueryOptions{Target: l.Attrs().Index, Attach: way.attach})
		if errors.Is(err, unix.EINVAL) || errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, unix.ENODEV) ||
			errors.Is(err, unix.ENOENT) {
			continue // no TCX, the link is gone, or nothing is attached
		}
		if err != nil {
			return nil, err
		}
		for _, p := range found.Programs {
			holder, held := p.LinkID()
			if !held {
				continue // attached without an eBPF link: no network does this
			}
			name, err := programName(p.ID)
			if err != nil {
				return nil, err
			}
			out = append(out, Program{Hook: HookTC, Name: name, Where: l.Attrs().Name + " " + way.name + " tcx",
				id: p.ID, pinnedBy: holder})
		}
	}
	return out, nil
}

// linkError handles the error of a failed detach. If an eBPF link attaches the program, the kernel
// returns EBUSY, or ENOENT as if nothing were attached. linkError then detaches that link.
func linkError(kind link.Type, p Program, err error) error {
	if !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.ENOENT) {
		return err
	}
	var it link.Iterator
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err != nil {
			return err
		}
		if info.Type != kind || info.Program != p.id {
			continue
		}
		if xdp := info.XDP(); xdp != nil && int(xdp.Ifindex) != p.link {
			continue
		}
		if cgroup := info.Cgroup(); cgroup != nil && ebpf.AttachType(cgroup.AttachType) != p.attach {
			continue
		}
		return it.Link.Detach()
	}
	return errors.Join(it.Err())
}

func release(id link.ID) error {
	held, err := link.NewFromID(id)
	if err != nil {
		return err
	}
	defer held.Close()
	return held.Detach()
}
