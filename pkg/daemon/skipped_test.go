package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/report"
)

// A conf that was right and is gone makes the node critical, also if the agent does not try to
// write it, since its directory cannot be made. The lines that keep it:
// pkg/reconcile/drift/drift.go, lost and FindMissing.
func TestAConfThatIsSkippedIsMissed(t *testing.T) {
	b := newBox(t)
	heard := &listener{}
	b.daemon.Observers = []Observer{heard}
	b.live(t, func(t *testing.T) {
		dir := filepath.Join(b.root, "etc/cni/net.d")
		if s := heard.last(); s.State != report.NodeConverged && s.State != report.NodeWaiting {
			t.Fatalf("the node is %s: %s", s.State, s.Reason)
		}
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		s := heard.last()
		if s.State != report.NodeCritical || !strings.Contains(s.Reason, "05-netwright-bridge.conflist") {
			t.Errorf("the node is %s: %s\n%+v", s.State, s.Reason, s.Keys)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		if s := heard.last(); s.State == report.NodeCritical {
			t.Errorf("the conf is there, and the node is %s: %s", s.State, s.Reason)
		}
	})
}
