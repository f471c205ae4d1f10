package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/netns"
)

// The daemon looks at a paused node and reports, and changes nothing: it repairs no drift and takes
// no configuration. Another daemon does not, either. The pause ends by itself. The lines that keep
// it: pkg/reconcile/converge.go, convergeLocked; pkg/reconcile/paused_pass.go, lookOnly.
func TestAPauseChangesNothingAndEnds(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{auto: restart, splay: 0s}", "one")
	heard := &listener{}
	b.daemon.Observers = []Observer{heard}
	b.live(t, func(t *testing.T) {
		alice := b.daemon.Pass
		alice.By = "alice"
		z, err := alice.Session().Pause(t.Context(), time.Hour, "swapping the uplink")
		if err != nil || !strings.HasSuffix(z.String(), "by alice: swapping the uplink") {
			t.Fatalf("Pause returns %v %v", z, err)
		}
		if err := os.Remove(filepath.Join(b.root, "etc/motd")); err != nil {
			t.Fatal(err)
		}
		publish(t, "{auto: restart, splay: 0s}", "two")
		before := hostroot.Tree(t, b.root)
		later(11 * time.Minute)
		if after := hostroot.Tree(t, b.root); len(after) != len(before) || b.has("/etc/motd") {
			t.Errorf("a paused node was changed: %v, was %v", after, before)
		}
		s := heard.last()
		if s.State != report.NodeDrifted || s.Paused == nil || s.Paused.By != "alice" || s.Waiting == nil || !s.Waiting.Until.Equal(s.Paused.Until) || !heard.heard(report.EventPaused, "") {
			t.Errorf("the status: %s, %+v, %+v", s.State, s.Paused, s.Waiting)
		}
		if last := b.manager.last(t).text; !strings.Contains(last, "paused until 2000-01-01T01:00:00Z by alice: swapping the uplink") {
			t.Errorf("systemd is told %q", last)
		}
		d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		alice.TakeNow = "alice"
		var refused *session.PausedError
		if _, err := alice.Converge(t.Context(), d); !errors.As(err, &refused) || !strings.Contains(err.Error(), "`agent resume` ends that") {
			t.Errorf("--once says %v", err)
		}
		if _, err := alice.Rollback(t.Context(), 0); !errors.As(err, &refused) || !strings.Contains(err.Error(), "`agent rollback --end-pause` ends that") {
			t.Errorf("rollback says %v", err)
		}
		if plan, err := alice.DryRun(t.Context(), d); err != nil || plan.Paused == nil || plan.Summary.Changes() == 0 || !strings.Contains(said(plan), "nothing of this is done now") {
			t.Errorf("a dry run: %v %v", plan, err)
		}
	})
	b.manager = &manager{}
	b.daemon.Manager = b.manager
	b.live(t, func(t *testing.T) { // its time begins anew, so the whole hour of the pause is left
		if b.manager.count("ready") != 1 || b.has("/etc/motd") {
			t.Error("a daemon that starts holds kubelet back, or changes a paused node")
		}
		later(time.Hour - time.Minute)
		if b.has("/etc/motd") {
			t.Error("the pause ended early")
		}
		later(time.Minute + time.Second)
		if !b.has("/etc/motd") || hostroot.Read(t, b.root, "/etc/motd") != "two" || heard.last().Paused != nil || b.has("/var/lib/netwright/pause.json") {
			t.Error("the pause did not end at its time")
		}
	})
	if begun, over := b.logged("paused: nothing is changed on this node"), b.logged("the pause is over"); begun != 2 || over != 1 {
		t.Errorf("two daemons logged %d times that the node is paused, and %d times that it is over", begun, over)
	}
}

