package hostfs

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/blob"
)

// readWriter reads and writes the files of one root.
type readWriter struct {
	*Reader
	*Writer
}

func (h *readWriter) ReadFile(name string) ([]byte, error)  { return h.Reader.ReadFile(name) }
func (h *readWriter) ReadDir(name string) ([]string, error) { return h.Reader.ReadDir(name) }

// image opens the files of a temporary directory.
func image(t testing.TB) (*readWriter, string) {
	t.Helper()
	root := t.TempDir()
	return openImage(t, Options{Root: root}), root
}

func openImage(t testing.TB, opt Options) *readWriter {
	t.Helper()
	f, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &readWriter{f, NewWriter(f)}
}

// self returns a spec for files of the user who runs the test.
func self(mode os.FileMode) FileSpec {
	return FileSpec{Mode: mode, UID: os.Geteuid(), GID: os.Getegid()}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRootIsNeverLeft reads through symlinks and ".." that lead out of the root, with openat2 and
// with the walk that replaces it. The lines that keep it: package hostpath, openIn, Resolve and
// walker.open.
func TestRootIsNeverLeft(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	must(t,
		os.MkdirAll(root+"/usr/lib", 0o755), os.MkdirAll(root+"/etc", 0o755),
		os.WriteFile(base+"/secret", []byte("outside"), 0o644),
		os.WriteFile(root+"/secret", []byte("inside"), 0o644),
		os.WriteFile(root+"/usr/lib/os-release", []byte("ID=image\n"), 0o644),
		os.Symlink("/usr/lib/os-release", root+"/etc/os-release"),
		os.Symlink("../../../../../secret", root+"/etc/up"),
		os.Symlink("/usr/../usr/./lib", root+"/lib"),
		os.Symlink("loop", root+"/etc/loop"),
		os.Symlink("/etc/nowhere", root+"/etc/dangling"),
	)
	ways(t, func(t *testing.T) {
		h := openImage(t, Options{Root: root})
		for name, want := range map[string]string{
			"/etc/os-release":                      "ID=image\n",
			"/lib/os-release":                      "ID=image\n",
			"/etc/up":                              "inside",
			"/../../secret":                        "inside",
			"/lib/../secret":                       "inside", // cleaned before any symlink is followed
			"/usr/lib/../../etc/../lib/os-release": "ID=image\n",
		} {
			got, err := h.ReadFile(name)
			if err != nil || string(got) != want {
				t.Errorf("ReadFile(%q) = %q, %v; want %q", name, got, err, want)
			}
		}
		for _, name := range []string{"/etc/dangling", "/etc/absent", "/absent/x"} {
			if _, err := h.ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("ReadFile(%q): %v, want fs.ErrNotExist", name, err)
			}
		}
		if _, err := h.ReadFile("/etc/loop"); !errors.Is(err, unix.ELOOP) {
			t.Errorf("a loop: %v", err)
		}
		if _, err := h.ReadFile("etc/os-release"); err == nil {
			t.Error("a relative path was read")
		}
		info, err := h.Lstat("/etc/os-release")
		if err != nil || info.Type != Symlink {
			t.Errorf("Lstat followed: %+v, %v", info, err)
		}
		if target, err := h.Readlink("/etc/up"); err != nil || target != "../../../../../secret" {
			t.Errorf("Readlink = %q, %v", target, err)
		}
		for name, want := range map[string]string{
			"/lib/os-release": "/usr/lib/os-release", "/etc/up": "/secret", "/etc/dangling": "/etc/nowhere",
			"/lib/absent/x": "/usr/lib/absent/x", "/lib": "/usr/lib", "/": "/",
		} {
			if end, err := h.Resolve(name); err != nil || end != want {
				t.Errorf("Resolve(%q) = %q, %v; want %q", name, end, err, want)
			}
		}
		if _, err := h.Resolve("/etc/loop"); !errors.Is(err, unix.ELOOP) {
			t.Errorf("Resolve of a loop: %v", err)
		}
		list, err := h.ReadDir("/lib")
		if err != nil || !slices.Equal(list, []string{"os-release"}) {
			t.Errorf("ReadDir = %q, %v", list, err)
		}
		must(t, h.WriteFile(context.Background(), "/lib/written", []byte("x"), self(0o644)))
		if err := os.Remove(root + "/usr/lib/written"); err != nil {
			t.Error(err)
		}
	})
}

