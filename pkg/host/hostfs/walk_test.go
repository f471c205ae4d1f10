package hostfs

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"

	"github.com/netwright/netwright/pkg/host/hostpath"
)

// reaching returns the results of each access to a path that writes, captures or reads strictly.
// The path is a file, or a directory above it.
func reaching(ctx context.Context, h *readWriter, file string) map[string]error {
	dir := file[:strings.LastIndexByte(file, '/')]
	info, _ := h.Lstat(file)
	_, kept := h.Retain(ctx, file, "/state/kept")
	_, captured := h.Capture(file, 1<<20)
	_, read := h.Strict().ReadFile(file)
	_, summed := h.Strict().Sum(file)
	_, listed := h.Strict().ReadDir(dir)
	_, looked := h.Strict().Lstat(file)
	_, told := h.Strict().Attributes(file)
	fd, _, opened := h.Paths.OpenDir(dir, true)
	if opened == nil {
		_ = unix.Close(fd)
	}
	return map[string]error{
		"write": h.WriteFile(ctx, file, []byte("x"), self(0o644)), "mkdir": h.Mkdir(dir, 0o777, 1, 1),
		"mkdir below": h.Mkdir(file+".d", 0o777, 1, 1), "symlink": h.Symlink(file, "x"), "remove": h.Remove(file),
		"remove a tree": h.RemoveTree(ctx, file), "own": h.SetMeta(file, info, self(0o777)), "time": h.SetMtime(file, 1),
		"attributes": h.SetAttributes(file, map[string][]byte{"user.x": nil}), "append": h.AppendFile(file, []byte("x"), 0o600),
		"edit": h.EditFile(ctx, file, func([]byte) ([]byte, error) { return []byte("edited"), nil }),
		"keep": kept, "bring back": h.Restore(ctx, "/state/mine", file, self(0o600)), "capture": captured, "read": read,
		"sum": summed, "list": listed, "look": looked, "read attributes": told, "open its directory": opened,
		"way": h.Way(dir),
	}
}

// linked returns a root with a directory of another user, and a directory to which others can
// write.
func linked(t *testing.T) (*readWriter, string) {
	t.Helper()
	h, root := image(t)
	must(t, os.MkdirAll(root+"/theirs/d", 0o700), os.WriteFile(root+"/theirs/d/f", []byte("secret"), 0o600),
		os.MkdirAll(root+"/run/pod", 0o755), os.Mkdir(root+"/state", 0o700), os.WriteFile(root+"/state/mine", []byte("mine"), 0o600))
	return h, root
}

// ways runs do with the kernel's own walk, and with the walk that replaces it where openat2 is
// denied.
func ways(t *testing.T, do func(t *testing.T)) {
	t.Run("openat2", do)
	t.Run("walk", func(t *testing.T) {
		denyOpenat2(t)
		do(t)
	})
}

// denyOpenat2 makes openat2 fail with EPERM in the test's own thread, as an old seccomp profile
// does. The thread ends with the test.
func denyOpenat2(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	const number, call = 0, unix.SYS_OPENAT2 // offset in struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: call, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	must(t, unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0))
	if _, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH}); err != unix.EPERM {
		t.Fatalf("openat2 is not denied: %v", err)
	}
}

// On the way to a path that is written, removed or captured, no link is followed, whoever owns it:
// not in the middle of the path, not as the directory itself, and not through another link.
func TestNoLinkIsFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		links map[string]string
		file  string
		want  string
	}{
		"the directory":    {map[string]string{"/run/pod/d": "/theirs/d"}, "/run/pod/d/f", "/run/pod/d is a symbolic link to /theirs/d: it is not followed; state it in spec.followLinks"},
		"above it":         {map[string]string{"/run/pod/x": "../../theirs"}, "/run/pod/x/d/f", "/run/pod/x is a symbolic link to ../../theirs:"},
		"by the system's":  {map[string]string{"/var": "/none", "/run/pod/d": "/theirs/d"}, "/run/pod/d/f", "/run/pod/d is"},
		"of the system's":  {map[string]string{"/opt": "/theirs"}, "/opt/d/f", "/opt is a symbolic link to /theirs:"},
		"in a circle":      {map[string]string{"/run/pod/d": "d"}, "/run/pod/d/f", "/run/pod/d is a symbolic link to d:"},
		"that leads to no": {map[string]string{"/run/pod/d": "/none"}, "/run/pod/d/f", "/run/pod/d is a symbolic link to /none:"},
	} {
		t.Run(name, func(t *testing.T) {
			ways(t, func(t *testing.T) {
				h, root := linked(t)
				for link, target := range c.links {
					must(t, os.Symlink(target, root+link))
				}
				before := readTree(t, root)
				for op, err := range reaching(t.Context(), h, c.file) {
					if link := (*hostpath.LinkError)(nil); !errors.As(err, &link) || !strings.Contains(err.Error(), c.want) {
						t.Errorf("%s: %v, want %q", op, err, c.want)
					}
				}
				sameTree(t, root, before)
			})
		})
	}
}

