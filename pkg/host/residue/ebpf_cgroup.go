package residue

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// cgroupHooks are the cgroup hooks that networks use: they translate the addresses that processes
// connect to, or read what processes send. The names are those of bpftool.
var cgroupHooks = []struct {
	name   string
	attach uint32
}{
	{"cgroup_inet_ingress", unix.BPF_CGROUP_INET_INGRESS}, {"cgroup_inet_egress", unix.BPF_CGROUP_INET_EGRESS},
	{"cgroup_inet_sock_create", unix.BPF_CGROUP_INET_SOCK_CREATE},
	{"cgroup_sock_ops", unix.BPF_CGROUP_SOCK_OPS},
	{"cgroup_inet_sock_release", unix.BPF_CGROUP_INET_SOCK_RELEASE},
	{"cgroup_inet4_bind", unix.BPF_CGROUP_INET4_BIND}, {"cgroup_inet6_bind", unix.BPF_CGROUP_INET6_BIND},
	{"cgroup_inet4_post_bind", unix.BPF_CGROUP_INET4_POST_BIND},
	{"cgroup_inet6_post_bind", unix.BPF_CGROUP_INET6_POST_BIND},
	{"cgroup_inet4_connect", unix.BPF_CGROUP_INET4_CONNECT}, {"cgroup_inet6_connect", unix.BPF_CGROUP_INET6_CONNECT},
	{"cgroup_udp4_sendmsg", unix.BPF_CGROUP_UDP4_SENDMSG}, {"cgroup_udp6_sendmsg", unix.BPF_CGROUP_UDP6_SENDMSG},
	{"cgroup_udp4_recvmsg", unix.BPF_CGROUP_UDP4_RECVMSG}, {"cgroup_udp6_recvmsg", unix.BPF_CGROUP_UDP6_RECVMSG},
	{"cgroup_inet4_getpeername", unix.BPF_CGROUP_INET4_GETPEERNAME},
	{"cgroup_inet6_getpeername", unix.BPF_CGROUP_INET6_GETPEERNAME},
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
		programs, err := attached(int(dir.Fd()), hook.attach)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
			continue // a kernel without this hook, or without eBPF
		}
		if errors.Is(err, unix.EPERM) {
			return nil, fmt.Errorf("root is needed (CAP_NET_ADMIN), for reading too: %w", err)
		}
		if err != nil {
			return nil, err
		}
		for _, id := range programs {
			name, err := programName(id)
			if err != nil {
				return nil, err
			}
			out = append(out, Program{Hook: HookCgroup, Name: name, Where: dir.Name() + " " + hook.name,
				cgroup: dir.Name(), attach: hook.attach, id: id})
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
	return detachFrom(int(dir.Fd()), p.attach, p.id)
}
