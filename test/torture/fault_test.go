package torture

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/disk"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/pki"
	"github.com/netwright/netwright/test/trap"
)

// image is a node's root, on which the agent works with --root.
type image struct{ agent, store, root string }

func newImage(t testing.TB, root string) image {
	t.Helper()
	ca := pki.New(t, "etcd")
	d := calicoDocuments(t, "v1", ca.PEM, ca.Client("calico-client"))
	d["cluster.yaml"] = strings.Replace(d["cluster.yaml"], "  networking:", extras("one", "128")+"  networking:", 1)
	i := image{agent(t), t.TempDir(), root}
	d.write(t, i.store)
	for _, dir := range []string{filepath.Dir(i.agent), i.store, filepath.Dir(i.store)} { // for users other than root
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

func (i image) command() []string {
	return []string{i.agent, "--store", i.store, "--cluster", cluster, "--node", "node-1", "--root", i.root, "--once"}
}

// run runs the agent and returns its exit code and its output.
func (i image) run(t testing.TB, as uint32) (code int, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), i.command()[0], i.command()[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: as, Gid: as}}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func (i image) tree(t testing.TB) tree { return readTree(t, i.root, "/run", "/lost+found") }

// clear empties the root.
func (i image) clear(t testing.TB) {
	t.Helper()
	entries, err := os.ReadDir(i.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(i.root, e.Name())); err != nil && e.Name() != "lost+found" {
			t.Fatal(err)
		}
	}
}

// creates has the calls that need room on a disk.
var creates = []string{"openat", "mkdirat", "symlinkat", "linkat", "write", "pwrite64", "fallocate", "fsetxattr"}

