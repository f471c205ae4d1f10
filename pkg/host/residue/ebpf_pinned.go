package residue

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// tcxPrograms lists what is attached to a link by TCX (Linux 6.6 and up), where `tc` shows nothing.
func tcxPrograms(l netlink.Link) ([]Program, error) {
	var out []Program
	for _, way := range []struct {
		name   string
		attach ebpf.AttachType
	}{{"ingress", ebpf.AttachTCXIngress}, {"egress", ebpf.AttachTCXEgress}} {
		found, err := link.QueryPrograms(link.QueryOptions{Target: l.Attrs().Index, Attach: way.attach})
		if errors.Is(err, unix.EINVAL) || errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, unix.ENODEV) ||
			errors.Is(err, unix.ENOENT) {
			continue // a kernel without TCX, a link that went, or nothing at all there
		}
		if err != nil {
			return nil, err
		}
		for _, p := range found.Programs {
			holder, held := p.LinkID()
			if !held {
				continue // by nobody's link: no network attaches so
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

// linkError looks at why a program did not go: where a link of eBPF holds it there, the kernel says
// busy or that nothing is attached. The link lets go.
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
