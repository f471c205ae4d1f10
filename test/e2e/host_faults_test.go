package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// The disk of the agent's state is full, a file of ours is a link to itself, the directory of
// another file is such a link, a third file is immutable, and the network is gone. The agent
// restores all that the node needs, says READY, and reports each fault. It does the same with a
// newer configuration that it cannot record, and beside a hook whose checkpoint has no room. When
// there is room again, all is right and the newer configuration is applied.
func TestFaultsOfTheHostHoldNothingUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	asset := func(path string) string { return "  - {path: " + path + ", content: ours, mode: \"0644\"}\n" }
	doc := document("Cluster", cluster, bridgeSpec+s.pluginSpec(t)+atOnce+"  hooks: [{name: sleeper.service, manifest: \"ExecStart=/bin/sleep 1000000\"}]\n  fileAssets:\n"+
		asset("/etc/looped")+asset("/etc/deep/below")+asset("/etc/fixed"))
	s.write(t, "cluster.yaml", doc)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\n"},
	}))
	n.Must(ctx, "netwright", "--once")
	const (
		file   = "/etc/looped"
		fill   = "/var/lib/netwright/fill"
		broke  = "sysctl -qw net.ipv4.ip_forward=0; ip link del cbr0; ln -sfn looped " + file // at once, or a repair comes between
		right  = "[ $(sysctl -n net.ipv4.ip_forward) = 1 ] && ip addr show cbr0 | grep -q 10.244.1.1/24 && grep -q ours " + file
		status = "/run/netwright/status.json"
	)
	tells := func(what, text string) {
		t.Helper()
		until(t, n, what+" is told", "grep -q '"+text+"' "+status)
	}
	ready := func() {
		t.Helper()
		since := strings.TrimSpace(n.Must(ctx, "date", "+@%s.%N"))
		n.Must(ctx, "systemctl", "restart", "netwright-agent") // returns when the agent is READY
		if log := n.Shell(ctx, "journalctl --sync; journalctl -b -o cat -u netwright-agent --since "+since); !strings.Contains(log, "prepared: kubelet may start") {
			t.Errorf("kubelet was held back:\n%s", log)
		}
	}
	n.Shell(ctx, "cp -a /var/lib/netwright /root/state; mount -t tmpfs -o mode=0700,size=256m state /var/lib/netwright; cp -a /root/state/. /var/lib/netwright; head -c 400m /dev/zero >"+fill+" || true")
	n.Shell(ctx, broke+"; rm -r /etc/deep; ln -s deep /etc/deep; echo theirs >/etc/fixed; chattr +i /etc/fixed")
	ready()
	until(t, n, "all is right on a full disk", right)
	tells("that it fails", `"state": *"failing"`)
	for what, text := range map[string]string{"the full disk": "no space left", "the immutable file": "chattr -i", "the directory": "/etc/deep"} {
		tells(what, text)
	}

	n.Shell(ctx, broke+"; systemctl stop sleeper.service")
	until(t, n, "all is right again on a full disk", right)
	tells("the hook that is not begun", "the change is not begun")

	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", doc+asset("/etc/newer"), 0o644)
	tells("the newer configuration", "this node cannot record when the wait began")
	n.Shell(ctx, broke)
	until(t, n, "all is right beside a newer configuration", right)
	n.Shell(ctx, broke)
	ready()
	until(t, n, "all is right beside a newer configuration after a start", right)
	if n.Is(ctx, "test -e /etc/newer") {
		t.Error("a configuration that cannot be recorded was applied")
	}

	n.Shell(ctx, "rm "+fill+" /etc/deep; chattr -i /etc/fixed")
	until(t, n, "nothing is told when there is room", `grep -q '"state": *"converged"' `+status)
	n.Must(ctx, "netwright", "--dry-run")
	until(t, n, "all is made when there is room", right+" && systemctl is-active -q sleeper && grep -q ours /etc/newer /etc/deep/below && ! grep -q theirs /etc/fixed")
}