// The links that an operating system ships at fixed places are followed to their shipped targets.
func TestShippedLinksAreFollowed(t *testing.T) {
	ways(t, func(t *testing.T) {
		h, root := linked(t)
		must(t, os.MkdirAll(root+"/usr/lib", 0o755), os.MkdirAll(root+"/var/opt", 0o755), os.MkdirAll(root+"/etc", 0o755),
			os.Symlink("usr/lib", root+"/lib"), os.Symlink("lib", root+"/usr/lib64"), os.Symlink("/usr/lib64", root+"/lib64"),
			os.Symlink("../run", root+"/var/run"), os.Symlink("var/opt", root+"/opt"),
			os.WriteFile(root+"/run/resolv.conf", []byte("nameserver"), 0o644), os.Symlink("../run/resolv.conf", root+"/etc/resolv.conf"))
		for path, at := range map[string]string{
			"/lib/a/f": "/usr/lib/a/f", "/lib64/b/f": "/usr/lib/b/f", "/var/run/c/f": "/run/c/f", "/opt/cni/bin/f": "/var/opt/cni/bin/f",
		} {
			must(t, h.WriteFile(t.Context(), path, []byte(path), self(0o644)))
			if text, err := os.ReadFile(root + at); err != nil || string(text) != path {
				t.Errorf("%s at %s: %q, %v", path, at, text, err)
			}
		}
		if text, err := h.Strict().ReadFile("/etc/resolv.conf"); err != nil || string(text) != "nameserver" {
			t.Errorf("ReadFile returns %q, %v, want %q", text, err, "nameserver")
		}
		must(t, os.Remove(root+"/etc/resolv.conf"), os.Symlink("/theirs/d/f", root+"/etc/resolv.conf"))
		if text, err := h.Strict().ReadFile("/etc/resolv.conf"); err == nil {
			t.Errorf("read through a link of somebody's: %q", text)
		}
	})
}

// A link that the documents state is followed, and no further link behind it.
func TestStatedLinksAreFollowed(t *testing.T) {
	ways(t, func(t *testing.T) {
		h, root := linked(t)
		must(t, os.Mkdir(root+"/opt", 0o755), os.Symlink("/data/cni", root+"/opt/cni"), os.MkdirAll(root+"/data", 0o755),
			os.Symlink("../theirs", root+"/data/cni"))
		h.Follow([]string{"/opt/cni"})
		err := h.WriteFile(t.Context(), "/opt/cni/f", []byte("x"), self(0o644))
		if err == nil || !strings.Contains(err.Error(), "/data/cni is a symbolic link to ../theirs: it is not followed") {
			t.Errorf("the second link: %v", err)
		}
		h.Follow([]string{"/data/cni", "/opt/cni"})
		must(t, h.WriteFile(t.Context(), "/opt/cni/f", []byte("x"), self(0o644)), h.Mkdir("/opt/cni", 0o711, os.Geteuid(), os.Getegid()))
		if text, err := os.ReadFile(root + "/theirs/f"); err != nil || string(text) != "x" {
			t.Errorf("ReadFile returns %q, %v, want %q", text, err, "x")
		}
	})
}

