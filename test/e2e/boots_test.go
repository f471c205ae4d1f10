package e2e

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/verify/probe"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// reached says whether the fabric reaches this address of a node.
func reached(ctx context.Context, f *node.Fabric, address string) bool {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Second, errors.New("no answer"))
	defer cancel()
	_, err := probe.Ping(ctx, f.Netns(), netip.MustParseAddr(address), 0)
	return err == nil
}

// witnessed waits until the fabric reaches a node, or no longer reaches it.
func witnessed(t *testing.T, f *node.Fabric, address string, want bool) {
	t.Helper()
	end := time.Now().Add(time.Minute) // only so that a test that hangs ends
	for reached(t.Context(), f, address) != want {
		if time.Now().After(end) {
			t.Fatalf("reached from outside: %v", !want)
		}
	}
}

// bootFile returns the good cluster's document with one more file, and with more in spec.update.
func bootFile(good, update, path, content string) string {
	files := "  fileAssets:\n" + assetFile(path, content)
	return strings.Replace(strings.Replace(good, "splay: 0s", "splay: 0s"+update, 1), "  networking:", files+"  networking:", 1)
}

// confirmed makes a pass with another document, and the change is confirmed: nothing reads the file
// before the next boot. Status and history say so.
func confirmed(t *testing.T, n *node.Node, document, awaits string) {
	t.Helper()
	ctx := t.Context()
	n.Write("/etc/netwright/agent.yaml", agentFile("3s"), 0o644)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document, 0o644)
	out := n.Must(ctx, "netwright", "--once")
	for _, said := range []string{out, n.Must(ctx, "netwright", "history")} {
		_, names, _ := strings.Cut(said, "awaiting boot: ") // with the files of the first configuration
		if names, _, _ = strings.Cut(names, "\n"); !strings.HasSuffix(names, awaits) {
			t.Errorf("the pass does not name the file that awaits the boot:\n%s", said)
		}
	}
}

// A file that only a boot reads takes the node's address away. The change was confirmed, since
// nothing had read the file yet. At the boot the agent undoes the file, and keeps everything else
// of the generation. The fabric judges whether the node is reached. The lines that keep it:
// pkg/checkpoint/firstboot/awaiting.go, Save; pkg/checkpoint/firstboot/firstboot.go, FirstBoot;
// pkg/daemon/loop.go, Run (FirstBoot); pkg/reconcile/failed_boots.go, failedBoots.
func TestAFileThatFailsABootIsBroughtBack(t *testing.T) {
	t.Parallel() // the test waits for windows of probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Files: map[string]string{
		"/etc/netwright/agent.yaml": agentFile("1m"),
	}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	const path = "/usr/local/lib/systemd/network/05-bad.network"
	confirmed(t, n, bootFile(good, "", path, "[Match]\nName=host0\n[Network]\nAddress=192.0.2.7/24\n"), path)
	witnessed(t, f, n.Address(), true)
	n.Must(ctx, "systemctl", "enable", "netwright-agent")
	n.Reboot(ctx) // returns when the agent is prepared
	witnessed(t, f, n.Address(), true)

	if res := n.Run(ctx, "test", "-e", path); res.Code == 0 {
		t.Error("the file is still there")
	}
	if now := n.Must(ctx, "ip", "-o", "addr", "show", "dev", "host0"); strings.Contains(now, "192.0.2.7") {
		t.Errorf("what the boot set is still there:\n%s", now)
	}
	n.Must(ctx, "ip", "link", "show", "cbr0") // the same generation brought the pods' network
	out := n.Must(ctx, "netwright", "history")
	if !strings.Contains(out, "bad ") || !strings.Contains(out, path+": address:host0/10.77.0.11/24 (no link that is up has this address)") || strings.Contains(out, "awaiting") {
		t.Errorf("history:\n%s", out)
	}
	until(t, n, "the daemon says what it does not make", "systemctl show -p StatusText netwright-agent | grep -q 'the first boot with it failed'")
	if log := n.Shell(ctx, "journalctl --sync; journalctl -b --no-pager -o cat -u netwright-agent"); strings.Count(log, "the agent restores the files") != 1 {
		t.Errorf("the boot was not judged exactly once:\n%s", log)
	}

	// Without the file the agent makes the other changes of that generation again, and another boot
	// confirms them.
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", good, 0o644)
	n.Must(ctx, "netwright", "--once")
	n.Reboot(ctx)
	witnessed(t, f, n.Address(), true)
	until(t, n, "the daemon is content", "systemctl show -p StatusText netwright-agent | grep -q 'StatusText=bridge: '")
	if out := n.Must(ctx, "netwright", "history"); !strings.Contains(out, "confirmed ") || strings.Contains(out, "awaiting") {
		t.Errorf("history:\n%s", out)
	}
}