// No checkpoint can be taken on a node that never was right. The agent does not make a change that
// needs one, and does not say READY for changes that it only planned. It says READY when all are
// made. The lines that keep it: pkg/reconcile/carry_out.go, carryOut;
// pkg/reconcile/ledger_unwritable.go, restoreOnly; pkg/reconcile/changes/prepared.go, Prepared.
func TestWithoutACheckpointNothingIsPrepared(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{}))
	const place = "/var/lib/netwright/checkpoint"
	n.Shell(ctx, "mkdir -p -m 0700 /var/lib/netwright; echo >"+place+"; systemctl start --no-block netwright-agent")
	until(t, n, "it fails", `grep -q '"state": *"failing"' /run/netwright/status.json`)
	if state := n.Must(ctx, "systemctl", "show", "--value", "-p", "ActiveState", "netwright-agent"); state != "activating\n" || n.Is(ctx, "ip link show cbr0") {
		t.Errorf("the agent is %q without a checkpoint: %s", state, n.Must(ctx, "cat", "/run/netwright/status.json"))
	}
	n.Must(ctx, "rm", place)
	until(t, n, "it is READY", "systemctl is-active -q netwright-agent")
	checkBridgeNode(t, n)
}

// However few descriptors a run may open, no change stays that cuts the node off. A probe that the
// agent could not send before the change does not count as one without an answer. The line that
// keeps it: pkg/checkpoint/probe/run_probes.go, unasked.
func TestWithoutDescriptorsNoChangeIsUnproved(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	document := "/srv/netwright/" + cluster + "/cluster.yaml"
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("1s")}}))
	bad, made := badRoute(good)
	hook := strings.Replace(good, "  networking:", "  hooks: [{name: sleeper.service, manifest: \"ExecStart=/bin/sleep 1000000\"}]\n  networking:", 1)
	for _, text := range []string{good, hook, good} { // a watch of a hook needs more before a checkpoint begins
		n.Write(document, text, 0o644)
		n.Shell(ctx, "netwright --once || netwright --once")
	}
	n.Write(document, bad, 0o644)
	undone := 0
	for most := 10; most < 20; most++ { // with fewer no run begins
		res := n.Run(ctx, "systemd-run", "--wait", "--pipe", "-q", "--collect", "-p", "LimitNOFILE="+strconv.Itoa(most), "netwright", "--once")
		until(t, n, "the checkpoint is over", "test ! -e /var/lib/netwright/checkpoint/journal.json")
		if res.Code != 1 || n.Is(ctx, made) {
			t.Fatalf("with %d descriptors the change that cuts off stays, exit %d:\n%s%s", most, res.Code, res.Stdout, res.Stderr)
		}
		if n.Is(ctx, "rm /var/lib/netwright/checkpoint/verdict.json 2>/dev/null") {
			undone++
		}
	}
	if undone == 0 {
		t.Error("the change was never made")
	}
}

// While systemd hangs, the agent restores the network in an undo, also where units must be
// restored, too. When systemd answers again, the undo restores the rest. The lines that keep it:
// pkg/checkpoint/undo.go, unitsInTime; pkg/checkpoint/finish.go, undo.
func TestSystemdHangsInAnUndo(t *testing.T) {
	t.Parallel() // the test waits for systemd
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	document := "/srv/netwright/" + cluster + "/cluster.yaml"
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("1m")}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	before := n.Snapshot()
	bad, made := badRoute(good)
	n.Write("/etc/netwright/agent.yaml", agentFile("5s"), 0o644)
	n.Write(document, strings.Replace(bad, "  networking:", "  hooks: [{name: sleeper.service, manifest: \"ExecStart=/bin/sleep 1000000\"}]\n  networking:", 1), 0o644)
	n.Start(ctx, "cutting", "netwright", "--once")
	until(t, n, "the change is made", made)
	if err := unix.Kill(n.Init(), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	back := n.Await(ctx, "! "+made)
	if err := unix.Kill(n.Init(), unix.SIGCONT); err != nil || !back {
		t.Fatalf("the network did not come back without systemd: %v", err)
	}
	until(t, n, "the undo is over", "test -e /var/lib/netwright/checkpoint/verdict.json && test ! -e /var/lib/netwright/checkpoint/journal.json && ! systemctl is-active -q cutting netwright-undo-now.timer netwright-undo-now.service")
	idle(t, n)
	left := slices.DeleteFunc(lasting(before, n.Snapshot()), func(line string) bool {
		return strings.Contains(line, " file /etc/netwright/agent.yaml") || strings.Contains(line, " file /etc/systemd/system/multi-user.target.wants:") // of the hook
	})
	if len(left) > 0 {
		t.Errorf("not as before:\n%s", strings.Join(left, "\n"))
	}
}

