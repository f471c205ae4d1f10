package e2e

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
	"github.com/netwright/netwright/test/rerun"
)

// The nodes must go on reaching the fabric's server. Its address is beyond their gateway and no
// part of their own subnet, since no document can route a part of that subnet elsewhere. The
// server's machine has an address in that subnet too.
const (
	serverAddress = "10.79.0.20"
	serverPort    = "6443"
	nearAddress   = "10.77.0.20"
)

// cutoff builds the program that makes a change which no document can express.
func cutoff(t *testing.T) string {
	t.Helper()
	return program.Build(t, "test/cutoff")
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// serve puts a server on the fabric and returns the fabric.
func serve(t *testing.T) *node.Fabric {
	t.Helper()
	f := node.NewFabric(t)
	for _, address := range []string{serverAddress + "/32", nearAddress + "/24"} {
		command(t, "ip", "-n", strings.TrimPrefix(f.Netns(), "/run/netns/"), "addr", "add", address, "dev", "br0")
	}
	var l net.Listener
	err := f.Do(func() (err error) {
		l, err = net.Listen("tcp", serverAddress+":"+serverPort)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return f
}

// a cut is a document that cuts its node off, and a condition that says in the node when that
// change is made.
type cut struct {
	name string
	edit [2]string // of the good cluster's document: what is replaced, by what
	node string    // pod CIDRs of the node's document, "" for the good ones
	made string    // a shell condition
	run  string    // a program that runs instead of the agent

	only     []string // only these fates; a document tests nothing new with the others
	networkd bool     // networkd manages the uplink
	window   string   // of the probes, "" for a short one
}

const goodPods = "[10.244.1.0/24, fd00:10:244:1::/64]"

// cuts has the cuts. Documents make all of them except the firewall's rule, since no document makes
// a rule that drops packets.
var cuts = []cut{
	{name: "route", // pkg/tasks/route.go:takesOver
		edit: [2]string{"bridge: {}", "bridge: {nodes: [{name: evil, address: 10.77.0.99, podCIDRs: [" + serverAddress + "/30]}]}"},
		made: "ip route show " + serverAddress + "/30 | grep -q 10.77.0.99"},
	{name: "address", node: "[10.79.0.16/28]", // pkg/tasks/harmless_net.go:addressHarmless
		made: "ip address show cbr0 | grep -q 10.79.0.17/28"},
	{name: "sysctl", edit: [2]string{"  networking:", "  sysctlParameters: [net.ipv6.conf.host0.disable_ipv6=1]\n  networking:"}, // pkg/tasks/sysctl.go:sysctlDisruption
		made: "test $(cat /proc/sys/net/ipv6/conf/host0/disable_ipv6) = 1"},
	{name: "switch of network", only: []string{"alive", "killed"}, // what the old network had comes back too: pkg/host/netstate/links.go:restoreLinks, and its large programs: pkg/checkpoint/undo/capture.go:SaveFiles
		edit: [2]string{"  networking:\n    bridge: {}\n" + atOnce + "  assets:\n  - name: cni-plugins\n",
			"  sysctlParameters: [net.ipv6.conf.host0.disable_ipv6=1]\n  networking:\n    cni: {}\n    switch: {allow: true}\n" + atOnce + "  assets:\n  - name: cni-plugins\n    members: [portmap, loopback]\n"},
		made: "{ test $(cat /proc/sys/net/ipv6/conf/host0/disable_ipv6) = 1 && ! ip link show cbr0; }"},
	{name: "file of networkd", networkd: true, window: "6s", only: []string{"alive", "killed", "rebooted"}, // pkg/model/user_files.go:userFiles, pkg/checkpoint/undo/restore_units.go:Units, pkg/checkpoint/undo.go:restore (late)
		edit: [2]string{"  networking:", networkFile("05-bad.network", "[Match]\nName=host0\n[Network]\nAddress=10.99.0.1/24\n") + "  networking:"},
		made: "{ ! ip -4 address show host0 | grep -q 10.77.0.11; }"},
	{name: "netdev of networkd", networkd: true, window: "6s", only: []string{"alive"}, // the uplink becomes a port of a bridge: pkg/reconcile/guard/undoable_changes.go:Netdevs, pkg/tasks/network_files.go:Netdev (bytes)
		edit: [2]string{"  networking:", networkFile("05-bad.netdev", "[NetDev]\nName=br9\nKind=bridge\n") +
			assetFile("/etc/systemd/network/05-bad.network", "[Match]\nName=host0\n[Network]\nBridge=br9\n") + "  networking:"},
		made: "ip link show host0 | grep -q br9"},
	{name: "firewall rule", run: "/usr/bin/cutoff", // pkg/tasks/nft_table.go:disruption
		made: "nft list table inet netwright-cutoff"},
}

// networkFile returns a cluster's fileAssets with a file of networkd.
func networkFile(name, content string) string {
	return "  fileAssets:\n" + assetFile("/etc/systemd/network/"+name, content)
}

func assetFile(path, content string) string {
	return "  - path: " + path + "\n    mode: \"0644\"\n    content: " + strconv.Quote(content) + "\n"
}

// fate says what happens to the agent after the change: the signal that it gets, and what comes
// then.
type fate struct {
	name, signal string
	after        func(ctx context.Context, n *node.Node)
}

// fates names with each fate the line that keeps it.
var fates = []fate{
	{name: "alive"},                   // pkg/checkpoint/finish.go:Finish
	{name: "killed", signal: "KILL"},  // pkg/checkpoint/arm.go:arm, StartWhenGone
	{name: "stopped", signal: "STOP"}, // pkg/checkpoint/arm.go:arm, StartTimer; undo.go:Undo, EndProcess
	{name: "rebooted", signal: "STOP", // pkg/checkpoint/boot_unit.go:wantBootUnit
		after: func(ctx context.Context, n *node.Node) { n.Kill(); n.Boot(ctx) }},
}

// atOnce has a changed configuration take effect without a splay.
const atOnce = "  update: {splay: 0s}\n"

// goodStore returns a store whose node works, and its cluster's document.
func goodStore(t *testing.T) (store, string) {
	t.Helper()
	s := newStore(t, bridgeSpec, nil)
	good := document("Cluster", cluster, bridgeSpec+atOnce+s.pluginSpec(t))
	s.write(t, "cluster.yaml", good)
	s.write(t, "nodes/node-1.yaml", goodNode(goodPods))
	return s, good
}

func goodNode(podCIDRs string) string {
	_, text := nodeDocument("node-1", "10.77.0.11", podCIDRs)
	return text
}

// A change that cuts the node off is undone without a person, whatever happens to the agent.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it cuts the node off and kills the agent")
	for _, c := range cuts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // most of the test is waiting
			f := serve(t)
			s, good := goodStore(t)
			n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: c.networkd, Copies: map[string]string{"/usr/bin/cutoff": cutoff(t)}}))
			for _, fate := range fates {
				if len(c.only) > 0 && !slices.Contains(c.only, fate.name) {
					continue
				}
				t.Run(fate.name, func(t *testing.T) { comesBack(t, n, good, c, fate) })
			}
		})
	}
}

