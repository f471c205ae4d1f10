package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
)

// fussy makes containerd fail to start with one setting that the documents can make.
const fussy = "[Unit]\nStartLimitIntervalSec=0\n[Service]\nRestart=no\nExecStartPre=/bin/sh -c 'mkdir -p /run/lab; echo start >>/run/lab/starts; ! grep -rq /etc/cni/broken /etc/containerd'\n"

// containerd does not start with settings of the documents. Then the agent restores its file, byte
// for byte, and containerd runs. The pass names the unit and says why. It does not try again until
// the documents change. The lines that keep it: pkg/reconcile/probation/judge.go, judge (restore);
// pkg/reconcile/plan.go, planSteps (Suppressed, without which the agent tries again);
// pkg/reconcile/ledger_unwritable.go, Begin.
func TestContainerdIsTakenBack(t *testing.T) {
	t.Parallel() // the test waits for units
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{"/etc/systemd/system/containerd.service.d/fussy.conf": fussy},
	}))
	n.Must(ctx, "netwright", "--once")
	const state = "find /etc/containerd -type f | sort | xargs stat -c '%n %a %u:%g %Y'; find /etc/containerd -type f | sort | xargs sha256sum"
	before, starts := n.Shell(ctx, state), n.Shell(ctx, "cat /run/lab/starts")
	doc := "/srv/netwright/" + cluster + "/cluster.yaml"
	broken := strings.Replace(string(plain), "  networking:\n", "  networking:\n    cni: {confDir: /etc/cni/broken}\n", 1)
	n.Write(doc, broken, 0o644)

	res := n.Run(ctx, "netwright", "--once", "-o", "json")
	p := planOf(t, res, 1)
	said := messages(p, report.Failed)
	if !strings.Contains(said, "containerd.service did not come up with it (exit-code)") || !strings.Contains(said, "journalctl -u containerd.service") || !strings.Contains(said, "runs again") {
		t.Errorf("the pass says: %s", said)
	}
	if got := n.Shell(ctx, state); got != before {
		t.Errorf("containerd's settings are\n%s\nnot\n%s", got, before)
	}
	if got := n.Must(ctx, "systemctl", "is-active", "containerd"); got != "active\n" {
		t.Errorf("containerd is %q", got)
	}
	if got := n.Shell(ctx, "cat /run/lab/starts"); strings.Count(got, "start")-strings.Count(starts, "start") != 2 {
		t.Errorf("containerd was started %d times, want once with the new settings and once with the old", strings.Count(got, "start")-strings.Count(starts, "start"))
	}
	if got := n.Must(ctx, "netwright", "history"); !strings.Contains(got, "undone: bad: containerd.service did not come up: exit-code") {
		t.Errorf("history does not tell:\n%s", got)
	}

	starts = n.Shell(ctx, "cat /run/lab/starts")
	for range 2 {
		if again := messages(planOf(t, n.Run(ctx, "netwright", "--once", "-o", "json"), 1), report.Failed); again != said {
			t.Errorf("the next pass says %s, not %s", again, said)
		}
	}
	if got := n.Shell(ctx, "cat /run/lab/starts"); got != starts || n.Shell(ctx, state) != before {
		t.Error("containerd was started with the settings again, though no document changed")
	}

	// The documents change: the agent makes the change, and reports nothing more.
	n.Write(doc, strings.Replace(broken, "/etc/cni/broken", "/etc/cni/well", 1), 0o644)
	n.Must(ctx, "netwright", "--once")
	if got := n.Shell(ctx, "grep -rl /etc/cni/well /etc/containerd; systemctl is-active containerd; ls /var/lib/netwright"); !strings.Contains(got, "\nactive\n") || strings.Contains(got, "trials") {
		t.Errorf("after the documents changed:\n%s", got)
	}
	nothingToDo(t, n)
}

// A unit of the documents gets a program that does not exist, and then one that fails. The agent
// restores the unit's file, and the unit runs.
func TestHookIsTakenBack(t *testing.T) {
	t.Parallel() // the test waits for units
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	doc := "/srv/netwright/" + cluster + "/cluster.yaml"
	hook := func(start string) string {
		return string(plain) + "  hooks:\n  - name: stay.service\n    manifest: |\n      Restart=on-failure\n      ExecStart=" + start + "\n"
	}
	n.Write(doc, hook("/bin/sleep infinity"), 0o644)
	n.Must(ctx, "netwright", "--once")
	until(t, n, "the unit runs, and so is a judge of its changes", "systemctl is-active -q stay && ! systemctl list-jobs --no-legend | grep -q .")
	good := n.Read("/etc/systemd/system/stay.service")
	for _, bad := range []string{"/no/such/program", "/bin/false", "not-a-path/x"} {
		n.Write(doc, hook(bad), 0o644)
		said := messages(planOf(t, n.Run(ctx, "netwright", "--once", "-o", "json"), 1), report.Failed)
		if !strings.Contains(said, "file:/etc/systemd/system/stay.service: stay.service did not come up with it") {
			t.Errorf("%s: the pass says: %s", bad, said)
		}
		if n.Read("/etc/systemd/system/stay.service") != good {
			t.Errorf("%s: the unit's file is not what it was", bad)
		}
		if got := n.Shell(ctx, "systemctl show -p ActiveState,NeedDaemonReload stay; systemctl show -p ExecStart stay | grep -o /bin/sleep | head -1"); got != "ActiveState=active\nNeedDaemonReload=no\n/bin/sleep\n" {
			t.Errorf("%s: the unit is\n%s", bad, got)
		}
	}

	// A unit that does not run before the change says nothing about the change: the change stays.
	n.Shell(ctx, "systemctl stop stay; printf '[Service]\\nExecStartPre=/bin/false\\nRestart=no\\n' >/run/systemd/system/broken.conf; mkdir -p /run/systemd/system/stay.service.d; mv /run/systemd/system/broken.conf /run/systemd/system/stay.service.d/; systemctl daemon-reload; systemctl start stay || true")
	n.Write(doc, hook("/bin/sleep 1000000"), 0o644)
	res := n.Run(ctx, "netwright", "--once")
	if !strings.Contains(res.Stdout+res.Stderr, "stay.service is failed before the change") {
		t.Errorf("the pass does not say that the unit was down before the change: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	if got := n.Read("/etc/systemd/system/stay.service"); !strings.Contains(got, "sleep 1000000") {
		t.Errorf("the change was taken back on account of a unit that was down before:\n%s", got)
	}
}