// A boot confirms a file with which the node is still reached, also where the store is gone. The
// line that keeps it: pkg/checkpoint/probe/reach.go, amiss.
func TestAnAbsentStoreIsNoEvidenceAtABoot(t *testing.T) {
	t.Parallel() // the test waits for windows of probes
	rerun.Never(t, "it takes the store away")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Files: map[string]string{
		"/etc/netwright/agent.yaml": agentFile("1m"),
	}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	const path = "/etc/sysctl.d/zz-boot.conf"
	confirmed(t, n, bootFile(good, "", path, "net.ipv4.conf.all.arp_announce = 1\n"), path)
	n.Must(ctx, "systemctl", "enable", "netwright-agent")
	n.Must(ctx, "mv", "/srv/netwright", "/srv/gone")
	n.Reboot(ctx)
	witnessed(t, f, n.Address(), true)
	out := n.Must(ctx, "netwright", "history")
	if !strings.Contains(out, "confirmed ") || !strings.Contains(out, path) || strings.Contains(out, "awaiting") {
		t.Errorf("history:\n%s", out)
	}
	if got := n.Must(ctx, "sysctl", "-n", "net.ipv4.conf.all.arp_announce"); got != "1\n" {
		t.Errorf("the boot did not read the file: %s", got)
	}
	n.Must(ctx, "test", "!", "-e", "/var/lib/netwright/awaiting")
}

