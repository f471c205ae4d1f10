package residue

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// cgroupHooks are the cgroup hooks that networks use: they translate the addresses that processes
// connect to, or read what processes send.
var cgroupHooks = []ebpf.AttachType{
	ebpf.AttachCGroupInetIngress, ebpf.AttachCGroupInetEgress, ebpf.AttachCGroupInetSockCreate,
	ebpf.AttachCGroupSockOps, ebpf.AttachCgroupInetSockRelease,
	ebpf.AttachCGroupInet4Bind, ebpf.AttachCGroupInet6Bind, ebpf.AttachCGroupInet4PostBind,
	ebpf.AttachCGroupInet6PostBind,
	ebpf.AttachCGroupInet4Connect, ebpf.AttachCGroupInet6Connect, ebpf.AttachCGroupUDP4Sendmsg,
	ebpf.AttachCGroupUDP6Sendmsg,
	ebpf.AttachCGroupUDP4Recvmsg, ebpf.AttachCGroupUDP6Recvmsg, ebpf.AttachCgroupInet4GetPeername,
	ebpf.AttachCgroupInet6GetPeername,
}

// cgroupPrograms lists the programs attached to the mounted roots of cgroup2. Networks attach
// there, so that the programs apply to all processes.
func cgroupPrograms() ([]Program, error) {
	roots, err := cgroupRoots()
	if err != nil {
		return nil, err
	}
	var out []Program
	for _, root := range roots {
		dir, err := os.OpenFile(root, os.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return nil, fmt.Errorf("open cgroup %s: %w", root, err)
		}
		programs, err := attachedTo(dir)
		if err = errors.Join(err, dir.Close()); err != nil {
			return nil, fmt.Errorf("list the eBPF programs of cgroup %s: %w", root, err)
		}
		out = append(out, programs...)
	}
	return out, nil
}

func attachedTo(dir *os.File) ([]Program, error) {
	var out []Program
	for _, hook := range cgroupHooks {
		found, err := link.QueryPrograms(link.QueryOptions{Target: int(dir.Fd()), Attach: hook})
		if errors.Is(err, unix.EINVAL) || errors.Is(err, ebpf.ErrNotSupported) {
			continue // a kernel without this hook, or without cgroup programs
		}
		if errors.Is(err, unix.EPERM) {
			return nil, fmt.Errorf("root is needed (CAP_NET_ADMIN), for reading too: %w", err)
		}
		if err != nil {
			return nil, err
		}
		for _, p := range found.Programs {
			name, err := programName(p.ID)
			if err != nil {
				return nil, err
			}
			out = append(out, Program{Hook: HookCgroup, Name: name, Where: dir.Name() + " " + hook.String(),
				cgroup: dir.Name(), attach: hook, id: p.ID})
		}
	}
	return out, nil
}

// cgroupRoots returns the mount points of cgroup2, one for each hierarchy.
func cgroupRoots() ([]string, error) {
	list, err := sys.ReadKernelFile("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mountinfo: %w", err)
	}
	var out []string
	var seen []uint64
	for dir, fstype := range sys.Mounts(list) {
		if fstype != "cgroup2" {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(dir, &st) != nil || slices.Contains(seen, st.Ino) {
			continue // hidden by another mount, or the same directory
		}
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
			continue
		}
		seen, out = append(seen, st.Ino), append(out, dir)
	}
	return out, nil
}

func detachCgroup(p Program) error {
	dir, err := os.OpenFile(p.cgroup, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	program, err := ebpf.NewProgramFromID(p.id)
	if err != nil {
		return err
	}
	defer program.Close()
	return link.RawDetachProgram(link.RawDetachProgramOptions{Target: int(dir.Fd()), Program: program,
		Attach: p.attach})
}
