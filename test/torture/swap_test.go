package torture

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/trap"
)

// doings has what the agent does below a directory to which a pod can write. Each is done to the
// tree of a [lair].
var doings = map[string]func(ctx context.Context, h *host.Host, dir string) (read string, err error){
	"remove the tree": func(ctx context.Context, h *host.Host, dir string) (string, error) {
		return "", h.Files.RemoveTree(ctx, dir)
	},
	"remove": func(_ context.Context, h *host.Host, dir string) (string, error) {
		return "", h.Files.Remove(dir + "/d/file")
	},
	"write": func(ctx context.Context, h *host.Host, dir string) (string, error) {
		return "", h.Files.WriteFile(ctx, dir+"/d/new/file", []byte("new"), hostfs.FileSpec{Mode: 0o777})
	},
	"replace": func(ctx context.Context, h *host.Host, dir string) (string, error) {
		return "", h.Files.WriteFile(ctx, dir+"/d/file", []byte("new"), hostfs.FileSpec{Mode: 0o4755, UID: 1000})
	},
	"edit": func(ctx context.Context, h *host.Host, dir string) (read string, err error) {
		return read, h.Files.EditFile(ctx, dir+"/d/file", func(old []byte) ([]byte, error) { read += string(old); return []byte("edited"), nil })
	},
	"make a directory": func(_ context.Context, h *host.Host, dir string) (string, error) {
		return "", h.Files.Mkdir(dir+"/d/e", 0o777, 1000, 1000)
	},
	"link": func(_ context.Context, h *host.Host, dir string) (string, error) {
		return "", h.Files.Symlink(dir+"/d/link", "x")
	},
	"own": func(_ context.Context, h *host.Host, dir string) (string, error) {
		info, err := h.Live.Files.Strict().Lstat(dir + "/d/file")
		if err != nil {
			return "", err
		}
		return "", h.Files.SetMeta(dir+"/d/file", info, hostfs.FileSpec{Mode: 0o4777, UID: 1000})
	},
	"date": func(_ context.Context, h *host.Host, dir string) (string, error) {
		return "", h.Files.SetMtime(dir+"/d/file", 1)
	},
	"append": func(_ context.Context, h *host.Host, dir string) (string, error) {
		return "", h.Files.AppendFile(dir+"/d/new", []byte("x"), 0o600)
	},
	"mark": func(_ context.Context, h *host.Host, dir string) (string, error) {
		return "", h.Files.SetAttributes(dir+"/d/file", map[string][]byte{"user.pod": []byte("x")})
	},
	"take down": func(_ context.Context, h *host.Host, dir string) (read string, err error) {
		for _, name := range []string{"", "/d", "/d/file", "/d/e", "/d/e/deep"} {
			was, failed := h.Live.Files.Capture(dir+name, 1<<20)
			read, err = read+string(was.Content)+was.Target, errors.Join(err, failed)
		}
		return read, err
	},
	"keep": func(ctx context.Context, h *host.Host, dir string) (string, error) {
		_, err := h.Files.Retain(ctx, dir+"/d/file", dir+"/../state/kept")
		text, _ := os.ReadFile(dir + "/../state/kept")
		return string(text), err
	},
	"list": func(_ context.Context, h *host.Host, dir string) (string, error) {
		names, err := h.Live.Files.Strict().ReadDir(dir + "/d/e")
		return strings.Join(names, " "), err
	},
	"clear up": func(_ context.Context, h *host.Host, dir string) (string, error) {
		h.Files.RemoveStale([]string{dir, dir + "/d", dir + "/d/e"})
		return "", nil
	},
}

const (
	swapDoing = "NETWRIGHT_SWAP_DOING" // the name of one of them
	swapIn    = "NETWRIGHT_SWAP_IN"    // the directory of a [lair]
	swapBegin = "/netwright-swap/begin"
	swapEnd   = "/netwright-swap/end/" // with what was read, in hexadecimal
)

