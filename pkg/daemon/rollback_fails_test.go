package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
)

// A person allows a waiting configuration, and the pass for it ends with an error. Then the
// permission ends, and the configuration waits as before. The lines that keep it:
// pkg/reconcile/converge.go, takeAndConverge; pkg/reconcile/rollout/update.go, WaitAgain.
func TestAWordThatFailedIsTakenBack(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{auto: live, splay: 0s}", "one")
	b.live(t, func(t *testing.T) {
		publish(t, "{auto: live, splay: 0s}", "two")
		later(11 * time.Minute)
		waited := b.waits(t)
		if waited == nil || waited.LetGo != "" {
			t.Fatalf("it does not wait: %+v", waited)
		}
		d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		pass := b.daemon.Pass
		pass.TakeNow = "alice"
		pass.Hooks.OnPlan = func(*report.Plan) { // before the first change
			if now := b.waits(t); now == nil || now.LetGo != "alice" {
				t.Errorf("the approval is not recorded before the first change: %+v", now)
			}
			stop()
		}
		if _, err := pass.Converge(ctx, d); err == nil {
			t.Fatal("no error")
		}
		if now := b.waits(t); now == nil || *now != *waited {
			t.Errorf("it waits as %+v, and waited as %+v", now, waited)
		}
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" {
			t.Errorf("the daemon took what a command could not: %q", got)
		}
	})
}