// A file with several names may belong to others. Its owner, mode and attributes stay, and it is
// not read. A write replaces the name.
func TestFileWithSeveralNames(t *testing.T) {
	h, root := linked(t)
	must(t, os.Link(root+"/theirs/d/f", root+"/run/pod/f"))
	info, err := h.Lstat("/run/pod/f")
	must(t, err)
	_, kept := h.Retain(t.Context(), "/run/pod/f", "/state/kept")
	_, captured := h.Capture("/run/pod/f", 1<<20)
	_, read := h.Strict().ReadFile("/run/pod/f")
	_, summed := h.Strict().Sum("/run/pod/f")
	before := readTree(t, root)
	for op, err := range map[string]error{
		"keep": kept, "capture": captured, "read": read, "sum": summed, "own": h.SetMeta("/run/pod/f", info, self(0o777)),
		"attributes": h.SetAttributes("/run/pod/f", map[string][]byte{"user.x": nil}),
		"edit":       h.EditFile(t.Context(), "/run/pod/f", func(old []byte) ([]byte, error) { return append(old, 'x'), nil }),
	} {
		if names := (*hostpath.NamesError)(nil); !errors.As(err, &names) || !strings.Contains(err.Error(), "has 2 names") {
			t.Errorf("%s: the error is %v", op, err)
		}
	}
	sameTree(t, root, before)
	must(t, h.WriteFile(t.Context(), "/run/pod/f", []byte("x"), self(0o644)))
	before["/run/pod/f"] = "-rw-r--r-- x"
	sameTree(t, root, before)
}

// A file that was replaced since the look at it gets neither owner nor mode.
func TestSetMetaOfWhatWasLookedAt(t *testing.T) {
	h, root := linked(t)
	must(t, h.WriteFile(t.Context(), "/run/pod/f", nil, self(0o644)))
	info, err := h.Lstat("/run/pod/f")
	must(t, err, os.Rename(root+"/theirs/d/f", root+"/run/pod/f"))
	if err := h.SetMeta("/run/pod/f", info, self(0o777)); !errors.Is(err, hostpath.ErrChanged) {
		t.Errorf("got %v", err)
	}
}

// RemoveTree only removes names. The file behind a link or behind another name stays as it was.
// RemoveTree does not enter a mount, not even one of the same file system.
func TestRemoveTree(t *testing.T) {
	needs.Root(t)
	h, root := linked(t)
	must(t, os.MkdirAll(root+"/run/pod/a/b/c", 0o000), os.Symlink("/theirs", root+"/run/pod/link"), os.Symlink(root+"/theirs", root+"/run/pod/out"),
		os.Link(root+"/theirs/d/f", root+"/run/pod/a/f"), unix.Mkfifo(root+"/run/pod/a/pipe", 0o600), os.Mkdir(root+"/run/pod/mounted", 0o755))
	theirs := readTree(t, root+"/theirs")
	must(t, unix.Mount(root+"/theirs", root+"/run/pod/mounted", "", unix.MS_BIND, ""))
	err := h.RemoveTree(t.Context(), "/run/pod")
	if err == nil || !strings.Contains(err.Error(), "/run/pod/mounted: a file system is mounted there") {
		t.Errorf("across a mount: %v", err)
	}
	sameTree(t, root+"/theirs", theirs)
	must(t, unix.Unmount(root+"/run/pod/mounted", 0), h.RemoveTree(t.Context(), "/run/pod"), h.RemoveTree(t.Context(), "/run/pod"))
	sameTree(t, root+"/theirs", theirs)
	if _, err := os.Lstat(root + "/run/pod"); err == nil {
		t.Error("it is there still")
	}
	must(t, os.MkdirAll(root+"/run/pod/a", 0o755), os.Mkdir(root+"/run/pod/b", 0o755), os.WriteFile(root+"/run/pod/a/first", nil, 0o644))
	mount(t, "tmpfs", root+"/run/pod/b", "tmpfs", 0, "")
	if err := h.RemoveTree(t.Context(), "/run/pod", "/run/pod/a"); err == nil {
		t.Error("a mount was removed")
	}
	if _, err := os.Lstat(root + "/run/pod/a/first"); err != nil {
		t.Errorf("the last path was removed before the others: %v", err)
	}
}
