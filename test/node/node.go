package node

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/netns"
)

// Options are the properties of a node. A field that is not set is as in a new Debian or Ubuntu
// with containerd.
type Options struct {
	Name    string            // host name: letters, digits and dashes, of its own within the fabric
	Address string            // host0's IPv4 address within 10.77.0.0/24; its IPv6 address is fd00:77::<last byte>
	Files   map[string]string // path → content, in place before the first boot; what starts with "#!" is executable
	Copies  map[string]string // path → file or directory of this machine, copied there with its modes before the first boot
	Enable  []string          // units that the first boot shall start: wanted by multi-user.target
	Mask    []string          // units that must not start
	Binds   map[string]string // path → file or directory of this machine, bound read-only
	// Networkd lets systemd-networkd manage host0 (a .network file with the addresses) as most
	// clouds' images do. Else a unit runs ip once.
	Networkd bool
	Layers   []string // directories that lie over the base, the first on top: see Layer
	// OwnDisk gives the node a copy of the base (a second, 300 MB) instead of an overlay over it:
	// for measuring, as an overlay costs time that real nodes do not pay. It has no Upper.
	OwnDisk bool
	// Degraded accepts a node with failed units. Else a boot that ends in anything but "running"
	// ends the test.
	Degraded bool
}

// Node is a booted machine.
type Node struct {
	t       testing.TB
	fabric  *Fabric
	name    string
	index   int    // within the fabric, from 1
	dir     string // upper, work, root, containerd, console.log
	options Options
	process *process     // nil while off
	scripts atomic.Int64 // that literal has written
}

// Node makes a node and boots it. When Node returns, systemd is up and says "running" (or
// "degraded", if the test accepts that).
func (f *Fabric) Node(t testing.TB, o Options) *Node {
	t.Helper()
	n := f.Prepare(t, o)
	n.Boot(t.Context())
	return n
}

// Prepare makes a node that is off. Tests may still write to its Upper. Boot starts the node.
func (f *Fabric) Prepare(t testing.TB, o Options) *Node {
	t.Helper()
	n := &Node{t: t, fabric: f, name: o.Name, index: len(f.nodes) + 1, dir: filepath.Join(f.lab.dir, o.Name), options: o}
	if err := n.prepare(); err != nil {
		t.Fatalf("preparing node %s: %v", o.Name, err)
	}
	f.nodes = append(f.nodes, n)
	return n
}

func (n *Node) prepare() error {
	for _, dir := range []string{"upper", "work", "root", "containerd"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o755); err != nil {
			return fmt.Errorf("making a directory: %w", err)
		}
	}
	if err := n.disk(); err != nil {
		return err
	}
	files := map[string]string{
		"/etc/hostname":   n.name + "\n",
		"/etc/machine-id": cache.Key(n.name) + cache.Key(n.name) + "\n", // fixed: systemd writes none of its own, and finds no first boot
		"/etc/hosts":      "127.0.0.1 localhost\n::1 localhost\n" + n.options.Address + " " + n.name + "\n",
	}
	if n.options.Address != "" {
		address, err := netip.ParseAddr(n.options.Address)
		if err != nil || !address.Is4() {
			return fmt.Errorf("reading the address: want IPv4, have %q", n.options.Address)
		}
		maps.Copy(files, n.network())
	}
	maps.Copy(files, n.options.Files)
	for path, content := range files {
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(content, "#!") {
			mode = 0o755
		}
		if err := n.write(path, strings.NewReader(content), mode); err != nil {
			return err
		}
	}
	for to, from := range n.options.Copies {
		if err := n.copy(from, to); err != nil {
			return err
		}
	}
	return n.links()
}

// disk puts the base where the node's root is.
func (n *Node) disk() error {
	if n.options.OwnDisk {
		if out, err := exec.Command("cp", "--archive", "--no-target-directory", n.fabric.base, n.Root()).CombinedOutput(); err != nil {
			return fmt.Errorf("copying the base: %w\n%s", err, out)
		}
		return nil
	}
	below := strings.Join(append(slices.Clone(n.options.Layers), n.fabric.base), ":")
	overlay := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", below, n.Upper(), filepath.Join(n.dir, "work"))
	if err := unix.Mount("overlay", n.Root(), "overlay", 0, overlay); err != nil {
		return fmt.Errorf("mounting an overlay (%s must not lie on an overlay itself, set NETWRIGHT_CACHE): %w", n.dir, err)
	}
	return nil
}

