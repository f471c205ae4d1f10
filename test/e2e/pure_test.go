package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/rerun"
)

// writes matches the system calls that a dry run must not make, whatever their arguments.
var writes = regexp.MustCompile(`^(creat|mkdir|mkdirat|mknod|mknodat|rename|renameat|renameat2|link|linkat|symlink|symlinkat|unlink|unlinkat|rmdir|truncate|ftruncate|` +
	`fallocate|chmod|fchmod|fchmodat|fchmodat2|chown|fchown|lchown|fchownat|utime|utimes|utimensat|futimesat|setxattr|lsetxattr|fsetxattr|removexattr|` +
	`mount|umount2|move_mount|fsconfig|pivot_root|chroot|init_module|finit_module|delete_module|unshare|setns|sethostname|kill|tkill|reboot|swapon|pwrite64|` +
	`sync|syncfs|fsync|fdatasync|copy_file_range|sendfile)\(`)

// onlyGets matches a request of netlink that only reads. Where strace does not know the protocol of
// netlink, it prints numbers: RTM_GETLINK, GETADDR, GETROUTE, GETNEIGH, GETRULE; nf_tables'
// GETTABLE, GETCHAIN, GETRULE, GETSET, GETGEN (linux/rtnetlink.h, nf_tables.h).
var onlyGets = regexp.MustCompile(`nlmsg_type=(RTM_GET|\w+<<8\|NFT_MSG_GET|0x(12|16|1a|1e|22|a01|a04|a07|a0a|a10) )`)

// A dry run must never write. The test looks at each of its system calls.
func TestDryRunMakesNoCallThatWrites(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "a dry run must never write")
	needs.Root(t)
	needs.Tool(t, "strace")
	s := bridgeStore(t)
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("strace", "-f", "-qq", "-s", "64", "-o", trace, agent(t), "--store", s.dir, "--cluster", cluster, "--node", "node-1", "--dry-run")
	out, err := cmd.CombinedOutput()
	var exited *exec.ExitError
	if !errors.As(err, &exited) || exited.ExitCode() != 2 {
		t.Fatalf("%v, want exit 2\n%s", err, out)
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	if len(lines) < 300 {
		t.Fatalf("the trace has %d lines: nothing was traced", len(lines))
	}
	checkCalls(t, lines)
}

// checkCalls checks each line of a trace. The first program that is started is the agent itself.
func checkCalls(t *testing.T, lines []string) {
	t.Helper()
	execs := 0
	for _, line := range lines {
		_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		call = strings.TrimSpace(call)
		switch {
		case writes.MatchString(call):
			t.Errorf("a dry run called %s", call)
		case strings.HasPrefix(call, "execve("):
			if execs++; execs > 1 {
				t.Errorf("a dry run started a program: %s", call)
			}
		case strings.HasPrefix(call, "open") && (strings.Contains(call, "O_WRONLY") || strings.Contains(call, "O_RDWR") || strings.Contains(call, "O_CREAT") || strings.Contains(call, "O_TRUNC")):
			t.Errorf("a dry run opened to write: %s", call)
		case strings.HasPrefix(call, "connect(") && !strings.Contains(call, "/run/dbus/") && !strings.Contains(call, "/run/systemd/private") && !strings.Contains(call, "containerd.sock"):
			t.Errorf("a dry run connected: %s", call)
		case strings.HasPrefix(call, "write(") && !strings.HasPrefix(call, "write(1,") && !strings.HasPrefix(call, "write(2,") && !strings.Contains(call, `\1\0\0\0\0\0\0\0`) && !strings.Contains(call, `"\x01\x00\x00\x00\x00\x00\x00\x00"`):
			t.Errorf("a dry run wrote: %s", call) // not the runtime's eventfd
		case strings.HasPrefix(call, "send") && strings.Contains(call, "nlmsg_type=") && !onlyGets.MatchString(call):
			t.Errorf("a dry run asked netlink for more than to tell: %s", call)
		}
	}
}