// From one of the agent's system calls on, the disk fails: full, broken, read-only or forbidden.
// The agent says so once, with what to do, and leaves each file old or new. When the disk works
// again, the next run makes the rest. The test repeats this at each call.
//
// What keeps it: pkg/host/hostpath/error.go Explain (what to do), pkg/host/hostfs/batch.go Commit's
// order and Discard (old or new).
func TestFailingCalls(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	agent(t)
	if !inOwnMounts(t) {
		return
	}
	i := newImage(t, tmpfs(t, "size=64m"))
	o := trapped(t, i, pass)
	if o.Code != 0 {
		t.Fatalf("undisturbed: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	after, total := i.tree(t), len(o.Calls)
	for _, c := range []struct {
		errno unix.Errno
		says  string
		calls []string // the calls that fail; nil: all
	}{
		{unix.ENOSPC, "free some space", creates},
		{unix.EIO, "the disk or its file system fails", nil},
		{unix.EROFS, "mount it writable", nil},
		{unix.EACCES, "run as root", nil},
		{unix.EDQUOT, "raise the quota", creates},
	} {
		tried, lost := 0, 0
		for n := 1; n <= total; n += either(1, total/6) {
			i.clear(t)
			o := trapped(t, i, func(call trap.Call) trap.Decision {
				if call.N >= n && (c.calls == nil || slices.Contains(c.calls, call.Name)) && !strings.HasPrefix(call.Target, "socket:") {
					return trap.Decision{Errno: int(c.errno)}
				}
				return trap.Decision{}
			})
			tried++
			broken := torn(tree{}, i.tree(t), after)
			said := o.Stdout + o.Stderr
			if o.Code == 0 {
				if left := differs(i.tree(t), after); len(left) > 0 {
					broken = append(broken, fmt.Sprintf("exit 0, and %v", left))
				}
			} else if !strings.Contains(said, c.says) {
				broken = append(broken, fmt.Sprintf("it does not say %q:\n%s", c.says, said))
			}
			if code, said := i.run(t, 0); code != 0 {
				broken = append(broken, fmt.Sprintf("the next run: exit %d\n%s", code, said))
			}
			broken = append(broken, differs(i.tree(t), after)...)
			if len(broken) > 0 {
				lost++
				t.Errorf("%v from call %d on (%v):\n%s", c.errno, n, o.Calls[min(n, len(o.Calls))-1], strings.Join(broken, "\n"))
			}
		}
		report(t, "calls fail: "+unix.ErrnoName(c.errno), tried, lost, "of %d calls, from there on", total)
	}
}

func trapped(t testing.TB, i image, decide func(trap.Call) trap.Decision) trap.Outcome {
	t.Helper()
	o, err := trap.Run(t.Context(), i.command(), os.Environ(), decide)
	if err != nil {
		t.Fatalf("%v\n%s", err, o.Stderr)
	}
	return o
}

// fault is a real fault of a host.
type fault struct {
	name  string
	kind  string // the file system; "" is tmpfs
	mount string // options of the tmpfs
	setup func(t testing.TB, root string)
	mend  func(t testing.TB, root string)
	as    uint32
	fits  bool // there may be just enough room
	says  []string
	keep  []string // paths that must not change
}

// Each real fault causes one clear error. The host is old or new, and right after the fault is
// gone.
func TestFaults(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	needs.Tool(t, "mkfs.ext4")
	agent(t)
	if !inOwnMounts(t) {
		return
	}
	sample := newImage(t, tmpfs(t, ""))
	if code, said := sample.run(t, 0); code != 0 {
		t.Fatalf("undisturbed: exit %d\n%s", code, said)
	}
	after := sample.tree(t)
	tried, lost := 0, 0
	for _, f := range faults(t) {
		t.Run(f.name, func(t *testing.T) {
			tried++
			broken := f.judge(t, sample, after)
			if len(broken) > 0 {
				lost++
				t.Error(strings.Join(broken, "\n"))
			}
		})
	}
	report(t, "real faults", tried, lost, "full, no inodes, read-only, not root, in the way, immutable")
}

func (f fault) judge(t testing.TB, i image, after tree) (broken []string) {
	t.Helper()
	switch f.kind {
	case "":
		i.root = tmpfs(t, f.mount)
		if err := errors.Join(os.Chmod(i.root, 0o755), os.Chmod(filepath.Dir(i.root), 0o755)); err != nil {
			t.Fatal(err)
		}
	default:
		dir := tmpfs(t, "size=200m")
		i.root = filepath.Join(dir, "root")
		if err := os.Mkdir(i.root, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := disk.Make(dir+"/image", f.kind, 64<<20); err != nil {
			t.Fatal(err)
		}
		if err := disk.Mount(dir+"/image", i.root, f.kind, ""); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Unmount(i.root, unix.MNT_DETACH) }()
	}
	if f.setup != nil {
		f.setup(t, i.root)
	}
	before := i.tree(t)
	code, said := i.run(t, f.as)
	now := i.tree(t)
	if f.fits && code == 0 {
		return differs(now, after)
	}
	if code != 1 {
		broken = append(broken, fmt.Sprintf("exit %d, want 1\n%s", code, said))
	}
	for _, says := range f.says {
		if !strings.Contains(said, says) {
			broken = append(broken, fmt.Sprintf("it does not say %q:\n%s", says, said))
		}
	}
	broken = append(broken, torn(before, now, after)...)
	for path := range now {
		if staged.MatchString(path) {
			broken = append(broken, "left: "+path)
		}
	}
	for _, path := range f.keep {
		if now[path] != before[path] {
			broken = append(broken, fmt.Sprintf("%s was %q, is %q", path, before[path], now[path]))
		}
	}
	if f.mend == nil {
		return broken
	}
	f.mend(t, i.root)
	if code, said := i.run(t, 0); code != 0 {
		broken = append(broken, fmt.Sprintf("mended: exit %d\n%s", code, said))
	}
	return append(broken, differs(i.tree(t), after)...)
}

func faults(t testing.TB) []fault {
	remount := func(options string, flags uintptr) func(testing.TB, string) {
		return func(t testing.TB, root string) {
			t.Helper()
			if err := unix.Mount("", root, "", unix.MS_REMOUNT|flags, options); err != nil {
				t.Fatal(err)
			}
		}
	}
	sh := func(script string) func(testing.TB, string) {
		return func(t testing.TB, root string) {
			t.Helper()
			cmd := exec.Command("sh", "-euc", script)
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", script, err, out)
			}
		}
	}
	list := []fault{
		{name: "read-only", setup: remount("", unix.MS_RDONLY), mend: remount("", 0), says: []string{"mount it writable"}},
		{name: "not root", as: 65534, mend: sh("true"), says: []string{"run as root"}},
		{name: "directory where a file goes", setup: sh("mkdir -p etc/motd.d/cluster && echo x >etc/motd.d/cluster/precious"), mend: sh("rm -r etc/motd.d"),
			says: []string{"/etc/motd.d/cluster", "directory is in the way", "move it away"}, keep: []string{"/etc/motd.d/cluster/precious"}},
		{name: "file where a directory goes", setup: sh("mkdir etc && echo x >etc/motd.d"), mend: sh("rm etc/motd.d"),
			says: []string{"/etc/motd.d", "a parent is a file", "move the file away"}, keep: []string{"/etc/motd.d"}},
		{name: "link that leads nowhere in a parent's place", setup: sh("mkdir etc && ln -s /nowhere etc/motd.d"), mend: sh("rm etc/motd.d"),
			says: []string{"whose target does not exist"}, keep: []string{"/etc/motd.d"}},
		{name: "links in a circle", setup: sh("mkdir etc && ln -s motd.d etc/motd.d"), mend: sh("rm etc/motd.d"), says: []string{"circle"}, keep: []string{"/etc/motd.d"}},
		{name: "pipe in the way", setup: sh("mkdir -p etc/motd.d && mkfifo etc/motd.d/cluster"), mend: sh("rm -r etc/motd.d"),
			says: []string{"in the way", "move it away"}, keep: []string{"/etc/motd.d/cluster"}},
		{name: "immutable file", kind: "ext4", setup: sh("mkdir -p etc/motd.d && echo old >etc/motd.d/cluster && chattr +i etc/motd.d/cluster"),
			mend: sh("chattr -i etc/motd.d/cluster"), says: []string{"chattr -i"}, keep: []string{"/etc/motd.d/cluster"}},
		{name: "immutable directory", kind: "ext4", setup: sh("mkdir -p etc/motd.d && chattr +i etc/motd.d"), mend: sh("chattr -i etc/motd.d"), says: []string{"chattr -i"}},
	}
	for _, kib := range either([]int{0, 4, 8, 12, 16, 24, 32, 40, 48, 64, 80, 96, 128, 160, 200, 240, 280, 300, 320, 340}, []int{4, 40, 72}) {
		list = append(list, fault{name: fmt.Sprintf("%d KiB of disk", kib), mount: fmt.Sprintf("size=%dk", max(kib, 4)), fits: true, mend: remount("size=64m", 0), says: []string{"free some space"}})
	}
	for _, inodes := range either([]int{2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 28}, []int{3, 12, 20}) {
		list = append(list, fault{name: fmt.Sprintf("%d inodes", inodes), mount: fmt.Sprintf("nr_inodes=%d", inodes), fits: true, mend: remount("nr_inodes=10000", 0), says: []string{"inodes"}})
	}
	return list
}
