package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rootfs"
)

// machine is the node on which all contenders work in turns.
type machine struct {
	*node.Node
	t        testing.TB
	pristine map[string]bool   // the paths on its disk before any contender
	sysctls  map[string]string // those of its network namespace
	trash    int
	job      job  // of the scenario
	plain    bool // without a distribution's modules.dep and a runtime
}

// changing has the directories to which contenders and their programs write.
var changing = []string{"etc", "opt", "srv", "root", "usr/local", "usr/lib/systemd/system", "var/cache", "var/tmp", "var/lib"}

// newMachine boots a node with a disk of its own, the programs in place, and CFEngine if this
// machine's packages have it.
func newMachine(t testing.TB, programs map[string]string) *machine {
	t.Helper()
	n := node.NewFabric(t).Prepare(t, node.Options{Name: nodeName, Address: "10.77.0.11", OwnDisk: true, Files: distribution(t), Copies: programs})
	m := &machine{Node: n, t: t}
	if testing.Short() {
		t.Log("CFEngine is left out: -short")
	} else if err := m.installCFEngine(t.Context()); err != nil {
		t.Logf("CFEngine is left out: %v", err)
	}
	m.Boot(t.Context())
	m.inhabit(t.Context())
	m.prefer()
	m.pristine = map[string]bool{}
	m.walk(func(path string) bool { m.pristine[path] = true; return true })
	m.sysctls = m.readSysctls()
	m.serve(filepath.Dir(plugins(t).Path))
	return m
}

// prefer gives most of the processors to the node's processes, and to this process with its web
// server, when other work wants them too. An error is ignored, since the figures are ratios in both
// cases.
func (m *machine) prefer() {
	os.WriteFile("/proc/self/autogroup", []byte("-20"), 0)
	groups, _ := os.ReadFile(strings.TrimSuffix(m.Netns(), "/ns/net") + "/cgroup")
	for line := range strings.Lines(string(groups)) {
		_, group, _ := strings.Cut(strings.TrimSpace(line), "/")
		lab, _, _ := strings.Cut(group, "/") // it competes with the machine's other work
		os.WriteFile("/sys/fs/cgroup/cpu/"+lab+"/cpu.shares", []byte("262144"), 0)
		os.WriteFile("/sys/fs/cgroup/"+lab+"/cpu.weight", []byte("10000"), 0)
	}
}

// installCFEngine installs the distribution's package into the disk before the boot. It installs
// only the agent, and none of its daemons.
func (m *machine) installCFEngine(ctx context.Context) error {
	if err := rootfs.Chroot(ctx, m.Root(), "mkdir -p /run/systemd/resolve"); err != nil {
		return err
	}
	const apt = "/etc/apt"
	if out, err := exec.CommandContext(ctx, "cp", "--archive", apt+"/.", m.Root()+apt).CombinedOutput(); err != nil {
		return fmt.Errorf("copying apt's sources: %w\n%s", err, out)
	}
	for _, name := range []string{"/etc/resolv.conf", "/etc/hosts"} {
		was, readErr := os.ReadFile(m.Root() + name)
		content, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("reading how names are resolved: %w", err)
		}
		if err := os.WriteFile(m.Root()+name, content, 0o644); err != nil {
			return err
		}
		defer func() {
			if readErr != nil {
				os.Remove(m.Root() + name)
				return
			}
			os.WriteFile(m.Root()+name, was, 0o644)
		}()
	}
	return rootfs.Chroot(ctx, m.Root(), `
export DEBIAN_FRONTEND=noninteractive
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod +x /usr/sbin/policy-rc.d
apt-get update -qq && apt-get install -qq -y --no-install-recommends cfengine3 >/dev/null
rm -rf /usr/sbin/policy-rc.d /var/lib/apt/lists/*
systemctl -q disable cfengine3.service cf-execd.service cf-monitord.service cf-serverd.service 2>/dev/null || true
`)
}

func (m *machine) has(program string) bool {
	_, err := os.Stat(filepath.Join(m.Root(), program))
	return err == nil
}

// serve runs the web server with the archives on the node's loopback. Below slow it serves at 1
// Gbit/s. Its sockets belong to the node, and its processor time to this process.
func (m *machine) serve(dir string) {
	var listener net.Listener
	err := m.Do(func() (err error) {
		listener, err = net.Listen("tcp", listen)
		return err
	})
	if err != nil {
		m.t.Fatalf("serving the archive: %v", err)
	}
	files := http.NewServeMux()
	files.Handle("/", http.FileServer(http.Dir(dir)))
	files.Handle(slow+"/", http.StripPrefix(slow, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.FileServer(http.Dir(dir)).ServeHTTP(&gigabit{ResponseWriter: w}, r)
	})))
	server := &http.Server{Handler: files, ReadHeaderTimeout: time.Minute}
	go server.Serve(listener)
	m.t.Cleanup(func() { server.Close() })
}

// wire returns how long a gigabit link needs for this many bytes, without the overhead of
// protocols.
func wire(size int64) time.Duration { return time.Duration(size * 8) }

// gigabit answers at the speed of a gigabit link.
type gigabit struct {
	http.ResponseWriter
	began time.Time
	sent  int64
}