// Where no program reads a restored file before the next boot, the node boots once more, since the
// documents ask for that, and only once. The lines that keep it:
// pkg/checkpoint/firstboot/firstboot.go, FirstBoot (Reboot, Restored); pkg/host/systemd/reboot.go.
func TestABootIsFollowedByOneMore(t *testing.T) {
	t.Parallel() // the test waits for windows of probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml": agentFile("1m"),
	}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	const path = "/etc/lab-network" // a unit of the node reads it once in a boot
	before := n.Read(path)
	confirmed(t, n, bootFile(good, ", bootUndo: reboot", path, "link set host0 up\naddr add 192.0.2.7/24 dev host0\n"), path)
	n.Reboot(ctx)
	witnessed(t, f, n.Address(), false)

	leader := n.Path("/")
	n.Start(ctx, "judging", "netwright", "--once")
	end := time.Now().Add(2 * time.Minute) // only so that a test that hangs ends
	for {
		if _, err := os.Stat(leader); err != nil {
			break // the node has shut down: the test's node boots it again
		}
		if time.Now().After(end) {
			t.Fatalf("no reboot:\n%s", n.Run(ctx, "journalctl", "-b", "--no-pager", "-u", "judging").Stdout)
		}
		time.Sleep(50 * time.Millisecond)
	}
	n.Kill()
	n.Boot(ctx)
	witnessed(t, f, n.Address(), true)
	if now := n.Read(path); now != before {
		t.Errorf("the file is %q, want %q", now, before)
	}
	res := n.Run(ctx, "netwright", "--once")
	if res.Code != 1 || !strings.Contains(res.Stdout, "the first boot with it failed") {
		t.Errorf("exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	out := n.Must(ctx, "netwright", "history")
	if !strings.Contains(out, "bad ") || strings.Contains(out, "awaiting") {
		t.Errorf("history:\n%s", out)
	}
	witnessed(t, f, n.Address(), true)
}

// These are the files of netplan and of ifupdown, and their contents.
const (
	netplan   = "/etc/netplan/50-host0.yaml"
	byNetplan = `network: {version: 2, ethernets: {host0: {accept-ra: false, addresses: [10.77.0.11/24, "fd00:77::11/64"],
  routes: [{to: default, via: 10.77.0.1}, {to: "::/0", via: "fd00:77::1"}]}}}
`
	interfaces   = "/etc/network/interfaces"
	byInterfaces = `auto lo host0
iface lo inet loopback
iface host0 inet static
  address 10.77.0.11/24
  gateway 10.77.0.1
iface host0 inet6 static
  address fd00:77::11/64
  gateway fd00:77::1
  dad-attempts 0
`
)

// setUpBy returns options of a node whose link a package sets up by a file.
func setUpBy(name, file, content string) func(*testing.T) (node.Options, string) {
	return func(t *testing.T) (node.Options, string) {
		s, good := goodStore(t)
		return options(t, s, "node-1", "10.77.0.11", node.Options{Degraded: true, Layers: []string{node.Layer(t, name)}, Files: map[string]string{
			"/etc/netwright/agent.yaml": agentFile("1m"), file: content,
			"/etc/systemd/system/lab-network.service.d/off.conf": "[Unit]\nConditionPathExists=!/etc/lab-network\n",
		}}), good
	}
}

// The program that manages a link mends what a boot made of that link. It starts a link that the
// boot could not start, and it sets a link up again that the boot set up wrongly. The agent
// restores first what files set in the kernel. The lines that keep it:
// pkg/checkpoint/firstboot/firstboot.go, act (DaemonReload: of netplan; ifupdown);
// pkg/checkpoint/firstboot/awaiting.go, Prove (Around).
func TestABootIsMendedByTheLinksManager(t *testing.T) {
	byNetworkd := func(t *testing.T) (node.Options, string) {
		s, good := goodStore(t)
		return options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Degraded: true, Files: map[string]string{
			"/etc/netwright/agent.yaml": agentFile("1m"),
		}}), good
	}
	byNetworkManager := func(t *testing.T) (node.Options, string) {
		s := calicoStore(t)
		return manager(t, s), document("Cluster", cluster, calicoSpec)
	}
	for _, c := range []struct {
		name, path, content, why string
		node                     func(*testing.T) (node.Options, string)
	}{
		{"netplan", netplan, strings.Replace(byNetplan, "10.77.0.11", "192.0.2.7", 1), "address:host0/10.77.0.11/24", setUpBy("netplan.io", netplan, byNetplan)},
		{"ifupdown", interfaces, strings.Replace(byInterfaces, "10.77.0.11", "192.0.2.7", 1), "address:host0/10.77.0.11/24", setUpBy("ifupdown", interfaces, byInterfaces)},
		{"ifupdown fails", interfaces, "auto host0\niface host0 inet static\n", "address:host0/10.77.0.11/24", setUpBy("ifupdown", interfaces, byInterfaces)},
		{"it could not start", "/etc/systemd/system/systemd-networkd.service.d/x.conf", "[Service]\nExecStart=\nExecStart=/bin/false\n",
			"no link that is up has this address", byNetworkd},
		{"a sysctl", "/etc/sysctl.d/zz-boot.conf", "net.ipv4.neigh.host0.mcast_solicit = 0\n",
			"neighbour:host0/10.77.0.1", byNetworkd},
		{"a keyfile", "/etc/NetworkManager/system-connections/host0.nmconnection",
			"[connection]\nid=host0\ntype=ethernet\ninterface-name=host0\n[ipv4]\nmethod=manual\naddress1=192.0.2.7/24\n[ipv6]\nmethod=disabled\n",
			"address:host0/10.77.0.11/24", byNetworkManager},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // the test waits for windows of probes
			rerun.Never(t, "it cuts the node off")
			ctx := t.Context()
			f := serve(t)
			o, good := c.node(t)
			n := f.Node(t, o)
			n.Shell(ctx, "netwright --once || netwright --once")
			was := n.Shell(ctx, "cat "+c.path+" 2>/dev/null || true")
			files := strings.Replace("  fileAssets:\n"+assetFile(c.path, c.content), `"0644"`, `"0600"`, 1)
			confirmed(t, n, strings.Replace(good, "  networking:", files+"  networking:", 1), c.path)
			n.Must(ctx, "systemctl", "enable", "netwright-agent")
			n.Reboot(ctx)
			for _, address := range []string{n.Address(), n.Address6()} {
				witnessed(t, f, address, true)
			}
			until(t, n, "it is judged", "test ! -e /var/lib/netwright/awaiting")
			if now := n.Shell(ctx, "cat "+c.path+" 2>/dev/null || true"); now != was {
				t.Errorf("the file is %q, and was %q", now, was)
			}
			if now := n.Must(ctx, "ip", "-o", "addr", "show", "dev", "host0"); strings.Contains(now, "192.0.2.7") {
				t.Errorf("what the boot set is still there:\n%s", now)
			}
			if out := n.Must(ctx, "netwright", "history"); !strings.Contains(out, "bad ") || !strings.Contains(out, c.why) {
				t.Errorf("history:\n%s", out)
			}
		})
	}
}
