// Package test tests the script that prepares a machine for the suites, on machines that are busy
// or lack something. Each is this machine in a mount namespace in which some files have another
// content.
package test

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
)

//go:embed setup.sh
var script string

// ample makes in a mount namespace a machine that has more than enough of all that is counted, with
// room in $0/space. It has no apt-get, so nothing is installed.
const ample = `cd "$0"
mount -t tmpfs -o size=64g,mode=755 tmpfs space
mkdir space/cache space/tmp
export NETWRIGHT_CACHE=$0/space/cache TMPDIR=$0/space/tmp
echo 'MemAvailable:   16777216 kB' >space/meminfo
echo 100000 >space/instances
mount --bind space/meminfo /proc/meminfo
mount --bind space/instances /proc/sys/fs/inotify/max_user_instances
`

const withoutApt = "! apt=$(command -v apt-get) || mount --bind /bin/false $apt\n"

// machine returns a command that changes an ample machine by a script and runs setup.sh, and the
// directory of both.
func machine(t *testing.T, change string) (*exec.Cmd, string) {
	t.Helper()
	needs.Root(t)
	needs.Tool(t, "unshare")
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "space"), 0o755), os.WriteFile(filepath.Join(dir, "setup.sh"), []byte(script), 0o755),
		os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil { // for users other than root
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), "unshare", "--mount", "--", "/bin/sh", "-euc", ample+change, dir), dir
}

// ended runs a command and returns its exit code and its output.
func ended(t *testing.T, cmd *exec.Cmd) (code int, said string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(out)
}

// For each thing that is short the script says how much there is, how much is needed, and what to
// do. It says nothing about other things.
func TestSetupSaysWhatIsShort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, change, want string }{
		{"nothing", "", ``},
		{"inotify", "echo 90 >space/instances",
			`-?\d+ inotify instances of 90 are free for root, and the nodes of the suites need 96\. As root: sysctl -w fs\.inotify\.max_user_instances=1024`},
		{"memory", "echo 'MemAvailable: 524288 kB' >space/meminfo", `512 MB of memory are available, and the suites need \d+\. .+`},
		{"disk of both", "mount -t tmpfs -o size=32m tmpfs space", `32 MB are free for \S+/cache and \S+/tmp, and the suites need \d+\. .+NETWRIGHT_CACHE and TMPDIR.+`},
		{"disk of the cache", "mount -t tmpfs -o size=32m tmpfs space/cache; export NETWRIGHT_CACHE=$0/space/cache/not/yet",
			`32 MB are free for \S+/cache/not/yet, and the suites need \d+\. .+ NETWRIGHT_CACHE .+`},
		{"disk of a cache that is full", "mount -t tmpfs -o size=6g tmpfs space; mkdir space/cache space/tmp; fallocate -l 100m space/cache/image",
			`\d+ MB are free for \S+/cache and \S+/tmp, and the suites need 8092\. .+`},
		{"disk of TMPDIR", "mount -t tmpfs -o size=32m tmpfs space/tmp", `32 MB are free for \S+/tmp, and the suites need \d+\. .+ TMPDIR .+`},
		{"no cgroups", groups + "for group in $groups; do umount -l $group; done", `0 cgroup hierarchies are mounted, and nodes need one\. As root: mount -t cgroup2 .+`},
		{"cgroups that take none", groups + "for group in $groups; do mount -o remount,bind,ro $group; break; done",
			`nodes need a group in each cgroup hierarchy, and (/\S+) takes none: mkdir: .+: Read-only file system\. As root: mount -o remount,rw,bind /\S+; .+`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd, _ := machine(t, withoutApt+c.change+"\nexec ./setup.sh")
			code, said := ended(t, cmd)
			if c.want == "" {
				if code != 0 || said != "" {
					t.Errorf("exit %d of a machine that has everything: %s", code, said)
				}
				return
			}
			if code != 1 || !regexp.MustCompile(`^test/setup\.sh: `+c.want+`\n$`).MatchString(said) {
				t.Errorf("exit %d, want 1 with %q:\n%s", code, c.want, said)
			}
		})
	}
}

// groups finds the hierarchies of cgroups, the last mounted one first.
const groups = `groups=$(awk '/ - cgroup2? / { print $5 }' /proc/self/mountinfo | tac)` + "\n"

// The script counts root's inotify instances in all processes, and no other user's. The test uses a
// pid namespace without other processes. `tail -f` has one instance.
func TestSetupCountsInotifyOfRoot(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "unshare", "setpriv")
	cmd, _ := machine(t, withoutApt+`echo 10 >space/instances
exec unshare --pid --fork --kill-child --mount-proc sh -euc 'mount --bind space/instances /proc/sys/fs/inotify/max_user_instances
mount --bind space/meminfo /proc/meminfo
: >space/file
for user in 0 0 65534 0; do
	setpriv --reuid $user --clear-groups tail -f space/file &
	until [ -n "$(find /proc/$!/fd -lname anon_inode:inotify 2>/dev/null)" ]; do sleep 0.01; done
done
! ./setup.sh'`)
	code, said := ended(t, cmd)
	if code != 0 || !strings.HasPrefix(said, "test/setup.sh: 7 inotify instances of 10 are free for root, ") || strings.Count(said, "\n") != 1 {
		t.Errorf("exit %d: %s", code, said)
	}
}

// A user other than root boots no nodes, so the script does not ask for what only nodes need.
func TestSetupAsUser(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "setpriv")
	const asUser = "\nexec setpriv --reuid 65534 --clear-groups ./setup.sh"
	cmd, _ := machine(t, withoutApt+"echo 1 >space/instances"+asUser)
	if code, said := ended(t, cmd); code != 0 || said != "" {
		t.Errorf("exit %d: %s", code, said)
	}
	cmd, _ = machine(t, withoutApt+`mount --bind /dev/null "$(command -v strace)"`+asUser)
	if code, said := ended(t, cmd); code != 1 || said != "test/setup.sh: missing: strace. As root: apt-get install --no-install-recommends strace\n" {
		t.Errorf("without strace: exit %d: %s", code, said)
	}
}
