package e2e

import (
	"context"
	"encoding/json"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/verify/probe"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// silent changes the good cluster's document: the node reaches others and answers no ping. Its
// probes pass, since they all go out from the node.
func silent(good string) string {
	return strings.Replace(good, "  networking:", "  sysctlParameters: [net.ipv4.icmp_echo_ignore_all=1]\n"+
		"  fileAssets:\n"+assetFile("/etc/silent", "1\n")+"  networking:", 1)
}

// pings says whether the node answers a ping of the witness. The witness is outside of the node.
func pings(f *node.Fabric, address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := probe.Ping(ctx, f.Netns(), netip.MustParseAddr(address), 0)
	return err == nil
}

// heard waits until the node answers the witness again.
func heard(t *testing.T, f *node.Fabric, address string) {
	t.Helper()
	end := time.Now().Add(5 * time.Minute) // only so that a test that hangs ends
	for !pings(f, address) {
		if time.Now().After(end) {
			t.Fatal("the node never answered again")
		}
	}
}

// A change of these tests may be confirmed for as long as within. Its undo may take margin.
const (
	within = 40 * time.Second
	margin = 15 * time.Second
)

func confirmNode(t *testing.T) (f *node.Fabric, n *node.Node, good string) {
	t.Helper()
	f = serve(t)
	s, good := goodStore(t)
	n = f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml": agentFile("3s") + "interval: 5s\n"}}))
	n.Shell(t.Context(), "netwright --once || netwright --once")
	heard(t, f, "10.77.0.11")
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", silent(good), 0o644)
	return f, n, good
}

// untilWhen finds the time until which a change may be confirmed, in the agent's output.
var untilWhen = regexp.MustCompile(`awaits its confirmation until (\S+Z)`)

// makeAwaiting makes the change that the witness notices, and returns the time until which the
// change may be confirmed.
func makeAwaiting(t *testing.T, f *node.Fabric, n *node.Node) time.Time {
	t.Helper()
	res := n.Run(t.Context(), "netwright", "--once", "--confirm", within.String())
	if res.Code != 0 || !untilWhen.MatchString(res.Stdout) || !strings.Contains(res.Stdout, "`agent confirm`") {
		t.Fatalf("exit %d:\n%s\n%s", res.Code, res.Stdout, res.Stderr)
	}
	if pings(f, "10.77.0.11") {
		t.Fatal("the witness does not notice the change")
	}
	return moment(t, untilWhen.FindStringSubmatch(res.Stdout)[1])
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// back checks that the change was undone when its time was over, and not before.
func back(t *testing.T, f *node.Fabric, n *node.Node, over time.Time) {
	t.Helper()
	heard(t, f, "10.77.0.11")
	until(t, n, "the undo has ended", "test ! -e /var/lib/netwright/checkpoint/journal.json && ! systemctl is-active -q netwright-undo-now-unconfirmed.timer netwright-undo-now-unconfirmed.service")
	n.Shell(t.Context(), "test ! -e /etc/silent")
	var history struct {
		Undone []struct {
			Time time.Time
			Why  string
		}
	}
	if err := json.Unmarshal([]byte(n.Must(t.Context(), "netwright", "history", "-o", "json")), &history); err != nil {
		t.Fatal(err)
	}
	if last := history.Undone[len(history.Undone)-1]; last.Time.Before(over) || !strings.HasPrefix(last.Why, "nobody confirmed it ") {
		t.Errorf("the change could be confirmed until %s; the history says %+v", over, last)
	}
}

// A change that nobody confirms is undone when its time is over, whatever happened to the agent. A
// boot before that time also undoes it. A change that somebody confirms stays. Only a login that
// began after the change can confirm it. The lines that keep it: pkg/checkpoint/confirmation.go;
// pkg/reconcile/confirm.go; pkg/host/login.go.
func TestConfirm(t *testing.T) {
	t.Parallel() // the test waits for undos
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	f, n, good := confirmNode(t)
	before, claimed := n.Snapshot(), claims(t, n)
	undone := func(when string) {
		t.Helper()
		if left := lasting(before, n.Snapshot()); len(left) > 0 {
			t.Errorf("%s the node is not as before:\n%s", when, strings.Join(left, "\n"))
		}
		if now := claims(t, n); len(now) != len(claimed) {
			t.Errorf("%s the ledger has %d entries, before %d", when, len(now), len(claimed))
		}
	}

	made := makeAwaiting(t, f, n)
	if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 || !strings.Contains(res.Stderr, "awaits its confirmation") {
		t.Errorf("another run: exit %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
	}
	back(t, f, n, made)
	undone("not confirmed,")

	n.Start(ctx, "cutting", "netwright", "--once", "--confirm", within.String())
	until(t, n, "it awaits its confirmation", "grep -q '\"awaits\"' /var/lib/netwright/checkpoint/journal.json")
	n.Shell(ctx, "systemctl kill --signal=KILL cutting || true")
	back(t, f, n, moment(t, untilWhen.FindStringSubmatch(n.Run(ctx, "netwright", "history").Stdout)[1]))
	undone("killed,")

	makeAwaiting(t, f, n)
	for _, says := range []string{"was taken back: nobody confirmed it, and an undo was asked for", "no change awaits its confirmation: there is nothing to take back"} {
		if res := n.Run(ctx, "netwright", "undo"); res.Code != 0 || !strings.Contains(res.Stdout, says) || strings.Contains(res.Stderr, " debug ") {
			t.Errorf("undo by hand: exit %d, want %q\n%s\n%s", res.Code, says, res.Stdout, res.Stderr)
		}
	}
	undone("by hand,")

	makeAwaiting(t, f, n)
	n.Kill()
	n.Boot(ctx)
	heard(t, f, "10.77.0.11")
	n.Shell(ctx, "test ! -e /etc/silent; test ! -e /var/lib/netwright/checkpoint/journal.json")

	n.Start(ctx, "old", "/bin/sh", "-c", "systemd-run --quiet --scope --unit=session-1.scope /bin/sh -c 'until test -e /run/go; do sleep 0.1; done; netwright confirm >/run/said 2>&1; echo $? >/run/code'")
	until(t, n, "somebody is logged in", "systemctl is-active -q session-1.scope")
	made = makeAwaiting(t, f, n)
	n.Shell(ctx, "touch /run/go")
	until(t, n, "the old login was answered", "test -s /run/code")
	if code, said := n.Read("/run/code"), n.Read("/run/said"); code != "1\n" || !strings.Contains(said, "session-1.scope") || !strings.Contains(said, "open a new ssh session") {
		t.Errorf("a login from before the change: exit %s%s", code, said)
	}
	if res := n.Run(ctx, "netwright", "confirm"); res.Code != 1 || !strings.Contains(res.Stderr, "it was not started from a login") {
		t.Errorf("a service: exit %d\n%s", res.Code, res.Stderr)
	}
	n.Must(ctx, "systemd-run", "--quiet", "--scope", "--unit=session-2.scope", "netwright", "confirm")
	time.Sleep(time.Until(made.Add(margin))) // by now an undo would have happened
	if pings(f, "10.77.0.11") {
		t.Error("the confirmed change was undone")
	}
	n.Shell(ctx, "test -e /etc/silent; test ! -e /var/lib/netwright/checkpoint/journal.json; ! systemctl is-active -q netwright-undo-now-unconfirmed.timer")
	if history := n.Must(ctx, "netwright", "history"); !strings.Contains(history, "* 2") {
		t.Errorf("history:\n%s", history)
	}
	nothingToDo(t, n)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", good, 0o644)
	n.Must(ctx, "netwright", "--once")
}

// A daemon makes such a change, or a command makes it beside the daemon. The daemon neither undoes
// it nor changes anything else meanwhile, also after a kill. It does not make the change again
// after the undo. The lines that keep it: pkg/reconcile/session/undo.go, finishUndo;
// pkg/reconcile/confirm.go, lookMeanwhile; pkg/reconcile/rollout/update.go, Take.
func TestConfirmBesideTheDaemon(t *testing.T) {
	t.Parallel() // the test waits for undos
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	f, n, good := confirmNode(t)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", good, 0o644)
	frozen := strings.Replace(silent(good), "splay: 0s", "freeze: true", 1) // so only a command makes the change
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	n.Must(ctx, "netwright", "--once")
	for _, fate := range []string{"alive", "killed"} {
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", frozen, 0o644)
		made := makeAwaiting(t, f, n)
		if fate == "killed" {
			n.Shell(ctx, "systemctl kill --signal=KILL netwright-agent")
			until(t, n, "another daemon is there", "netwright status >/dev/null; test $? = 3")
		}
		n.Shell(ctx, "sysctl -qw net.ipv4.ip_forward=0")
		until(t, n, "the daemon has looked", "netwright status | grep -q 'awaits its confirmation until'")
		if res := n.Run(ctx, "netwright", "--once"); res.Code != 1 || !strings.Contains(res.Stderr, "awaits its confirmation") {
			t.Errorf("%s: another run: exit %d\n%s\n%s", fate, res.Code, res.Stdout, res.Stderr)
		}
		if got := n.Shell(ctx, "cat /proc/sys/net/ipv4/ip_forward"); got != "0\n" {
			t.Errorf("%s: the daemon changes something meanwhile", fate)
		}
		back(t, f, n, made)
		until(t, n, "the daemon keeps right what was before", "test $(cat /proc/sys/net/ipv4/ip_forward) = 1")
		time.Sleep(3 * 5 * time.Second) // three passes
		if !pings(f, "10.77.0.11") {
			t.Errorf("%s: the daemon made again what nobody confirmed", fate)
		}
		if status := n.Run(ctx, "netwright", "status"); status.Code != 3 || !strings.Contains(status.Stdout, "nobody confirmed it ") {
			t.Errorf("%s: status: exit %d\n%s", fate, status.Code, status.Stdout)
		}
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", good, 0o644)
		n.Must(ctx, "netwright", "--once")
	}

	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", frozen, 0o644)
	made := makeAwaiting(t, f, n)
	n.Must(ctx, "systemd-run", "--quiet", "--scope", "--unit=session-2.scope", "netwright", "confirm")
	time.Sleep(time.Until(made.Add(margin)))
	if pings(f, "10.77.0.11") {
		t.Error("the confirmed change was undone")
	}
	until(t, n, "status says that all is right", "netwright status >/dev/null")
}
