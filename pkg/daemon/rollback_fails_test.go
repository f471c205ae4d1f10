package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/reconcile/desired"
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
		v := checkpoint.Verdict{Digest: d.Snapshot.Digest, Bad: true, Why: "tcp:x", Tries: 1, At: time.Now()}
		verdict, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		hostroot.Put(t, b.root, checkpoint.VerdictFile, string(verdict))
		pass := b.daemon.Pass
		pass.TakeNow = "alice"
		if _, err := pass.Converge(t.Context(), d); err == nil {
			t.Fatal("no error")
		}
		if err := os.Remove(filepath.Join(b.root, checkpoint.VerdictFile)); err != nil {
			t.Fatal(err)
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