// agentFile returns the agent's own file with a window for the probes. It is long for a change that
// must pass, and short for a change that must not.
func agentFile(window string) string {
	return fmt.Sprintf("store: /srv/netwright\ncluster: %s\nnode: node-1\nprobeWindow: %s\nprobes: [tcp:%s:%s, ping:%s]\n",
		cluster, window, serverAddress, serverPort, node.Gateway6)
}

func comesBack(t *testing.T, n *node.Node, good string, c cut, f fate) {
	ctx := t.Context()
	dir := "/srv/netwright/" + cluster
	pristine := n.Snapshot() // used in the first fate
	n.Write("/etc/netwright/agent.yaml", agentFile("1m"), 0o644)
	n.Write(dir+"/cluster.yaml", good, 0o644)
	n.Write(dir+"/nodes/node-1.yaml", goodNode(goodPods), 0o644)
	n.Shell(ctx, "netwright --once || netwright --once")
	n.Shell(ctx, "rm -rf /var/lib/netwright/checkpoint /run/acted")
	n.Write("/etc/netwright/agent.yaml", agentFile(cmp.Or(c.window, "3s")), 0o644)
	c.settled(t, n)
	before, claimed := n.Snapshot(), claims(t, n)

	if c.run == "" && !strings.Contains(good, c.edit[0]) && c.node == "" {
		t.Fatalf("the document has no %q", c.edit[0])
	}
	n.Write(dir+"/cluster.yaml", strings.Replace(good, c.edit[0], c.edit[1], 1), 0o644)
	if c.node != "" {
		n.Write(dir+"/nodes/node-1.yaml", goodNode(c.node), 0o644)
	}
	if f.signal != "" { // the node sends the signal: the change lasts no longer than the window
		n.Start(ctx, "acting", "/bin/sh", "-c", "until "+c.made+"; do sleep 0.01; done; systemctl kill --signal="+f.signal+" cutting && touch /run/acted")
	}
	if c.run == "" {
		n.Start(ctx, "cutting", "netwright", "--once")
	} else {
		n.Start(ctx, "cutting", c.run)
	}
	if f.signal != "" {
		until(t, n, "the change is made", "test -e /run/acted")
	}
	if f.after != nil {
		f.after(ctx, n)
	}
	until(t, n, "the checkpoint is over", "test -e /var/lib/netwright/checkpoint/verdict.json && test ! -e /var/lib/netwright/checkpoint/journal.json")
	until(t, n, "nothing of it is left to do", "! systemctl is-active -q cutting netwright-undo-now.timer netwright-undo-now.service")
	idle(t, n) // a service of one shot is not active while it runs
	c.settled(t, n)

	verdict := n.Read("/var/lib/netwright/checkpoint/verdict.json")
	if bad := strings.Contains(verdict, `"bad":true`); bad != (f.name != "rebooted") {
		t.Errorf("verdict: %s", verdict)
	}
	if f.name == "rebooted" { // the boot reset the kernel's state: the files and the reachability count
		n.Shell(ctx, "! "+c.made)
		if left := slices.DeleteFunc(lasting(before, n.Snapshot()), func(line string) bool { return !strings.Contains(line, " file /etc/") }); len(left) > 0 {
			t.Errorf("not as before:\n%s", strings.Join(left, "\n"))
		}
	} else if left := lasting(before, n.Snapshot()); len(left) > 0 {
		t.Errorf("not as before:\n%s", strings.Join(left, "\n"))
	}
	if c.run != "" {
		return
	}
	// pkg/reconcile/revert/revert.go:restore
	if diff := gocmp.Diff(claimed, claims(t, n)); diff != "" {
		t.Errorf("the ledger does not say what it said before (-before +after):\n%s", diff)
	}
	if out := n.Must(ctx, "netwright", "history"); !strings.Contains(out, "undone: ") || strings.Contains(out, "undone: bad: ") != (f.name != "rebooted") {
		t.Errorf("history:\n%s", out)
	}
	if f.name != "rebooted" {
		// pkg/checkpoint/verdict.go:Suppressed: a bad generation is not applied again, and the plan
		// says so.
		res := n.Run(ctx, "netwright", "--once")
		if res.Code != 1 || !strings.Contains(res.Stdout, "is bad: probe ") {
			t.Errorf("a bad generation: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
		}
		left := slices.DeleteFunc(lasting(before, n.Snapshot()), func(line string) bool { // networkd resets it, and the agent repairs the rest
			return c.networkd && strings.Contains(line, "sysctl net.ipv6.conf.host0.accept_ra: 0 → 2")
		})
		if len(left) > 0 {
			t.Errorf("a bad generation was applied again:\n%s", strings.Join(left, "\n"))
		}
	}
	if f.name == "alive" { // a reset neither makes the undone change again nor leaves parts of it
		out := n.Must(ctx, "netwright", "reset")
		left := n.Traces(pristine, n.Snapshot(), func(path string) bool {
			return systemds(path) || strings.HasPrefix(path, "/srv/") || strings.HasPrefix(path, "/etc/netwright") ||
				path == "/etc/systemd/system/sysinit.target.wants" // its time: the boot unit was wanted there
		})
		if len(left) > 0 {
			t.Errorf("a reset after the undo left traces:\n%s\n%s", strings.Join(left, "\n"), out)
		}
	}
}

// settled waits until the uplink no longer changes. The program that manages it acts late, and the
// kernel checks that no other machine has an IPv6 address before it uses the address.
func (c cut) settled(t *testing.T, n *node.Node) {
	t.Helper()
	if c.networkd {
		until(t, n, "networkd is done with the uplink", "! networkctl --no-legend list host0 | grep -qE 'pending|configuring|initialized' && ip -4 route show default | grep -q . && ip -6 route show default | grep -q .")
	}
	until(t, n, "the addresses are in use", "! ip -6 address show tentative | grep -q .")
}

// until waits until a condition of the shell is true.
func until(t *testing.T, n *node.Node, what, condition string) {
	t.Helper()
	if !n.Await(t.Context(), condition) {
		t.Fatalf("it never came that %s (%s)\n%s", what, condition, n.Run(t.Context(), "journalctl", "-b", "--no-pager", "-n", "40", "-u", "cutting", "-u", "netwright-undo-now", "-u", "netwright-undo").Stdout)
	}
}

var (
	times   = regexp.MustCompile(`inode=\S+ ctime=\S+ mtime=\S+ ?`)
	handles = regexp.MustCompile(`"handle":\d+,?`) // nft gives each new table another handle
)

// lasting returns the differences except the times of files and the agent's own files.
func lasting(before, after node.Snapshot) []string {
	without := func(s node.Snapshot) node.Snapshot {
		out := node.Snapshot{}
		for key, value := range s {
			if strings.HasPrefix(key, "file /var/") || strings.HasPrefix(key, "file /run/") || strings.HasPrefix(key, "file /srv/") ||
				strings.HasPrefix(key, "file /tmp") || strings.HasPrefix(key, "file /root") {
				continue
			}
			key = handles.ReplaceAllString(key, "")
			out[key] += times.ReplaceAllString(value, "")
		}
		return out
	}
	return node.Diff(without(before), without(after))
}

func nft(t *testing.T, f *node.Fabric, command string) string {
	t.Helper()
	out, err := exec.Command("nsenter", "--net="+f.Netns(), "--", "nft", command).CombinedOutput()
	if err != nil {
		t.Fatalf("nft: %v\n%s", err, out)
	}
	return string(out)
}

// refused returns how many connections the server of the test below has refused.
func refused(t *testing.T, f *node.Fabric) int {
	t.Helper()
	out := nft(t, f, "list counter inet once refused")
	_, after, _ := strings.Cut(out, "packets ")
	var packets int
	if _, err := fmt.Sscan(after, &packets); err != nil {
		t.Fatalf("reading a counter: %v\n%s", err, out)
	}
	return packets
}

// A path unit of an earlier checkpoint, and the service that it starts, do not prevent a
// checkpoint. An undo by a release that does not know such units leaves them. The service of a
// killed run waits for the lock of the run after it. The lines that keep it:
// pkg/host/systemd/transient_units.go, startTimer (isUnitThere, StopUnit).
func TestTimerReplacesWhatIsLeft(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, good := goodStore(t)
	n := serve(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("15s")}}))
	n.Must(ctx, "netwright", "--once")
	n.Shell(ctx, "systemd-run --unit netwright-undo-now --property CollectMode=inactive-or-failed --path-property PathChanged=/run/lab --path-property CollectMode=inactive-or-failed /bin/sleep infinity; "+
		"systemctl is-active netwright-undo-now.path; echo >/run/lab")
	until(t, n, "the service runs", "systemctl is-active -q netwright-undo-now.service")
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "  networking:", "  sysctlParameters: [net.ipv4.conf.host0.arp_announce=1]\n  networking:", 1), 0o644)
	n.Must(ctx, "netwright", "--once")
	if got := n.Shell(ctx, "cat /proc/sys/net/ipv4/conf/host0/arp_announce; systemctl list-units --all --plain --no-legend 'netwright-undo-now*'"); got != "1\n" {
		t.Errorf("the node has\n%s", got)
	}
}

