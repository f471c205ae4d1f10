package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
)

// A unit of the documents that does not come up fails its task. The error has the unit's name, its
// exit code and its last output, however late the unit fails. The next run fails in the same way. A
// unit that comes up is right again. The line that keeps it: pkg/reconcile/carry_out.go,
// awaitStarts (without it the run ends while the unit is activating).
func TestHookThatFails(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	doc := "/srv/netwright/" + cluster + "/cluster.yaml"
	n.Must(ctx, "netwright", "--once")
	const script = "Type=oneshot\n      RemainAfterExit=yes\n      ExecStart=/bin/sh -c "
	for _, row := range []struct{ name, manifest, timeout, says string }{
		{"at-once", script + `"echo no luck; exit 3"`, "", "at-once.service: it failed (exit-code, exit code 3): no luck"},
		{"unheard", script + `"kill -STOP $(pidof systemd-journald); echo no luck; exit 6"`, "", "unheard.service: it failed (exit-code, exit code 6): no luck"},
		{"later", script + `"sleep 2; echo no luck; exit 4"`, "", "later.service: it failed (exit-code, exit code 4): no luck"},
		{"dies", "ExecStart=/bin/false", "", "dies.service: it failed (exit-code, exit code 1)"},
		{"no-program", "ExecStart=/no/such/program", "", "no-program.service: it failed (exit-code, exit code 203)"},
		{"again", "Restart=on-failure\n      RestartSec=100ms\n      ExecStart=/bin/sh -c \"echo no luck; exit 5\"", "", "again.service: it failed (exit-code, exit code 5): no luck"},
		{"no-unit", "ExecStart=relative", "", "no-unit.service"},
		{"hangs", script + `"echo still here; sleep 1000"`, "3s", "hangs.service: it did not start within 3s, and was stopped"},
	} {
		text := string(plain) + "  hooks:\n  - name: " + row.name + "\n"
		if row.timeout != "" {
			text += "    timeout: " + row.timeout + "\n"
		}
		n.Write(doc, text+"    manifest: |\n      "+row.manifest+"\n", 0o644)
		for _, run := range []string{"first", "second"} {
			if row.name == "unheard" { // journald stops until systemd has forgotten the run
				n.Must(ctx, "systemd-run", "/bin/sh", "-c", "j=$(pidof systemd-journald); until grep -q '^State:.T' /proc/$j/status; do sleep 0.02; done; "+
					"until systemctl is-failed unheard; do sleep 0.02; done; sleep 0.1; kill -CONT $j")
			}
			said := messages(planOf(t, n.Run(ctx, "netwright", "--once", "-o", "json"), 1), report.Failed)
			// On a busy machine journald gets the unit's output too late. Then the error has
			// systemd's own messages.
			said = strings.Replace(said, "exit code 5): again.service: Scheduled restart job", "exit code 5): no luck", 1)
			if !strings.Contains(said, row.says) || !strings.Contains(said, "journalctl -u "+row.name+".service") && row.name != "no-unit" || strings.Contains(said, "another program") {
				t.Errorf("%s, the %s run says: %s", row.name, run, said)
			}
			if row.name == "hangs" && !strings.Contains(said, "still here") {
				t.Errorf("the error has not the unit's output: %s", said)
			}
		}
		until(t, n, row.name+" does not run", "! systemctl is-active "+row.name+" | grep -q -e '^active' -e activating")
	}

	// A unit came up, and fails when a person restarts it.
	n.Write(doc, string(plain)+"  hooks:\n  - name: moody\n    manifest: |\n      "+script+"\"! grep moody /run/lab-broken\"\n", 0o644)
	n.Must(ctx, "netwright", "--once")
	if got := n.Must(ctx, "systemctl", "is-active", "moody"); got != "active\n" {
		t.Errorf("moody is %s", got)
	}
	n.Shell(ctx, "echo moody >/run/lab-broken; systemctl restart moody || true")
	if said := messages(planOf(t, n.Run(ctx, "netwright", "--once", "-o", "json"), 1), report.Failed); !strings.Contains(said, "moody.service: it failed (exit-code, exit code 1): moody") {
		t.Errorf("after a restart that fails: %s", said)
	}
	n.Must(ctx, "rm", "/run/lab-broken")
	n.Must(ctx, "netwright", "--once")
	if got := n.Must(ctx, "systemctl", "is-active", "moody"); got != "active\n" {
		t.Errorf("moody is %s", got)
	}
	nothingToDo(t, n)
}

// The daemon says READY when the hooks that are ordered before kubelet are up. It waits for no
// other hook. If a hook before kubelet fails, kubelet does not start, and the daemon names the
// hook.
func TestReadyWaitsForHooksBeforeKubelet(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const script = "    manifest: |\n      Type=oneshot\n      RemainAfterExit=yes\n      ExecStart=/bin/sh -c "
	s.write(t, "cluster.yaml", string(plain)+"  hooks:\n"+
		"  - name: before\n    before: [kubelet.service]\n"+script+"\"sleep 4; test -e /srv/lab-good || { echo no luck; exit 7; }\"\n"+
		"  - name: long\n"+script+"\"sleep 1000\"\n"+
		"  - name: broken\n"+script+"\"sleep 1; echo never; exit 9\"\n")
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	n.Must(ctx, "systemctl", "start", "--no-block", "netwright-agent")
	until(t, n, "the agent says what failed", "journalctl -b -o cat -u netwright-agent | grep -q 'before.service: it failed (exit-code, exit code 7): no luck'")
	if got := strings.TrimSpace(n.Shell(ctx, "systemctl is-active netwright-agent || true")); got != "activating" {
		t.Errorf("the agent is %s while what kubelet waits for failed", got)
	}

	n.Write("/srv/lab-good", "", 0o644)
	until(t, n, "the agent is prepared", "systemctl is-active -q netwright-agent")
	at := func(unit string) int {
		us, err := strconv.Atoi(strings.TrimSpace(n.Must(ctx, "systemctl", "show", "--value", "-p", "ActiveEnterTimestampMonotonic", unit)))
		if err != nil {
			t.Fatal(err)
		}
		return us
	}
	if hook, ready := at("before"), at("netwright-agent"); hook == 0 || ready < hook {
		t.Errorf("READY at %d, and what kubelet waits for was up at %d", ready, hook)
	}
	if got := strings.TrimSpace(n.Shell(ctx, "systemctl is-active long || true")); got != "activating" {
		t.Errorf("long is %s", got)
	}
	until(t, n, "the status names what failed", "netwright status | grep -q 'broken.service: it failed (exit-code, exit code 9): never'")
}