// A pause does not hold for another machine that boots from the disk: that machine takes what is
// published for it. The line that keeps it: pkg/ledger/pause.go, ReadPause (IsOtherMachine).
func TestAPauseIsOfItsMachine(t *testing.T) {
	b, publish := fleetNode(t)
	hostroot.Put(t, b.root, "/etc/machine-id", "11\n")
	publish(t, "{splay: 0s}", "one")
	b.live(t, func(t *testing.T) {})
	if _, err := b.daemon.Pass.Session().Pause(t.Context(), time.Hour, "swapping the uplink"); err != nil {
		t.Fatal(err)
	}
	publish(t, "{splay: 0s}", "two")
	d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	for _, machine := range []struct{ id, want string }{{"11\n", "one"}, {"", "one"}, {"22\n", "two"}} {
		hostroot.Put(t, b.root, "/etc/machine-id", machine.id)
		if _, err := b.daemon.Pass.Converge(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != machine.want {
			t.Errorf("the machine-id is %q: it has %q", machine.id, got)
		}
	}
}

// A resume ends the pause at once, and says what the pause was. A pause that is too long or has no
// reason is refused.
func TestResumeEndsAPause(t *testing.T) {
	b := newBox(t)
	b.live(t, func(t *testing.T) {
		pass := b.daemon.Pass
		for _, c := range []struct {
			d      time.Duration
			reason string
			want   string
		}{{session.MaxPause + 1, "x", "expected up to 24h0m0s"}, {0, "x", "expected up to"}, {-time.Hour, "x", "expected up to"}, {time.Hour, "", "--reason"}} {
			if _, err := pass.Session().Pause(t.Context(), c.d, c.reason); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %q: Pause returns %v", c.d, c.reason, err)
			}
		}
		if was, err := pass.Session().Resume(t.Context()); err != nil || was != "" {
			t.Errorf("of nothing: %q %v", was, err)
		}
		for range 2 { // the second replaces the first
			if _, err := pass.Session().Pause(t.Context(), session.MaxPause, "a reason"); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(filepath.Join(b.root, conflist)); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		if was, err := pass.Session().Resume(t.Context()); err != nil || was != "paused until 2000-01-02T00:00:00Z by agent: a reason" || b.has(conflist) {
			t.Errorf("Resume returns %q %v, want %q", was, err, "paused until 2000-01-02T00:00:00Z by agent: a reason")
		}
		later(11 * time.Minute)
		if !b.has(conflist) || pass.Session().Paused() != nil {
			t.Error("drift is not repaired after the pause")
		}
	})
}

// On a paused node a rollback is made only with the option that ends the pause. The daemon then
// holds the node there, and does not first take the store's configuration. The lines that keep it:
// pkg/reconcile/rollback.go, Rollback.
func TestARollbackMayEndAPause(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{auto: restart, splay: 0s}", "one")
	b.live(t, func(t *testing.T) {
		publish(t, "{auto: restart, splay: 0s}", "two")
		later(11 * time.Minute)
		alice := b.daemon.Pass
		alice.By = "alice"
		if _, err := alice.Session().Pause(t.Context(), time.Hour, "two is bad"); err != nil {
			t.Fatal(err)
		}
		publish(t, "{auto: restart, splay: 0s}", "three")
		alice.EndPause = true
		if _, err := alice.Rollback(t.Context(), 99); err == nil || alice.Session().Paused() == nil {
			t.Errorf("a rollback that is refused ended the pause: %v", err)
		}
		if _, err := alice.Rollback(t.Context(), 0); err != nil || alice.Session().Paused() != nil {
			t.Errorf("error %v, alice.Session().Paused() %v", err, alice.Session().Paused())
		}
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" {
			t.Errorf("/etc/motd is %q", got)
		}
	})
}

// If the agent cannot read whether a node is paused, it changes nothing. The line that keeps it:
// pkg/reconcile/session/pause.go, PausedBy (Unread).
func TestAPauseThatCannotBeReadHolds(t *testing.T) {
	if !netns.Alone(t) {
		return
	}
	b := newBox(t)
	b.document(t, b.plugins(t, "plugins.tar", ""))
	b.write(t, "nodes/n.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: n}\nspec: {}\n")
	d, err := desired.Load(t.Context(), b.daemon.Store, config.Select{Node: "n"}, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(b.root, "var/lib/netwright/pause.json")
	netns.Shell(t, "mkdir -p -m 700 "+filepath.Dir(file)+"; touch "+file+"; mount --bind /proc/self/mem "+file)
	p, err := b.daemon.Pass.Converge(t.Context(), d)
	if err != nil || p.Paused == nil || b.has("/etc/sysctl.d/99-netwright.conf") {
		t.Errorf("a pass that cannot know it: %+v, %v", p, err)
	}
	netns.Shell(t, "umount "+file+"; rm "+file)
	if p, err = b.daemon.Pass.Converge(t.Context(), d); err != nil || p.Paused != nil || !b.has("/etc/sysctl.d/99-netwright.conf") {
		t.Errorf("a pass of a node that is not paused: %+v, %v", p, err)
	}
}

// On a paused node the agent reports a key that cannot be made at each pass, as on any other node.
// The line that keeps it: pkg/reconcile/paused_pass.go, lookOnly (Failure).
func TestAPauseOfANodeThatFails(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{splay: 0s}", "one")
	heard := &listener{}
	b.daemon.Observers = []Observer{heard}
	b.live(t, func(t *testing.T) {
		if _, err := b.daemon.Pass.Session().Pause(t.Context(), time.Hour, "swapping the uplink"); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(b.root, "etc/motd")); err != nil {
			t.Fatal(err)
		}
		hostroot.Put(t, b.root, "/etc/motd/other", "a directory stands there")
		later(11 * time.Minute)
		if s := heard.last(); s.State != report.NodeFailing || s.Paused == nil || !strings.Contains(s.Reason, "/etc/motd") {
			t.Errorf("the status: %s, %q, %+v", s.State, s.Reason, s.Paused)
		}
		if last := b.manager.last(t).text; !strings.Contains(last, "1 failed: ") || !strings.Contains(last, "swapping the uplink") {
			t.Errorf("systemd is told %q", last)
		}
	})
}

// A certificate comes due for renewal while the node is paused. That does not cause a pass each
// second. The line that keeps it: pkg/daemon/loop.go, nextMoment.
func TestARenewalWaitsForTheEndOfAPause(t *testing.T) {
	d, end := &desired.State{LookAgain: time.Now().Add(-time.Minute)}, time.Now().Add(time.Hour)
	for name, p := range map[string]*report.Plan{
		"paused": {Paused: &report.Paused{Until: end}}, "awaits its confirmation": {Awaits: &report.Awaits{Until: end}},
	} {
		if at := nextMoment(reconcile.Pass{}, d, p); !at.Equal(end) {
			t.Errorf("%s: the next pass is in %s", name, time.Until(at))
		}
	}
	if at := nextMoment(reconcile.Pass{}, d, &report.Plan{}); time.Until(at) > time.Minute {
		t.Errorf("else the next pass is in %s", time.Until(at))
	}
}