// TestSwapVictim is not a test: it is the process that is stopped. It repeats one thing again and
// again.
func TestSwapVictim(t *testing.T) {
	what, dir := doings[os.Getenv(swapDoing)], os.Getenv(swapIn)
	if what == nil {
		t.Skip("runs only as the child of TestSwappedPaths")
	}
	for {
		if _, err := os.Stat(swapBegin); !errors.Is(err, fs.ErrNotExist) {
			return // all was tried
		}
		h, err := host.Open(t.Context(), host.Options{Root: "/", Facts: &host.Facts{}}) // anew: it remembers what it has cleared
		if err != nil {
			t.Fatal(err)
		}
		read, _ := what(t.Context(), h, dir+"/pod") // it may fail, but must do no harm
		h.Close()
		_, _ = os.Stat(swapEnd + hex.EncodeToString([]byte(read)[:min(len(read), 100)]))
	}
}

// lair has a directory to which a pod can write, and one beside it that nobody may read or change
// through the first.
type lair struct {
	t       *testing.T
	dir     string
	notify  int
	outside map[string]string
}

func newLair(t *testing.T) *lair {
	l := &lair{t: t, dir: t.TempDir()}
	for _, dir := range []string{"outside/d/e", "outside/d/new"} {
		l.must(os.MkdirAll(l.dir+"/"+dir, 0o755))
	}
	for _, file := range []string{"outside/d/file", "outside/d/e/deep", "outside/d/new/file", "outside/secret"} {
		l.must(os.WriteFile(l.dir+"/"+file, []byte("SECRET"), 0o640), os.Chown(l.dir+"/"+file, 33, 33))
	}
	var err error
	l.notify, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	l.must(err)
	t.Cleanup(func() { unix.Close(l.notify) })
	l.must(filepath.WalkDir(l.dir+"/outside", func(at string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		_, err = unix.InotifyAddWatch(l.notify, at, unix.IN_ACCESS|unix.IN_MODIFY|unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVE)
		return err
	}))
	l.outside = l.look()
	l.happened()
	return l
}

func (l *lair) must(errs ...error) {
	l.t.Helper()
	if err := errors.Join(errs...); err != nil {
		l.t.Fatal(err)
	}
}

// reset restores the pod's directory.
func (l *lair) reset() {
	l.must(os.RemoveAll(l.dir+"/pod"), os.RemoveAll(l.dir+"/links"), os.RemoveAll(l.dir+"/state"),
		os.MkdirAll(l.dir+"/pod/d/e", 0o755), os.Mkdir(l.dir+"/links", 0o755), os.Mkdir(l.dir+"/state", 0o755),
		os.WriteFile(l.dir+"/pod/d/file", []byte("the pod's"), 0o644), os.WriteFile(l.dir+"/pod/d/e/deep", []byte("the pod's"), 0o644))
}

// look returns the state of the tree outside, by names and stat.
func (l *lair) look() map[string]string {
	all := map[string]string{}
	l.must(filepath.WalkDir(l.dir+"/outside", func(at string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err == nil {
			err = unix.Lstat(at, &st)
		}
		all[at] = fmt.Sprintf("%o %d:%d %d bytes, %d", st.Mode, st.Uid, st.Gid, st.Size, st.Mtim.Nano())
		return err
	}))
	return all
}

// happened returns the events outside since its last call.
func (l *lair) happened() (events []string) {
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(l.notify, buf)
		if err != nil {
			return events
		}
		for at := 0; at < n; {
			event := buf[at:]
			mask, size := binary.NativeEndian.Uint32(event[4:]), binary.NativeEndian.Uint32(event[12:])
			events = append(events, fmt.Sprintf("%#x %s", mask, strings.TrimRight(string(event[16:16+size]), "\x00")))
			at += 16 + int(size)
		}
	}
}

// wrong returns what happened to the tree outside; "" is nothing.
func (l *lair) wrong(read string) string {
	events := l.happened()
	now := l.look()
	l.happened() // caused by this look
	switch {
	case strings.Contains(read, "SECRET"):
		return "what is outside was read"
	case !maps.Equal(now, l.outside):
		return fmt.Sprintf("what is outside is %v, was %v", now, l.outside)
	case len(events) > 0:
		return fmt.Sprintf("outside there was %q", events)
	}
	return ""
}

