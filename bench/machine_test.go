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

// machine is the node that all contenders work on, in turns.
type machine struct {
	*node.Node
	t        testing.TB
	pristine map[string]bool   // what was on its disk before any contender
	sysctls  map[string]string // and in its network namespace
	trash    int
	job      job  // of the scenario
	plain    bool // the node has no distribution's modules.dep and no runtime
}

// changing are the directories that contenders write to, themselves or by what they run.
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

// prefer gives the node's processes, and this one with its web server, most of the processors when
// others want them too. It does what it can: figures are ratios, with or without.
func (m *machine) prefer() {
	os.WriteFile("/proc/self/autogroup", []byte("-20"), 0)
	groups, _ := os.ReadFile(strings.TrimSuffix(m.Netns(), "/ns/net") + "/cgroup")
	for line := range strings.Lines(string(groups)) {
		_, group, _ := strings.Cut(strings.TrimSpace(line), "/")
		lab, _, _ := strings.Cut(group, "/") // competes with what else runs on the machine
		os.WriteFile("/sys/fs/cgroup/cpu/"+lab+"/cpu.shares", []byte("262144"), 0)
		os.WriteFile("/sys/fs/cgroup/"+lab+"/cpu.weight", []byte("10000"), 0)
	}
}

// installCFEngine installs the distribution's package into the disk before it is booted; the agent
// alone, none of its daemons.
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

// serve is the web server on the node's loopback that the archives come from, below slow at 1
// Gbit/s. Its sockets are the node's, its processor time is this process's.
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

// wire is how long a gigabit link takes for so many bytes, without what the protocols add.
func wire(size int64) time.Duration { return time.Duration(size * 8) }

// gigabit answers as fast as a gigabit link does.
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

// wait keeps the node for whoever wants to look at it: strace, a profile.
func (m *machine) wait(ctx context.Context) {
	m.put(map[string]string{home + "/hold": "remove me\n"})
	fmt.Printf("nsenter -t %s -a\n", strings.Split(m.Netns(), "/")[2])
	for m.has(home+"/hold") && ctx.Err() == nil {
		time.Sleep(time.Second)
	}
}

// offer puts the inputs of a scenario where the contenders read them, and takes those of the last
// one away.
func (m *machine) offer(files map[string]string) {
	for _, dir := range []string{storeDir, home + smallDir} {
		if err := os.RemoveAll(filepath.Join(m.Root(), dir)); err != nil {
			m.t.Fatalf("removing the last scenario's inputs: %v", err)
		}
	}
	m.put(files)
}

// put writes what a scenario brings: documents, policies, manifests.
func (m *machine) put(files map[string]string) {
	m.t.Helper()
	for path, content := range files {
		mode := fs.FileMode(0o600) // CFEngine refuses policies that others can write to
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		path = filepath.Join(m.Root(), path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), mode)); err != nil {
			m.t.Fatalf("writing to the node: %v", err)
		}
	}
}

// walk visits what is on the disk where contenders write. visit says whether to go into a
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

// reset makes the node bare again. What was added is moved aside and not deleted: ext4 searches
// past inodes that were deleted in the last minutes, which would cost whoever comes next. Big files
// are cut to nothing so that their pages go back to the kernel.
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
	if err := os.Truncate(path, 0); !errors.Is(err, syscall.ETXTBSY) { // a copy of the program that runs just now
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

// resetSysctls writes back what differs, twice: some keys change others when they are written.
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

// eachSysctl visits those of the network namespace that the calling thread is in. A link's mode of
// addresses and its secret are left out: no scenario sets one, and readers of many stop the machine
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
