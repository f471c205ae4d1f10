package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// below has a root with directories, and methods that change them.
type below struct {
	*testing.T
	root string
}

func (f below) at(p string) string { return filepath.Join(f.root, p) }

func (f below) write(p, content string) {
	f.Helper()
	noError(f.T, os.MkdirAll(filepath.Dir(f.at(p)), 0o755))
	noError(f.T, os.WriteFile(f.at(p), []byte(content), 0o644))
}

func TestFilesWake(t *testing.T) {
	const conf = "/etc/cni/net.d/10-a.conflist"
	mine := func(f below) {
		f.Helper()
		noError(f.T, os.WriteFile(f.at(conf), []byte("theirs"), 0o644))
	}
	for name, c := range map[string]struct {
		interest Interest
		before   func(below) // makes the file before the watch
		do       func(below)
		last     string
	}{
		"written": {do: mine},
		"mode":    {do: func(f below) { noError(f.T, os.Chmod(f.at(conf), 0o600)) }},
		"owner":   {do: func(f below) { noError(f.T, os.Chown(f.at(conf), os.Getuid(), os.Getgid())) }},
		"removed": {do: func(f below) { noError(f.T, os.Remove(f.at(conf))) }},
		"replaced": {do: func(f below) {
			f.write("/etc/cni/net.d/.new", "x")
			noError(f.T, os.Rename(f.at("/etc/cni/net.d/.new"), f.at(conf)))
		}},
		"made for the first time": {
			before: func(f below) { noError(f.T, os.RemoveAll(f.at("/etc"))) },
			do: func(f below) {
				f.write(conf, "x")
				f.fence(conf)
			},
			last: conf,
		},
		"all gone": {do: func(f below) { noError(f.T, os.RemoveAll(f.at("/etc/cni"))) }, last: "/etc/cni"},
		"a directory above replaced, and then a file in the new one": {do: func(f below) {
			f.write("/etc/new/net.d/10-a.conflist", "x")
			noError(f.T, os.Rename(f.at("/etc/cni"), f.at("/etc/old")))
			noError(f.T, os.Rename(f.at("/etc/new"), f.at("/etc/cni")))
			f.fence(conf)
		}, last: conf},
		"behind a symlink": {
			before: func(f below) {
				noError(f.T, os.Rename(f.at("/etc/cni"), f.at("/real")))
				noError(f.T, os.Symlink("../real", f.at("/etc/cni")))
			},
			do: mine, last: "/real/net.d/10-a.conflist",
		},
		"behind an absolute symlink that is turned": {
			before: func(f below) {
				noError(f.T, os.Rename(f.at("/etc/cni"), f.at("/real")))
				noError(f.T, os.Symlink("/real", f.at("/etc/cni")))
			},
			do: func(f below) {
				f.write("/other/net.d/x", "x")
				noError(f.T, os.Remove(f.at("/etc/cni")))
				noError(f.T, os.Symlink("/other", f.at("/etc/cni")))
			},
			last: "/etc/cni",
		},
		"another name in a listed directory": {
			interest: Interest{Lists: []string{"/etc/cni/net.d"}},
			do:       func(f below) { f.write("/etc/cni/net.d/05-foreign.conf", "x") }, last: "/etc/cni/net.d/05-foreign.conf",
		},
		"a listed directory that comes": {
			interest: Interest{Lists: []string{"/var/lib/cni/bin"}},
			do:       func(f below) { f.write("/var/lib/cni/bin/x", "x") },
		},
		"a unit is enabled by hand": {
			interest: Interest{Units: []string{"x.service"}},
			before:   func(f below) { f.write("/etc/systemd/system/multi-user.target.wants/x.service", "") },
			do:       func(f below) { noError(f.T, os.Remove(f.at("/etc/systemd/system/multi-user.target.wants/x.service"))) },
		},
		"a unit is masked by hand": {
			interest: Interest{Units: []string{"x.service"}},
			before:   func(f below) { f.write("/etc/systemd/system/other.service", "") },
			do:       func(f below) { noError(f.T, os.Symlink("/dev/null", f.at("/etc/systemd/system/x.service"))) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := below{t, t.TempDir()}
			f.write(conf, "mine")
			if c.before != nil {
				c.before(f)
			}
			if c.interest.same(Interest{}) {
				c.interest.Paths = []string{conf}
			}
			w := watching(t, Options{Root: f.root}, c.interest)
			c.do(f)
			awaitWake(t, w, Files, c.last)
		})
	}
}