// Where networkd fails to reload, as after a restart of the bus, an undo restarts networkd and
// completes. The line that keeps it: pkg/checkpoint/undo/restore_units.go, reload.
func TestNetworkdTakesNoReloadInAnUndo(t *testing.T) {
	t.Parallel() // the test waits for networkd
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("1m")}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	before := n.Snapshot()
	bad, made := badRoute(good)
	n.Write("/etc/netwright/agent.yaml", agentFile("6s"), 0o644)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(bad, "  networking:", networkFile("50-x.network", "[Match]\nName=absent0\n")+"  networking:", 1), 0o644)
	disconnectNetworkd(t, n)
	res := n.Run(ctx, "netwright", "--once")
	if res.Code != 1 || !strings.Contains(res.Stderr, " was undone: ") && !strings.Contains(res.Stderr, " is bad: ") {
		t.Errorf("exit %d:\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	if n.Is(ctx, made+" || test -e /var/lib/netwright/checkpoint/journal.json") {
		t.Fatalf("the undo did not come to its end:\n%s", res.Stderr)
	}
	idle(t, n)
	left := slices.DeleteFunc(lasting(before, n.Snapshot()), func(line string) bool { return strings.Contains(line, " file /etc/netwright/agent.yaml") })
	if len(left) > 0 {
		t.Errorf("not as before:\n%s", strings.Join(left, "\n"))
	}
}

// disconnectNetworkd restarts the bus, after which systemd-networkd fails to reload. No service of
// the node runs these commands, since systemd would wait for such a service on that bus.
func disconnectNetworkd(t *testing.T, n *node.Node) {
	t.Helper()
	if !n.Is(t.Context(), "systemctl restart dbus && ! systemctl reload systemd-networkd") {
		t.Fatal("the bus is not restarted, or systemd-networkd takes a reload")
	}
}

// systemd-networkd fails to reload, as after a restart of the bus. It reads its files at some later
// time, when the agent no longer probes. So the agent undoes the change, and the next try of it
// stays. A repair needs no checkpoint here: the agent says that the reload failed, and reloads
// again.
//
// The lines that keep it: pkg/checkpoint/finish.go, prove (unread);
// pkg/reconcile/starts/reloads.go, failedReload; pkg/reconcile/carry_out.go, awaitStarts (Enqueue).
func TestNetworkdTakesNoReload(t *testing.T) {
	t.Parallel() // the test waits for networkd
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("6s")}}))
	n.Shell(ctx, "netwright --once || netwright --once")
	const (
		file  = "/etc/systemd/network/05-host0.network"
		acted = "ip -o addr show dev host0 | grep -q 10.77.0.99/24"
	)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "  networking:", networkFile("05-host0.network",
		n.Read("/etc/systemd/network/10-host0.network")+"[Address]\nAddress=10.77.0.99/24\n")+"  networking:", 1), 0o644)
	fails := func(what string) {
		t.Helper()
		disconnectNetworkd(t, n)
		res := n.Run(ctx, "netwright", "--once")
		if res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, "systemd-networkd.service: its reload failed (exit-code)") {
			t.Errorf("%s: exit %d:\n%s%s", what, res.Code, res.Stdout, res.Stderr)
		}
	}
	fails("a change")
	if n.Is(ctx, "test -e "+file+" || "+acted) {
		t.Error("a change stays that networkd has not read")
	}
	n.Must(ctx, "rm", "/var/lib/netwright/checkpoint/verdict.json")
	n.Must(ctx, "netwright", "--once")
	until(t, n, "networkd acts on the next try", acted)
	nothingToDo(t, n)

	n.Must(ctx, "rm", file)
	fails("a repair")
	n.Must(ctx, "systemctl", "restart", "systemd-networkd")
	n.Must(ctx, "netwright", "--once")
	nothingToDo(t, n)
}