// swap is a way in which one thing below the pod's directory is replaced.
type swap struct{ at, way string }

var swaps = []swap{
	{"pod", "link"}, {"pod", "exchange"}, {"pod/d", "link"}, {"pod/d", "exchange"}, {"pod/d/e", "link"}, {"pod/d/e", "exchange"},
	{"pod/d/file", "link"}, {"pod/d/file", "exchange"}, {"pod/d/file", "another name"},
	{"pod/d/e/deep", "link"}, {"pod/d/e/deep", "another name"}, {"pod/d/new", "link"}, {"pod/d/new", "another name"},
}

// put makes the swap. What is absent cannot be replaced.
func (s swap) put(l *lair) {
	at, out := l.dir+"/"+s.at, l.dir+"/outside"+strings.TrimPrefix(s.at, "pod")
	switch s.way {
	case "link":
		_ = os.Rename(at, l.dir+"/links/away")
		_ = os.Symlink(out, at)
	case "exchange":
		l.must(os.Symlink(out, l.dir+"/links/other"))
		_ = unix.Renameat2(unix.AT_FDCWD, l.dir+"/links/other", unix.AT_FDCWD, at, unix.RENAME_EXCHANGE)
	case "another name":
		l.must(os.Link(l.dir+"/outside/secret", l.dir+"/links/other"))
		_ = os.Rename(l.dir+"/links/other", at)
	}
}

// The agent works below a directory to which a pod can write. At any of its system calls the pod
// replaces something there by a link, or by another name of a file of root. Nothing outside is read
// or changed. The test tries each call, one after the other, with the kernel's own walk and with
// the walk for kernels without one. `make test` takes a sample of the calls.
//
// What keeps it: pkg/host/hostpath/walk.go follow, withoutLinks; pkg/host/hostfs/remove.go
// tree.remove (O_NOFOLLOW); pkg/host/hostfs/backup.go openRegularAt and only;
// pkg/host/hostfs/filespec.go single.
func TestSwappedPaths(t *testing.T) {
	needs.Root(t)
	tried := 0
	for _, name := range slices.Sorted(maps.Keys(doings)) {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, openat2 %v", name, !old), func(t *testing.T) { tried += swapAll(t, name, old) })
		}
	}
	report(t, "paths swapped at each call", tried, 0, "%d doings, %d swaps", len(doings), len(swaps))
}

// sampled is the distance between two calls at which a swap is tried in a sample. Each swap begins
// at another call.
const sampled = 6

func swapAll(t *testing.T, name string, old bool) (tried int) {
	l := newLair(t)
	which, at, seen := 0, 1, 0
	decide := func(c trap.Call) trap.Decision {
		read, ended := strings.CutPrefix(c.Target, swapEnd)
		switch {
		case c.Target == swapBegin && which == len(swaps):
			return trap.Decision{Errno: int(unix.EIO)}
		case c.Target == swapBegin:
			l.reset()
			l.happened()
			seen = 0
		case ended:
			tried++
			text, _ := hex.DecodeString(read)
			if why := l.wrong(string(text)); why != "" {
				t.Errorf("%v at call %d: %s", swaps[which], at, why)
				which = len(swaps) // the tree outside has changed
			} else if at += either(1, sampled); seen < at {
				which++
				at = 1 + which%either(1, sampled)
			}
		case which < len(swaps):
			if seen++; seen == at {
				swaps[which].put(l)
			}
			if old && c.Name == "openat2" {
				return trap.Decision{Errno: int(unix.ENOSYS)}
			}
		}
		return trap.Decision{}
	}
	env := append(os.Environ(), swapDoing+"="+name, swapIn+"="+l.dir)
	o, err := trap.Look(t.Context(), []string{os.Args[0], "-test.run=^TestSwapVictim$"}, env, decide)
	if err != nil || o.Code != 0 || which < len(swaps) {
		t.Fatalf("%v, exit %d, at swap %d\n%s%s", err, o.Code, which, o.Stdout, o.Stderr)
	}
	return tried
}
