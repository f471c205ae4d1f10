package torture

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
)

// harmless has the calls that change nothing outside the process. The test below fails for a call
// that is neither here nor known to the trap.
var harmless = strings.Fields(`
	accept4 access alarm arch_prctl brk capget capset chdir chroot clock_getres clock_gettime clock_nanosleep clone clone3 close close_range connect dup dup2 dup3
	epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd2 execve exit exit_group faccessat faccessat2 fadvise64 fchdir fcntl
	fgetxattr flistxattr flock fork fstat fstatfs futex getcwd getdents64 getegid geteuid getgid getgroups getpeername getpgid getpgrp getpid getppid
	getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid getxattr inotify_add_watch
	inotify_init1 inotify_rm_watch landlock_create_ruleset lgetxattr listen listxattr llistxattr lseek lstat madvise membarrier memfd_create mincore mmap mprotect
	mremap munmap nanosleep newfstatat open_tree pause pidfd_open pipe pipe2 poll ppoll prctl pread64 preadv prlimit64 pselect6 read readahead readlink
	readlinkat readv recvfrom recvmmsg recvmsg restart_syscall rseq rt_sigaction rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait
	sched_getaffinity sched_setaffinity sched_yield seccomp select set_robust_list set_tid_address setgid setgroups setitimer setns setpgid setpriority
	setresgid setresuid setrlimit setsid setsockopt setuid shutdown sigaltstack socket socketpair stat statfs statx sysinfo tgkill timer_create timer_delete
	timer_settime timerfd_create timerfd_settime umask uname unshare vfork wait4 waitid`)

// These match what strace prints for harmless calls, where that depends on the arguments.
var (
	reads  = regexp.MustCompile(`^[^"]*"(/dev/[^"]*"|[^"]*", \{?(flags=)?O_RDONLY(\|O_(CLOEXEC|NOFOLLOW|DIRECTORY|PATH|NONBLOCK|LARGEFILE|NOCTTY|NOATIME))*($|[^|A-Z_]))`)
	pipes  = regexp.MustCompile(`^\d+(<(/dev/|pipe:|anon_inode:|/memfd:)|, |$)`)
	judged = map[string]*regexp.Regexp{
		"openat": reads, "openat2": reads,
		"write": pipes, "pwrite64": pipes, "writev": pipes, "pwritev": pipes,
		"sendto": regexp.MustCompile(`nlmsg_type=(RTM_GET|0x(12|16|1a|1e|22) )`), // strace may not know the socket: RTM_GETLINK … RTM_GETRULE by number
		"bind":   regexp.MustCompile(`AF_NETLINK|AF_INET|sun_path=@`),
		"ioctl":  regexp.MustCompile(`TCGETS|TIOCGWINSZ|FIONREAD|FIONBIO|NS_GET_`),
		"bpf":    regexp.MustCompile(`^BPF_(OBJ_GET|MAP_LOOKUP|PROG_GET|MAP_GET|LINK_GET|BTF_GET)`),
	}
)

// The kill matrix takes its calls from the trap, so the trap must know every call that changes
// something. Both watch one run. The trap must have stopped at each call in strace's output that is
// not harmless. This test judges strace's output by other rules than the trap's.
//
// What keeps it: test/trap/calls.go mutating. Without one of its lines this test names the call.
func TestTrapKnowsWhatStraceSees(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	needs.Tool(t, "strace")
	b := newBench(t)
	calls, unknown := 0, 0
	for _, s := range append(scenarios(t), ways(t)...) {
		if !full && !slices.Contains([]string{"cold converge", "change under a checkpoint", "reset"}, s.name) {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			b.prepare(t, s)
			// With two programs that stop each call, the change takes longer than its normal limit.
			b.shell(t, "sed -i 's/^probeWindow:.*/probeWindow: 1m/' /etc/netwright/agent.yaml")
			out := filepath.Join(t.TempDir(), "calls")
			b.under = []string{"strace", "-f", "-qq", "-y", "-s", "256", "-o", out, "-e", "trace=!" + strings.Join(harmless, ",")}
			o := b.run(t, s.args, pass)
			b.under = nil
			if o.Code != 0 {
				t.Fatalf("exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
			}
			text, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			trapped := map[string]bool{}
			for _, c := range o.Calls {
				trapped[c.Name+" "+steady(c.Target)] = true
			}
			seen := sawMutating(string(text))
			calls += len(seen)
			if len(seen) < 20 {
				t.Fatalf("strace saw %d calls:\n%s", len(seen), text)
			}
			for _, call := range sortedKeys(seen) {
				if !trapped[call] {
					unknown++
					t.Errorf("the trap does not stop at %s: %s", call, seen[call])
				}
			}
		})
	}
	report(t, "calls that strace sees", calls, unknown, "by kind and target; all of them are stopped at")
}

var (
	lines  = regexp.MustCompile(`(?m)^\d+ +(\w+)\((.*)$`)
	quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
	opened = regexp.MustCompile(`^-?\d+(?:<([^>]*)>)?`)
	random = regexp.MustCompile(`\.netwright-[A-Z2-7]{10}-[0-9a-f]{8}`)
)

// sawMutating returns the calls in strace's output that are not harmless, by name and target in the
// trap's form.
func sawMutating(text string) map[string]string {
	out := map[string]string{}
	for _, m := range lines.FindAllStringSubmatch(text, -1) {
		name, args := m[1], m[2]
		if rule := judged[name]; rule != nil && rule.MatchString(args) || strings.Contains(args, "= ? ERESTART") {
			continue
		}
		paths := quoted.FindAllStringSubmatch(args, -1)
		target := ""
		switch name {
		case "openat", "openat2", "mkdirat", "mknodat", "unlinkat", "fchmodat", "fchownat", "utimensat", "setxattr", "lsetxattr", "removexattr", "truncate", "umount2":
			if len(paths) > 0 {
				target = paths[0][1]
			}
		case "renameat", "renameat2", "linkat", "symlinkat":
			if len(paths) > 1 {
				target = paths[1][1]
			}
		default:
			if fd := opened.FindStringSubmatch(args); fd != nil {
				target = fd[1]
			}
		}
		if !strings.HasPrefix(target, "/dev/") {
			out[name+" "+steady(target)] = fmt.Sprintf("%.200s", args)
		}
	}
	return out
}

// steady returns a target without the parts that differ from call to call.
func steady(target string) string {
	target = strings.TrimSuffix(target, " (deleted)")
	switch {
	case strings.HasPrefix(target, "socket:"):
		return "a socket"
	case strings.HasPrefix(target, "fd "): // no descriptor, or one that is closed
		return ""
	}
	return random.ReplaceAllString(target, ".netwright-X")
}
