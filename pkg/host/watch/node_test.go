package watch

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host/systemd"
)

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

const (
	restarts = 3 // systemd refuses the sixth within ten seconds
	// ofFewSignals is more than the number of objects that the test allocates to run these
	// commands, and less than what the signals about them are decoded to.
	ofFewSignals = 5_000
)

// refusal is the bus daemon's policy not to forward a request for systemd's signals.
const refusal = `<busconfig><policy context="mandatory"><deny send_interface="org.freedesktop.systemd1.Manager" send_member="Subscribe"/></policy></busconfig>`

// testWatchedUnits runs in a node, once by the message bus, and by systemd's private socket where
// there is no bus, or where it refuses the request. The bus daemon sends nothing about other units.
// The lines that keep it: pkg/host/systemd/signals.go, Listen.
func testWatchedUnits(t *testing.T) {
	for name, private := range map[string]bool{"private": true, "bus": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			const wanted = "/etc/systemd/system/multi-user.target.wants/sleeper.service"
			w := New(Options{})
			t.Cleanup(func() { noError(t, w.Close()) })
			units := w.sources[len(w.sources)-1].(*unitWatch)
			switch name {
			case "private":
				units.signals.Bus = "/run/no-bus"
			case "refused":
				const policy = "/etc/dbus-1/system.d/refusal.conf"
				noError(t, os.WriteFile(policy, []byte(refusal), 0o644))
				run(t, "systemctl", "reload", "dbus")
				t.Cleanup(func() { noError(t, os.Remove(policy)); run(t, "systemctl", "reload", "dbus") })
			}
			w.Set(Interest{Units: []string{"sleeper.service", "static.service"}})
			if deaf := w.Unwatched(); len(deaf) > 0 {
				t.Fatalf("sources that are not watched: %v", deaf)
			}
			fence := func() { run(t, "systemctl", "daemon-reload") }
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range restarts {
				run(t, "systemctl", "restart", "once.service")
			}
			fence()
			awaitWake(t, w, Units, "daemon-reload")
			runtime.ReadMemStats(&after)
			objects := after.Mallocs - before.Mallocs
			t.Logf("%d restarts of another unit and a reload: %d objects", restarts, objects)
			if few := objects < ofFewSignals; few == private {
				t.Errorf("%d objects were allocated for %d restarts of another unit and a reload; by the private socket: %v", objects,
					restarts, private)
			}
			u := systemd.Open(true) // it gets all signals, too
			t.Cleanup(func() { noError(t, u.Close()) })
			look := func(name string) {
				_, err := u.Unit(t.Context(), name)
				noError(t, err)
			}
			for what, do := range map[string]func(){
				"a look at a unit that systemd had forgotten": func() { look("static.service"); look("with-dash.and\\x20x.service") },
				"another unit": func() { run(t, "systemctl", "start", "once.service"); run(t, "systemctl", "stop", "once.service") },
			} {
				if n := fenced(t, w, Units, "daemon-reload", do, fence); n != 0 {
					t.Errorf("%s woke %d times", what, n)
				}
			}
			for _, do := range []string{"start", "kill -s KILL", "restart", "stop"} {
				if n := fenced(t, w, Units, "daemon-reload", func() { ofSleeper(t, do) }, fence); n == 0 {
					t.Errorf("%s woke nobody", do)
				}
			}
			run(t, "systemctl", "enable", "sleeper.service")
			awaitWake(t, w, Files, wanted)
			noError(t, os.Remove(wanted))
			awaitWake(t, w, Files, wanted)
			run(t, "systemctl", "daemon-reexec") // closes all connections of the private socket; the bus keeps its own
			if private {
				for lost := false; !lost; {
					lost = awaitWake(t, w, Units, "")[Units].Lost
				}
			}
			w.Set(Interest{Units: []string{"sleeper.service", "static.service"}}) // the same again
			if deaf := w.Unwatched(); len(deaf) > 0 {
				t.Fatalf("sources that are not watched: %v", deaf)
			}
			run(t, "systemctl", "start", "sleeper.service")
			awaitWake(t, w, Units, "sleeper.service")
			run(t, "systemctl", "stop", "sleeper.service")
		})
	}
}