func TestLstatTellsTheTruth(t *testing.T) {
	h, root := image(t)
	must(t, os.WriteFile(root+"/f", []byte("12345"), 0o600), unix.Chmod(root+"/f", 0o4751), os.Mkdir(root+"/d", 0o1777), unix.Mkfifo(root+"/p", 0o600))
	var st unix.Stat_t
	must(t, unix.Stat(root+"/f", &st))
	got, err := h.Lstat("/f")
	must(t, err)
	want := FileInfo{
		Type: Regular, Mode: 0o751 | os.ModeSetuid, UID: os.Geteuid(), GID: int(st.Gid), Size: 5, Inode: st.Ino,
		Dev: st.Dev, Links: 1, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for name, want := range map[string]FileType{"/": Directory, "/d": Directory, "/p": Other} {
		if got, err := h.Lstat(name); err != nil || got.Type != want {
			t.Errorf("%s is %q, %v; want %q", name, got.Type, err, want)
		}
	}
	if _, err := h.ReadFile("/p"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
}

func TestReadFileOfProcAndLimit(t *testing.T) {
	live := openImage(t, Options{Root: "/"})
	want, err := os.ReadFile("/proc/version")
	must(t, err)
	if got, err := live.ReadFile("/proc/version"); err != nil || string(got) != string(want) {
		t.Errorf("got %q, %v", got, err)
	}
	h, root := image(t)
	must(t, os.WriteFile(root+"/empty", nil, 0o644), os.WriteFile(root+"/big", nil, 0o644), os.Truncate(root+"/big", MaxReadFile+1))
	if got, err := h.ReadFile("/empty"); err != nil || len(got) != 0 {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := h.ReadFile("/big"); err == nil {
		t.Error("a file over the limit was read")
	}
}

type stampBook map[string]struct {
	info FileInfo
	sum  blob.Digest
}

func (b stampBook) Lookup(path string, info FileInfo) (blob.Digest, bool) {
	e, ok := b[path]
	return e.sum, ok && e.info == info
}

func (b stampBook) Record(path string, info FileInfo, sum blob.Digest) {
	b[path] = struct {
		info FileInfo
		sum  blob.Digest
	}{info, sum}
}

func TestSumBelievesStampsUnlessVerify(t *testing.T) {
	book := stampBook{}
	root := t.TempDir()
	h := openImage(t, Options{Root: root, Stamps: book})
	content := []byte(strings.Repeat("network ", 5000))
	must(t, h.WriteFile(context.Background(), "/bin/tool", content, self(0o755)))
	h.RecheckRacy() // files are not recorded in the tick in which they were written
	if len(book) != 1 {
		t.Fatalf("recorded after the commit: %v", book)
	}
	// A wrong record shows whether it was used.
	lie := book["/bin/tool"]
	lie.sum[0] ^= 0xff
	book["/bin/tool"] = lie
	if sum, err := h.Sum("/bin/tool"); err != nil || sum != lie.sum {
		t.Errorf("the record of an untouched file was not used: %v, %v", sum, err)
	}
	h.Reader.opt.Verify = true
	if sum, err := h.Sum("/bin/tool"); err != nil || sum != blob.Digest(sha256.Sum256(content)) {
		t.Errorf("--verify: %v, %v", sum, err)
	}
	h.Reader.opt.Verify = false
	content[0] = 'N'
	must(t, os.WriteFile(root+"/bin/tool", content, 0o755))
	for range 2 {
		if sum, err := h.Sum("/bin/tool"); err != nil || sum != blob.Digest(sha256.Sum256(content)) {
			t.Errorf("after a change: %v, %v", sum, err)
		}
	}
	for _, size := range []int{0, 1, smallFile - 1, smallFile, chunk, chunk + 1} {
		content := []byte(strings.Repeat("x", size))
		must(t, os.WriteFile(root+"/sized", content, 0o644))
		if sum, err := h.Sum("/sized"); err != nil || sum != blob.Digest(sha256.Sum256(content)) {
			t.Errorf("%d bytes: %v, %v", size, sum, err)
		}
	}
}

func TestOwnerByTheRootsOwnFiles(t *testing.T) {
	h, root := image(t)
	must(t, os.Mkdir(root+"/etc", 0o755),
		os.WriteFile(root+"/etc/passwd", []byte("root:x:0:0::/:/bin/sh\ncalico:x:777:778::/:\ncalico:x:1:1::/:\n+nis\n"), 0o644),
		os.WriteFile(root+"/etc/group", []byte("root:x:0:\nnet:x:55:calico\n"), 0o644))
	for owner, want := range map[string][2]int{
		"": {0, 0}, "root:root": {0, 0}, "calico": {777, 778}, "calico:net": {777, 55}, "12:34": {12, 34}, "calico:9": {777, 9},
	} {
		if uid, gid, err := h.Owner(owner); err != nil || [2]int{uid, gid} != want {
			t.Errorf("Owner(%q) = %d, %d, %v; want %v", owner, uid, gid, err, want)
		}
	}
	for owner, want := range map[string]string{
		"nobody:net": `no user "nobody"`, "calico:none": `no group "none"`, "12": "user:group", ":net": "user:group", "4294967295:0": "no user",
	} {
		if _, _, err := h.Owner(owner); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Owner(%q): %v, want %q", owner, err, want)
		}
	}
	must(t, os.WriteFile(root+"/etc/group", []byte("none:x:66:\n"), 0o644))
	if _, gid, err := h.Owner("calico:none"); err != nil || gid != 66 {
		t.Errorf("a group that came later: %d, %v", gid, err)
	}
}

// Of a program that Go's linker made, the path of its package is known without running it.
func TestGoPackage(t *testing.T) {
	f := openImage(t, Options{Root: "/"})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		self: "github.com/netwright/netwright/pkg/host/hostfs.test", "/etc/passwd": "", "/bin/sh": "", "/dev/null": "", "/none": "",
	} {
		if got := GoPackage(f.Reader, name); got != want {
			t.Errorf("the package of %s is %q, want %q", name, got, want)
		}
	}
}
