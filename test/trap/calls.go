package trap

import (
	"slices"

	"golang.org/x/sys/unix"
)

// kind says where a call names what it works on.
type kind int

const (
	onPath    kind = iota // args[1] is a path
	onNewPath             // args[3] is a path
	onLink                // args[2] is a path
	onFD                  // args[0] is a descriptor
	onPlain               // args[0] is a path
	opens                 // openat: only with flags that write
	opens2                // openat2: the flags are in memory
	sends                 // sendto, sendmsg: not what only asks
	writes                // write and its kin: not to pipes and events
)

type trapped struct {
	number uint32
	name   string
	kind   kind
}

// mutating lists the calls that are trapped: whatever of Linux changes files, mounts or the
// kernel's state and a Go program without cgo makes. [Main]'s test holds it against what strace
// sees of the agent.
var mutating = []trapped{
	{unix.SYS_OPENAT, "openat", opens}, {unix.SYS_OPENAT2, "openat2", opens2},
	{unix.SYS_MKDIRAT, "mkdirat", onPath}, {unix.SYS_MKNODAT, "mknodat", onPath}, {unix.SYS_UNLINKAT, "unlinkat", onPath},
	{unix.SYS_RENAMEAT, "renameat", onNewPath}, {unix.SYS_RENAMEAT2, "renameat2", onNewPath},
	{unix.SYS_LINKAT, "linkat", onNewPath}, {unix.SYS_SYMLINKAT, "symlinkat", onLink},
	{unix.SYS_FCHMOD, "fchmod", onFD}, {unix.SYS_FCHMODAT, "fchmodat", onPath}, {unix.SYS_FCHOWN, "fchown", onFD}, {unix.SYS_FCHOWNAT, "fchownat", onPath},
	{unix.SYS_FSETXATTR, "fsetxattr", onFD}, {unix.SYS_SETXATTR, "setxattr", onPlain}, {unix.SYS_LSETXATTR, "lsetxattr", onPlain},
	{unix.SYS_FREMOVEXATTR, "fremovexattr", onFD}, {unix.SYS_REMOVEXATTR, "removexattr", onPlain},
	{unix.SYS_UTIMENSAT, "utimensat", onPath}, {unix.SYS_TRUNCATE, "truncate", onPlain}, {unix.SYS_FTRUNCATE, "ftruncate", onFD}, {unix.SYS_FALLOCATE, "fallocate", onFD},
	{unix.SYS_WRITE, "write", writes}, {unix.SYS_PWRITE64, "pwrite64", writes}, {unix.SYS_WRITEV, "writev", writes}, {unix.SYS_PWRITEV, "pwritev", writes},
	{unix.SYS_COPY_FILE_RANGE, "copy_file_range", onFD}, {unix.SYS_SENDFILE, "sendfile", onFD}, {unix.SYS_SPLICE, "splice", onFD},
	{unix.SYS_FSYNC, "fsync", onFD}, {unix.SYS_FDATASYNC, "fdatasync", onFD}, {unix.SYS_SYNCFS, "syncfs", onFD}, {unix.SYS_SYNC_FILE_RANGE, "sync_file_range", onFD},
	{unix.SYS_SENDTO, "sendto", sends}, {unix.SYS_SENDMSG, "sendmsg", sends}, {unix.SYS_SENDMMSG, "sendmmsg", onFD},
	{unix.SYS_MOUNT, "mount", onPlain}, {unix.SYS_UMOUNT2, "umount2", onPlain}, {unix.SYS_MOVE_MOUNT, "move_mount", onNewPath},
	{unix.SYS_INIT_MODULE, "init_module", onFD}, {unix.SYS_FINIT_MODULE, "finit_module", onFD}, {unix.SYS_DELETE_MODULE, "delete_module", onPlain},
	{unix.SYS_SETHOSTNAME, "sethostname", onPlain}, {unix.SYS_KILL, "kill", onFD},
}

// looking lists the calls by which a program looks at files, for [Look].
var looking = []trapped{
	{unix.SYS_OPENAT, "openat", onPath}, {unix.SYS_OPENAT2, "openat2", onPath}, {unix.SYS_STATX, "statx", onPath},
	{unix.SYS_NEWFSTATAT, "newfstatat", onPath}, {unix.SYS_READLINKAT, "readlinkat", onPath},
	{unix.SYS_GETDENTS64, "getdents64", onFD}, {unix.SYS_PREAD64, "pread64", onFD},
}

// writeFlags are those of open that make or change a file.
const writeFlags = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// filter is the BPF program: the calls of the lists are announced, all others pass.
func filter(looks bool) []unix.SockFilter {
	const nr, flags = 0, 16 + 2*8 // offsets in struct seccomp_data (little endian)
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	ret := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	program := []unix.SockFilter{load(nr)}
	list := mutating
	if looks {
		list = slices.Concat(looking, mutating)
	}
	for _, c := range list {
		if c.kind == opens {
			program = append(program,
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: c.number, Jf: 4},
				load(flags),
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: writeFlags, Jf: 1},
				ret(unix.SECCOMP_RET_USER_NOTIF), ret(unix.SECCOMP_RET_ALLOW))
			continue
		}
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: c.number, Jf: 1}, ret(unix.SECCOMP_RET_USER_NOTIF))
	}
	return append(program, ret(unix.SECCOMP_RET_ALLOW))
}