// ofSleeper has systemctl do something to the sleeper, and waits until systemd knows of it, since a
// signal is only sent.
func ofSleeper(t *testing.T, do string) {
	t.Helper()
	run(t, "systemctl", append(strings.Fields(do), "sleeper.service")...)
	for strings.HasPrefix(do, "kill") && isActive("sleeper.service") { // the test's deadline ends this
	}
}

// isActive says whether a unit is active.
func isActive(unit string) bool {
	return exec.Command("systemctl", "is-active", "--quiet", unit).Run() == nil
}

// testWatchedMounts runs in a node, since it may change anything in the node's mount namespace.
func testWatchedMounts(t *testing.T) {
	noError(t, os.MkdirAll("/srv/fs", 0o755))
	noError(t, os.MkdirAll("/srv/other", 0o755))
	noError(t, os.MkdirAll("/srv/under/dir", 0o755))
	w := watching(t, Options{}, Interest{Mounts: []string{"/srv/fs"}, Paths: []string{"/srv/under/dir/file"}})
	mount := func(what string) func() { return func() { run(t, "sh", "-c", what) } }
	fenceUp := false
	fence := func() {
		if fenceUp = !fenceUp; fenceUp {
			run(t, "mount", "-t", "tmpfs", "none", "/srv/fs")
		} else {
			run(t, "umount", "/srv/fs")
		}
	}
	fence()
	awaitWake(t, w, Mounts, "")
	mount("mount -t tmpfs none /srv/other && umount /srv/other")() // a mount of a pod
	fence()
	awaitWake(t, w, Mounts, "")
	mount("mount -t tmpfs none /srv/under")()
	awaitWake(t, w, Mounts, "")
	mount("mkdir /srv/under/dir && touch /srv/under/dir/file")() // in the present file system
	awaitWake(t, w, Files, "")
	mount("umount /srv/under")()
	awaitWake(t, w, Mounts, "")
	mount("touch /srv/under/dir/file")()
	awaitWake(t, w, Files, "/srv/under/dir/file")
}

// testWatchedSysctls runs in a node. The kernel reports the first two keys by netconf, and the
// others by their files. A write in another network namespace changes another sysctl. Files are
// opened to append, since a truncation before the write causes an event of its own, which may come
// late.
func testWatchedSysctls(t *testing.T) {
	run(t, "ip", "link", "add", "lab7", "type", "veth", "peer", "name", "lab8")
	t.Cleanup(func() { run(t, "ip", "link", "del", "lab7") })
	keys := []string{"net.ipv4.ip_forward", "net.ipv4.conf.lab7.rp_filter", "net.ipv4.tcp_fin_timeout",
		"net.ipv4.conf.lab7.arp_ignore", "net.ipv6.conf.all.accept_redirects", "net.core.somaxconn"}
	w := watching(t, Options{}, Interest{Sysctls: keys})
	fence := func() { run(t, "sh", "-c", "echo 4097 >>/proc/sys/net/core/somaxconn") }
	for _, key := range keys {
		name := strings.ReplaceAll(key, ".", "/")
		run(t, "sh", "-c", "cat /proc/sys/"+name+" >/tmp/value && cat /tmp/value >>/proc/sys/"+name)
		if what := "/proc/sys/" + name; SysctlNotifies(key) {
			awaitWake(t, w, Sysctls, "")
		} else {
			awaitWake(t, w, Sysctls, what)
		}
	}
	const fenceFile = "/proc/sys/net/core/somaxconn"
	others := func() {
		run(t, "sysctl", "-qw", "net.ipv4.tcp_syn_retries=6") // beside a key that counts
		run(t, "unshare", "--net", "sysctl", "-qw", "net.ipv4.tcp_fin_timeout=59")
	}
	if n := fenced(t, w, Sysctls, fenceFile, others, fence); n != 0 {
		t.Errorf("sysctls that are none of ours woke %d times", n)
	}
}
