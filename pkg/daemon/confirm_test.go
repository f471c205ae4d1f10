package daemon

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/hostroot"
)

// A change that nobody confirmed waits, and the agent repairs what is in force. A person's earlier
// permission for that change is no longer valid. The line that keeps it:
// pkg/reconcile/rollout/update.go, Take (Unconfirmed).
func TestWhatNobodyConfirmedIsNotTakenByItself(t *testing.T) {
	b, publish := fleetNode(t)
	publish(t, "{splay: 0s}", "one")
	b.live(t, func(t *testing.T) {
		publish(t, "{splay: 0s}", "two")
		d, err := desired.Load(t.Context(), b.daemon.Store, b.daemon.Select, statestore.Revision{})
		if err != nil {
			t.Fatal(err)
		}
		v := checkpoint.Verdict{Digest: d.Snapshot.Digest, Bad: true, Unconfirmed: true, Why: "nobody confirmed it within 2m0s", Tries: 1, At: time.Now()}
		verdict, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		hostroot.Put(t, b.root, checkpoint.VerdictFile, string(verdict))
		hostroot.Put(t, b.root, "/etc/motd", "somebody's")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/motd"); got != "one" || b.logged("right again") != 0 {
			t.Errorf("what is in force is not kept right: %q", got)
		}
		if text := b.manager.last(t).text; !waitsUnnumbered(text) {
			t.Errorf("the status is %q", text)
		}
		pass := b.daemon.Pass
		pass.TakeNow = "alice"
		if _, err := pass.Converge(t.Context(), d); err != nil || hostroot.Read(t, b.root, "/etc/motd") != "two" {
			t.Errorf("a person's command does not apply the change: %v, %q", err, hostroot.Read(t, b.root, "/etc/motd"))
		}
	})
}
