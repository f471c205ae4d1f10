package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

// directory matches a directory that was made, whose time changed, or that systemd removed when it
// was empty.
var directory = regexp.MustCompile(`^[-+~] file \S+: mode=(40|20000)`)

// A person installs the agent, has it converge the node, resets the node and removes the agent: the
// node is as before. While the ledger has entries the agent stays, and says what to do. The running
// daemon is replaced by the installed program, also while it starts, and after an install that was
// killed. The lines that keep it: pkg/install/remove.go, stopped, mayGo and gone;
// pkg/install/install.go, runs, pendingRestart, run (Ask) and masked.
func TestInstallAndRemove(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, node.Options{Name: "node-1", Address: "10.77.0.11", Copies: map[string]string{
		"/srv/netwright": bridgeStore(t).dir, "/root/agent": program.Agent(t)},
		Files: map[string]string{"/etc/netwright/agent.yaml": "store: /srv/netwright\nnode: node-1\n"}})
	n.Must(ctx, "systemctl", "is-system-running", "--wait")
	units, before := unitFiles(t, n), n.Snapshot()

	// The daemon is still activating, since it cannot use its documents.
	const document, running = "/srv/netwright/" + cluster + "/cluster.yaml", "/proc/$(systemctl show -p MainPID --value netwright-agent)/exe"
	n.Shell(ctx, "mv "+document+" /root/right; echo wrong >"+document+"; cp /root/agent /root/other; echo >>/root/other; /root/other install")
	until(t, n, "the daemon starts", "systemctl show netwright-agent | grep -qx StatusText=..* && cmp /root/other "+running)
	if state := n.Must(ctx, "systemctl", "show", "-p", "SubState", "netwright-agent"); state != "SubState=start\n" {
		t.Errorf("the daemon is %s", state)
	}
	n.Must(ctx, "/root/agent", "install")
	until(t, n, "the other version runs", "cmp /root/agent "+running)
	n.Shell(ctx, "rm /root/other; mv /root/right "+document+"; systemctl restart netwright-agent")
	until(t, n, "the daemon made the node right", "netwright status")

	// Now an install was killed before it asked for the restart.
	n.Shell(ctx, "cp /usr/bin/netwright /usr/bin/new; mv /usr/bin/new /usr/bin/netwright")
	n.Must(ctx, "netwright", "install")
	until(t, n, "the program that is there runs", "readlink "+running+" | grep -qx /usr/bin/netwright")
	if again := n.Must(ctx, "netwright", "install"); !strings.Contains(again, "nothing to do") {
		t.Errorf("once more: %s", again)
	}
	until(t, n, "the daemon finds the node right", "netwright status")
	checkBridgeNode(t, n)

	// A program that cannot be written does not restart the daemon. A unit that a person masked
	// stays masked.
	const pid = "systemctl show -P MainPID netwright-agent"
	ran := n.Shell(ctx, pid)
	n.Shell(ctx, `(cat /root/agent; echo) >/root/other; chmod +x /root/other
if unshare --mount sh -ec 'mount --bind /usr /usr; mount -o remount,bind,ro /usr; exec /root/other install'; then exit 1; fi; rm /root/other`)
	if now := n.Shell(ctx, pid); now != ran {
		t.Errorf("an install that failed replaced the daemon %s by %s", ran, now)
	}
	n.Shell(ctx, `cd /etc/systemd/system; mv netwright-undo.service /usr/lib/systemd/system; systemctl mask netwright-undo
netwright install | grep 'systemctl unmask netwright-undo.service'; test "$(readlink netwright-undo.service)" = /dev/null
systemctl unmask netwright-undo; mv /usr/lib/systemd/system/netwright-undo.service .; systemctl daemon-reload; netwright install`)
	res := n.Run(ctx, "netwright", "install", "--remove")
	if res.Code != 1 || !strings.Contains(res.Stderr, "run `agent reset` first") || !n.Is(ctx, "systemctl is-active -q netwright-agent") {
		t.Errorf("before a reset: exit code %d: %s%s", res.Code, res.Stdout, res.Stderr)
	}
	n.Must(ctx, "netwright", "reset")
	n.Must(ctx, "systemctl", "enable", "--now", "netwright-recover", "netwright-undo")
	planned := n.Run(ctx, "netwright", "install", "--remove", "--dry-run")
	if planned.Code != 2 || !n.Is(ctx, "test -x /usr/bin/netwright -a -e /etc/systemd/system/netwright-agent.service") {
		t.Errorf("a dry run: exit code %d: %s%s", planned.Code, planned.Stdout, planned.Stderr)
	}
	out := n.Must(ctx, "/root/agent", "install", "--remove")
	if now := unitFiles(t, n); now != units {
		t.Errorf("units changed:\n%s\nbefore:\n%s", now, units)
	}
	diff := slices.DeleteFunc(n.Traces(before, n.Snapshot(), systemds), func(line string) bool {
		return directory.MatchString(line) || strings.Contains(line, "file /run/netwright/lock")
	})
	if len(diff) > 0 {
		t.Errorf("the agent left traces:\n%s\n%s", strings.Join(diff, "\n"), out)
	}
	if again := n.Must(ctx, "/root/agent", "install", "--remove"); !strings.Contains(again, "nothing to do") {
		t.Errorf("once more: %s", again)
	}
}