// fence writes a file again and again until the test ends, so that an event comes: a new directory
// is watched a moment later.
func (f below) fence(p string) {
	f.Helper()
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			if err := os.WriteFile(f.at(p), []byte(fmt.Sprint(n)), 0o644); err != nil {
				f.Error(err)
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f.Cleanup(func() {
		close(stop)
		<-ended
	})
}

// A change beside a watched path causes no event, and neither does a read.
func TestOnlyWhatMattersWakes(t *testing.T) {
	f := below{t, t.TempDir()}
	f.write("/opt/cni/bin/bridge", "x")
	w := watching(t, Options{Root: f.root}, Interest{Paths: []string{"/opt/cni/bin/bridge", "/etc/a/b/c"}})
	f.write("/opt/cni/bin/other", "x")
	f.write("/opt/other/x", "x")
	f.write("/etc2/a/b/c", "x")
	noError(t, os.Chmod(f.at("/opt/cni"), 0o700)) // it only leads to what matters
	_, err := os.ReadFile(f.at("/opt/cni/bin/bridge"))
	noError(t, err)
	noError(t, os.Remove(f.at("/opt/cni/bin/bridge")))
	if got := awaitWake(t, w, Files, "")[Files]; got.Events != 1 || got.Last != "/opt/cni/bin/bridge" {
		t.Errorf("woken by %+v", got)
	}
}

// The kernel drops events if there are too many. Then a look at everything finds the changes, and
// the watches fit the tree.
func TestTooManyEventsAreOneMoreLook(t *testing.T) {
	f := below{t, t.TempDir()}
	f.write("/etc/x", "")
	w := watching(t, Options{Root: f.root}, Interest{Paths: []string{"/etc/x", "/etc/d/y"}})
	files := w.sources[0].(*fileWatch)
	files.mu.Lock() // so nobody reads
	for n := 0; n < 10_000; n++ {
		noError(t, os.Chmod(f.at("/etc/x"), os.FileMode(0o600+n%2*0o44))) // the kernel merges two equal events in a row
		noError(t, os.Chmod(f.at("/etc"), 0o755))
	}
	noError(t, os.Mkdir(f.at("/etc/d"), 0o755))
	files.mu.Unlock()
	for lost := false; !lost; {
		lost = awaitWake(t, w, Files, "")[Files].Lost
	}
	f.write("/etc/d/y", "x")
	awaitWake(t, w, Files, "/etc/d/y")
}

// The number of watches does not grow, however often a watched path is replaced.
func TestWatchesDoNotPileUp(t *testing.T) {
	f := below{t, t.TempDir()}
	f.write("/etc/cni/net.d/a", "")
	w := watching(t, Options{Root: f.root}, Interest{Paths: []string{"/etc/cni/net.d/a"}})
	files := w.sources[0].(*fileWatch)
	for n := range 50 {
		noError(t, os.Rename(f.at("/etc/cni"), f.at(fmt.Sprintf("/etc/old%d", n))))
		f.write("/etc/cni/net.d/a", "")
	}
	noError(t, os.WriteFile(f.at("/etc/cni/net.d/a"), []byte("last"), 0o644))
	awaitWake(t, w, Files, "")
	files.again()
	files.mu.Lock()
	defer files.mu.Unlock()
	if len(files.dirs) != 4 {
		t.Errorf("%d directories are watched: %v", len(files.dirs), files.dirs)
	}
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", files.fd))
	noError(t, err)
	kernel := 0
	for _, line := range strings.Split(string(info), "\n") {
		if len(line) > 10 && line[:10] == "inotify wd" {
			kernel++
		}
	}
	if kernel != 4 {
		t.Errorf("the kernel watches %d inodes:\n%s", kernel, info)
	}
}