func (g *gigabit) Write(p []byte) (n int, err error) {
	if g.began.IsZero() {
		g.began = time.Now()
	}
	for len(p) > 0 && err == nil {
		var wrote int
		wrote, err = g.ResponseWriter.Write(p[:min(len(p), 64<<10)])
		n, p, g.sent = n+wrote, p[wrote:], g.sent+int64(wrote)
		time.Sleep(time.Until(g.began.Add(wire(g.sent))))
	}
	return n, err
}

// wait keeps the node, so that a person can look at it with strace or a profiler.
func (m *machine) wait(ctx context.Context) {
	m.put(map[string]string{home + "/hold": "remove me\n"})
	fmt.Printf("nsenter -t %s -a\n", strings.Split(m.Netns(), "/")[2])
	for m.has(home+"/hold") && ctx.Err() == nil {
		time.Sleep(time.Second)
	}
}

// offer writes the inputs of a scenario for the contenders, and removes those of the last one.
func (m *machine) offer(files map[string]string) {
	for _, dir := range []string{storeDir, home + smallDir} {
		if err := os.RemoveAll(filepath.Join(m.Root(), dir)); err != nil {
			m.t.Fatalf("removing the last scenario's inputs: %v", err)
		}
	}
	m.put(files)
}

// put writes the files of a scenario: documents, policies, manifests.
func (m *machine) put(files map[string]string) {
	m.t.Helper()
	for path, content := range files {
		mode := fs.FileMode(0o600) // CFEngine refuses policies that other users can write
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		path = filepath.Join(m.Root(), path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), mode)); err != nil {
			m.t.Fatalf("writing to the node: %v", err)
		}
	}
}

// walk visits the paths on the disk where contenders write. visit returns whether to enter a
// directory.
func (m *machine) walk(visit func(path string) bool) {
	m.t.Helper()
	for _, dir := range changing {
		err := filepath.WalkDir(filepath.Join(m.Root(), dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if !visit(path) && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		if err != nil {
			m.t.Fatalf("looking at the node's disk: %v", err)
		}
	}
}

// reset makes the node bare again. It moves added files aside and does not delete them, since ext4
// searches past inodes that were deleted in the last minutes, which would slow the next contender.
// It truncates large files, so that the kernel gets their pages back.
func (m *machine) reset(ctx context.Context) {
	m.t.Helper()
	m.Run(ctx, "systemctl", "--quiet", "disable", "--now", service)
	m.Run(ctx, "systemctl", "--quiet", "stop", "netwright-watch.service") // it runs the copy of the program
	trash := filepath.Join(m.Root(), "trash")
	var added []string
	m.walk(func(path string) bool {
		if !m.pristine[path] {
			added = append(added, path)
		}
		return m.pristine[path]
	})
	err := os.MkdirAll(trash, 0o700)
	for _, path := range added {
		m.trash++
		aside := filepath.Join(trash, fmt.Sprint(m.trash))
		err = errors.Join(err, os.Rename(path, aside), filepath.WalkDir(aside, cutBig))
	}
	if err = errors.Join(err, m.Do(m.resetSysctls)); err != nil {
		m.t.Fatalf("resetting the node: %v", err)
	}
	m.Must(ctx, "systemctl", "daemon-reload")
	m.Run(ctx, "systemctl", "reset-failed")
	if out, err := exec.CommandContext(ctx, "sync").CombinedOutput(); err != nil {
		m.t.Fatalf("syncing: %v\n%s", err, out)
	}
}

func cutBig(path string, entry fs.DirEntry, err error) error {
	if err != nil || !entry.Type().IsRegular() {
		return err
	}
	if info, err := entry.Info(); err != nil || info.Size() < 1<<20 {
		return err
	}
	if err := os.Truncate(path, 0); !errors.Is(err, syscall.ETXTBSY) { // a copy of the program that runs now
		return err
	}
	return nil
}

const netSysctls = "/proc/sys/net"

func (m *machine) readSysctls() map[string]string {
	values := map[string]string{}
	err := m.Do(func() error { return eachSysctl(func(path, value string) { values[path] = value }) })
	if err != nil {
		m.t.Fatalf("reading the node's sysctls: %v", err)
	}
	return values
}

// resetSysctls restores all changed values, twice, since some keys change others when they are
// written.
func (m *machine) resetSysctls() error {
	for range 2 {
		differing := map[string]string{}
		err := eachSysctl(func(path, value string) {
			if was, ok := m.sysctls[path]; ok && was != value {
				differing[path] = was
			}
		})
		if err != nil {
			return err
		}
		for path, value := range differing {
			if err := os.WriteFile(path, []byte(value+"\n"), 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachSysctl visits the sysctls of the calling thread's network namespace. It leaves out a link's
// mode of addresses and its secret: no scenario sets one, and many readers of them stop the machine
// while links come and go.
func eachSysctl(visit func(path, value string)) error {
	return filepath.WalkDir(netSysctls, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "addr_gen_mode" || entry.Name() == "stable_secret" {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Mode()&0o200 == 0 {
			return err
		}
		if value, err := os.ReadFile(path); err == nil { // some can only be written
			visit(path, strings.TrimSpace(string(value)))
		}
		return nil
	})
}
