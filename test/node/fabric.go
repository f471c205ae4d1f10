// Package node boots real systemd nodes for tests: systemd-nspawn over one cached base. Each node
// has its own overlay, cgroups and network namespace. A bridge connects the nodes. A boot takes
// less than a second, so every test may have new nodes.
//
// A node has the kernel of this machine. So it loads no modules, and its sysctls kernel.*, vm.* and
// fs.* are the machine's and read-only; only net.* is its own. Tests of these use package vm.
package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/netns"
)

// What a fabric has. The outside addresses are for what lies beyond the nodes' default route:
// masquerading, blocked egress.
const (
	Gateway4 = "10.77.0.1"
	Gateway6 = "fd00:77::1"
	Outside4 = "192.0.2.1"
	Outside6 = "2001:db8::1"
)

// Fabric is a network namespace with a bridge, to which its nodes are connected, and with the
// gateway that is their default route. Fabrics do not reach each other, so tests that have their
// own fabrics may run in parallel.
type Fabric struct {
	t     testing.TB
	base  string
	lab   *lab
	netns string // name
	nodes []*Node
	taps  int
}

// NewFabric makes a fabric. When the test ends, it shows the nodes' journals if the test failed,
// and removes everything, also what a killed test left.
func NewFabric(t testing.TB) *Fabric {
	t.Helper()
	base := Base(t)
	lab, err := openLab()
	if err != nil {
		t.Fatalf("preparing to boot nodes: %v", err)
	}
	f := &Fabric{t: t, base: base, lab: lab, netns: prefix + lab.id + "-fabric"}
	t.Cleanup(f.close)
	if err := command("ip", "netns", "add", f.netns); err != nil {
		t.Fatalf("making the fabric's namespace: %v", err)
	}
	// The bridge is a switch, not a router: its own bridge-nf hooks would send frames through
	// iptables a second time.
	err = f.Do(func() error {
		return errors.Join(os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-iptables", []byte("0"), 0),
			os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-ip6tables", []byte("0"), 0))
	})
	if err != nil {
		t.Fatalf("taking iptables out of the fabric's bridge: %v", err)
	}
	// The bridge's own MAC address: without one it takes the least of its ports', and what it knows
	// of neighbours goes when that changes.
	batch := strings.NewReplacer("GW4", Gateway4, "GW6", Gateway6, "OUT4", Outside4, "OUT6", Outside6).Replace(`link set lo up
link add br0 address 02:00:00:00:00:01 type bridge forward_delay 0
addr add GW4/24 dev br0
addr add GW6/64 dev br0 nodad
addr add OUT4/32 dev lo
addr add OUT6/128 dev lo nodad
link set br0 up
`)
	cmd := exec.Command("ip", "-n", f.netns, "-batch", "-")
	cmd.Stdin = strings.NewReader(batch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("setting up the fabric: %v\n%s", err, out)
	}
	return f
}

// Tap makes another port of the bridge, for a virtual machine, and returns the name of its tap
// device.
func (f *Fabric) Tap() (string, error) {
	f.taps++
	name := fmt.Sprintf("tap%d", f.taps)
	for _, args := range [][]string{{"tuntap", "add", name, "mode", "tap"}, {"link", "set", name, "master", "br0", "up"}} {
		if err := command("ip", append([]string{"-n", f.netns}, args...)...); err != nil {
			return "", fmt.Errorf("making a tap device: %w", err)
		}
	}
	return name, nil
}

// Plug adds one link to a running node, as a person plugs in a card. The other end of the link is a
// port of the bridge. Plug may be called where a test must not end, but not by two goroutines at
// once.
func (n *Node) Plug(name, mac string) error {
	f := n.fabric
	f.taps++
	port := fmt.Sprintf("plug%d", f.taps)
	for _, words := range []string{
		"ip link add " + port + " type veth peer name " + name + " address " + mac + " netns " + strconv.Itoa(n.Init()),
		"ip link set " + port + " master br0 up",
		"bridge fdb replace " + mac + " dev " + port + " master static", // nothing of it need have been seen
	} {
		program, args, _ := strings.Cut(words, " ")
		if err := command(program, append([]string{"-n", f.netns}, strings.Fields(args)...)...); err != nil {
			return fmt.Errorf("plugging %s into node %s: %w", name, n.name, err)
		}
	}
	return nil
}

// Answer makes the bridge answer ARP requests for an IPv4 address with a MAC address, at each of
// its ports, as the network of a cloud does. The link itself does not answer for the address.
func (f *Fabric) Answer(address, mac string) error {
	out, err := exec.Command("ip", "-n", f.netns, "-o", "link", "show", "master", "br0").Output()
	if err != nil {
		return fmt.Errorf("listing the bridge's ports: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		port, _, _ := strings.Cut(strings.Fields(line)[1], "@")
		if err := command("ip", "-n", f.netns, "link", "set", port, "type", "bridge_slave", "proxy_arp_wifi", "on"); err != nil {
			return err
		}
	}
	return command("ip", "-n", f.netns, "neigh", "replace", address, "lladdr", mac, "dev", "br0", "nud", "permanent")
}

// Netns is the path of the fabric's network namespace. Servers that nodes reach at Gateway4 or
// Outside4 run in it.
func (f *Fabric) Netns() string { return "/run/netns/" + f.netns }

// Do calls do in the fabric's network namespace. Sockets that do opens stay in the namespace.
// Goroutines that do starts run outside it.
func (f *Fabric) Do(do func() error) error { return netns.In(f.Netns(), do) }

func (f *Fabric) close() {
	if f.t.Failed() {
		for _, n := range f.nodes {
			f.t.Logf("node %s:\n%s", n.name, n.journal())
		}
	}
	for _, n := range f.nodes {
		n.kill()
	}
	if err := f.lab.close(); err != nil {
		f.t.Errorf("tearing down the fabric: %v", err)
	}
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
