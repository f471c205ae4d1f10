package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// A hook runs as its file says, and ends with the hook. This holds where a unit of the system ran
// before, where somebody removed the file, and where the file is gone when the hook goes. The same
// text written again restarts nothing. The lines that keep it: pkg/tasks/unit_file.go, Plan (Runs);
// pkg/tasks/unit_state.go, Live (Runs); pkg/reconcile/drift/drift.go, Spare.
func TestHookRunsFromItsFile(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{"/usr/lib/systemd/system/v.service": "[Service]\nExecStart=/bin/sleep 1000\n[Install]\nWantedBy=multi-user.target\n"},
	}))
	doc := "/srv/netwright/" + cluster + "/cluster.yaml"
	hook := func(seconds string) {
		n.Write(doc, string(plain)+"  hooks:\n  - name: v.service\n    manifest: |\n      ExecStart=/bin/sleep "+seconds+"\n", 0o644)
	}
	runs := func(want, when string) {
		t.Helper()
		idle(t, n)
		if got := n.Shell(ctx, "for pid in $(pgrep -x sleep); do tr '\\0' ' ' </proc/$pid/cmdline; done"); got != want {
			t.Errorf("%s there runs %q, want %q", when, got, want)
		}
	}
	n.Must(ctx, "systemctl", "start", "v")
	runs("/bin/sleep 1000 ", "before")
	hook("2000")
	n.Must(ctx, "netwright", "--once")
	runs("/bin/sleep 2000 ", "over a unit of the system")

	invocation := func() string { return n.Must(ctx, "systemctl", "show", "--value", "-p", "InvocationID", "v") }
	was := invocation()
	n.Must(ctx, "rm", "/etc/systemd/system/v.service")
	n.Must(ctx, "netwright", "--once")
	if invocation() != was {
		t.Error("the same text restarted what ran from it")
	}

	n.Shell(ctx, "rm /etc/systemd/system/v.service /usr/lib/systemd/system/v.service; systemctl daemon-reload")
	hook("3000")
	n.Must(ctx, "netwright", "--once")
	runs("/bin/sleep 3000 ", "after its file was removed")
	nothingToDo(t, n)

	with := n.Read(doc)
	n.Write(doc, with+"  - name: w.service\n    manifest: |\n      ExecStart=/bin/sleep 4000\n", 0o644)
	n.Must(ctx, "netwright", "--once")
	n.Shell(ctx, "rm /etc/systemd/system/w.service; systemctl daemon-reload")
	n.Write(doc, with, 0o644)
	n.Must(ctx, "netwright", "--once")
	runs("/bin/sleep 3000 ", "after the other hook went")
	if got := n.Shell(ctx, "find /etc/systemd/system -name 'w.service*'"); got != "" {
		t.Errorf("left of it: %s", got)
	}
	nothingToDo(t, n)
}

// A dry run takes the unit file into account that the run will write. Where a stale unit file
// cannot be enabled, the plan lists what the run then makes in its first attempt. The files that a
// hook reads are there when the hook starts. The lines that keep it: pkg/host/pending_view.go,
// Installs; pkg/model/user_hooks.go, readBy.
func TestHookOverAStaleFile(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const stale = "[Service]\nExecStart=/bin/true\n"
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{"/etc/systemd/system/x.service": stale, "/usr/lib/systemd/system/y.service": stale},
	}))
	files := ""
	for _, name := range []string{"x", "y"} {
		files += "  - {path: /srv/lab/" + name + ", mode: '0755', content: \"#!/bin/sh\\necho $WORD >/run/lab-" + name + "\\n\"}\n" +
			"  - {path: /srv/lab/" + name + ".env, content: \"WORD=here\\n\"}\n"
	}
	text := string(plain) + "  fileAssets:\n" + files + "  hooks:\n"
	for _, name := range []string{"x", "y"} {
		text += "  - name: " + name + "\n    manifest: |\n      Type=oneshot\n      RemainAfterExit=yes\n      EnvironmentFile=/srv/lab/" + name + ".env\n      ExecStart=/srv/lab/" + name + "\n"
	}
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", text, 0o644)
	if planned := keys(plan(ctx, t, n, 2)); !planned["unit:x.service"] || !planned["unit:y.service"] {
		t.Errorf("the dry run does not plan them: %v", planned)
	}
	res := n.Run(ctx, "netwright", "--once")
	if res.Code != 0 || strings.Contains(res.Stdout+res.Stderr, "changed since planned") {
		t.Errorf("the run: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	if got := n.Shell(ctx, "cat /run/lab-x /run/lab-y; systemctl is-enabled x y; systemctl is-active x y"); got != "here\nhere\nenabled\nenabled\nactive\nactive\n" {
		t.Errorf("the hooks and their files are %q", got)
	}
	nothingToDo(t, n)

	// Somebody replaced a unit file by a link to itself. The agent mends the file, and it keeps no
	// other change back: pkg/host/systemd/unit_state.go, isNoUnit.
	n.Shell(ctx, "ln -sfn x.service /etc/systemd/system/x.service; ip link delete cbr0")
	n.Must(ctx, "netwright", "--once")
	n.Shell(ctx, "test ! -L /etc/systemd/system/x.service && systemctl is-enabled -q x && ip link show cbr0")
	nothingToDo(t, n)
}