// A store that does not answer after the change is no sign that the change is bad. The daemon
// undoes the change, says so once, and makes it again when the store answers. The lines that keep
// it: pkg/checkpoint/verdict.go, judge (only the store) and Error (no time that runs);
// pkg/daemon/log_troubles.go, pass and plan (said once).
func TestStoreOutageBansNothing(t *testing.T) {
	t.Parallel() // the test waits for probes
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml": agentFile("15s") + "interval: 5s\n",
	}}))
	n.Must(ctx, "netwright", "--once")
	before := n.Snapshot()
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "  networking:", "  sysctlParameters: [net.ipv4.conf.host0.arp_announce=1]\n  networking:", 1), 0o644)
	// The outage begins after the agent has taken the probes. The server refuses all connections
	// after the first one, so the checkpoint stays open until the store is gone.
	nft(t, f, "add table inet once; add counter inet once refused; add chain inet once in { type filter hook input priority 0; }; "+
		"add rule inet once in tcp dport "+serverPort+" tcp flags & (syn|ack) == syn limit rate 1/day burst 1 packets accept; "+
		"add rule inet once in tcp dport "+serverPort+" tcp flags & (syn|ack) == syn counter name refused reject with tcp reset")
	n.Must(ctx, "systemctl", "start", "--no-block", "netwright-agent")
	until(t, n, "the change is under a checkpoint", "test -e /var/lib/netwright/checkpoint/journal.json")
	n.Shell(ctx, "mv /srv/netwright /srv/gone")
	// The next attempt may have asked the store before the outage began. The attempt after it has
	// not.
	for gone, end := refused(t, f), time.Now().Add(5*time.Minute); refused(t, f) < gone+2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the agent does not try its probes any more")
		}
	}
	nft(t, f, "delete table inet once")
	until(t, n, "the checkpoint is over", "test -e /var/lib/netwright/checkpoint/verdict.json && test ! -e /var/lib/netwright/checkpoint/journal.json")
	verdict := n.Read("/var/lib/netwright/checkpoint/verdict.json")
	if !strings.Contains(verdict, `"bad":false`) || !strings.Contains(verdict, "store:") {
		t.Errorf("verdict: %s", verdict)
	}
	until(t, n, "the daemon says what became of it", "systemctl show -p StatusText netwright-agent | grep -q 'was undone: store:'")
	left := slices.DeleteFunc(lasting(before, n.Snapshot()), func(line string) bool { return strings.Contains(line, "netwright-agent.service") })
	if len(left) > 0 {
		t.Errorf("not as before:\n%s", strings.Join(left, "\n"))
	}
	// Each turn is a pass of the daemon. The daemon has the documents, but the store does not
	// answer.
	for range 3 {
		if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 {
			t.Errorf("a pass while the store is gone: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
		}
	}
	log := n.Shell(ctx, "journalctl --sync; journalctl -b --no-pager -o cat -u netwright-agent | grep -v '^netwright: '") // without the line for the console
	for _, text := range []string{"the change was undone", "it is not known whether the change was the cause", "the configuration could not be loaded"} {
		if got := strings.Count(log, text); got != 1 {
			t.Errorf("%q is logged %d times:\n%s", text, got, log)
		}
	}
	// The store answers again and the pause is over: the daemon makes the change without a command,
	// and the change stays.
	n.Shell(ctx, `sed -i 's/"at":"[^"]*"/"at":"2001-01-01T00:00:00Z"/' /var/lib/netwright/checkpoint/verdict.json; mv /srv/gone /srv/netwright`)
	until(t, n, "the generation is applied", "test $(cat /proc/sys/net/ipv4/conf/host0/arp_announce) = 1 && test ! -e /var/lib/netwright/checkpoint/journal.json")
	until(t, n, "the daemon is content", "systemctl show -p StatusText netwright-agent | grep -q 'StatusText=bridge: '")
	n.Shell(ctx, "! ls /etc/systemd/system/netwright-undo.service")
	if out, _ := os.ReadFile("../../systemd/netwright-undo.service"); len(out) == 0 {
		t.Error("no unit is shipped")
	}
}