// links enables and masks units as systemctl would.
func (n *Node) links() error {
	links := map[string]string{}
	for _, unit := range n.options.Enable {
		links["/etc/systemd/system/multi-user.target.wants/"+unit] = "/etc/systemd/system/" + unit
	}
	for _, unit := range n.options.Mask {
		links["/etc/systemd/system/"+unit] = "/dev/null"
	}
	if n.options.Networkd {
		links["/etc/systemd/system/multi-user.target.wants/systemd-networkd.service"] = "/lib/systemd/system/systemd-networkd.service"
	}
	for _, link := range slices.Sorted(maps.Keys(links)) {
		path := n.Path(link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making a directory: %w", err)
		}
		if err := os.Symlink(links[link], path); err != nil {
			return fmt.Errorf("enabling or masking a unit: %w", err)
		}
	}
	return nil
}

// Address6 is the IPv6 address that goes with an IPv4 address in a fabric: fd00:77:: and its last
// byte, as one reads it.
func Address6(address string) string {
	return "fd00:77::" + address[strings.LastIndexByte(address, '.')+1:]
}

// Address6 is the node's IPv6 address.
func (n *Node) Address6() string { return Address6(n.options.Address) }

func (n *Node) network() map[string]string {
	r := strings.NewReplacer("A4", n.options.Address, "A6", n.Address6(), "GW4", Gateway4, "GW6", Gateway6)
	if n.options.Networkd {
		return map[string]string{"/etc/systemd/network/10-host0.network": r.Replace(`[Match]
Name=host0
[Network]
LinkLocalAddressing=ipv6
IPv6AcceptRA=no
Gateway=GW4
Gateway=GW6
[Address]
Address=A4/24
[Address]
Address=A6/64
DuplicateAddressDetection=none
`)}
	}
	return map[string]string{"/etc/lab-network": r.Replace(`link set host0 up
addr add A4/24 dev host0
addr add A6/64 dev host0 nodad
route add default via GW4
route add default via GW6 dev host0
`)}
}

// Name is the node's host name.
func (n *Node) Name() string { return n.name }

// Address is the node's IPv4 address.
func (n *Node) Address() string { return n.options.Address }

// Upper is the directory of this machine with the node's changes to its base: the upper layer of
// the node's overlay.
func (n *Node) Upper() string { return filepath.Join(n.dir, "upper") }

// Root is the node's root file system as this machine sees it, without the file systems that the
// node mounted over it (/run, /tmp, /proc).
func (n *Node) Root() string { return filepath.Join(n.dir, "root") }

// Path is the path on this machine of a file, a directory or a socket of the node. If the node is
// on, the path leads to what the node's processes see, also below /run and /proc. An absolute
// symbolic link in the path leads to a wrong file.
func (n *Node) Path(path string) string {
	if n.process != nil {
		return filepath.Join(fmt.Sprintf("/proc/%d/root", n.process.leader), path)
	}
	return filepath.Join(n.Root(), path)
}

// Netns is the path of the node's network namespace. It changes with a reboot.
func (n *Node) Netns() string { return fmt.Sprintf("/proc/%d/ns/net", n.process.leader) }

// Init is the process id on this machine of the node's first process. It changes with a reboot.
func (n *Node) Init() int { return n.process.leader }

// Do calls do in the node's network namespace. Sockets that do opens stay in the namespace.
// Goroutines that do starts run outside it.
func (n *Node) Do(do func() error) error { return netns.In(n.Netns(), do) }

// Boot starts a node that is off, and waits until systemd has started all units.
func (n *Node) Boot(ctx context.Context) {
	n.t.Helper()
	start := time.Now()
	state, err := n.boot(ctx)
	if err == nil && state != "running" && !n.options.Degraded {
		failed, _ := n.run(ctx, "systemctl", "list-units", "--state=failed", "--no-legend", "--plain")
		err = fmt.Errorf("the node is %s, want running; failed units:\n%s", state, failed.Stdout)
	}
	if err != nil {
		n.t.Fatalf("booting node %s: %v", n.name, err)
	}
	n.t.Logf("node %s: %s after %s", n.name, state, time.Since(start).Round(time.Millisecond))
}

// write puts a file into the node's root, over a symlink if need be.
func (n *Node) write(path string, content io.Reader, mode fs.FileMode) error {
	full := n.Path(path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return fmt.Errorf("making the parent of a file: %w", err)
	}
	os.Remove(full)
	file, err := os.OpenFile(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("making a file: %w", err)
	}
	_, err = io.Copy(file, content)
	if e := file.Chmod(mode); err == nil { // the umask does not count
		err = e
	}
	if e := file.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}
	return nil
}

// copy copies a file, or a directory's files, with their modes.
func (n *Node) copy(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("reading what to copy: %w", err)
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("reading what to copy: %w", err)
		}
		if info.IsDir() {
			return os.MkdirAll(n.Path(target), info.Mode().Perm())
		}
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("reading what to copy: %w", err)
		}
		defer file.Close()
		return n.write(target, file, info.Mode().Perm())
	})
}
