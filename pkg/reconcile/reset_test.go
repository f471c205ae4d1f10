package reconcile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/hostroot"
)

// A reset that waits for pods has not ended. The ledger stays, so that the next reset knows what is
// left. The line that keeps it: pkg/reset/reset.go, Run (Waiting).
func TestAResetThatWaitsForgetsNothing(t *testing.T) {
	root := t.TempDir()
	conf := file("/etc/cni/net.d/10-x.conflist", `{"name":"x","plugins":[{"type":"bridge"}]}`)
	mustConverge(t, root, conf)
	hostroot.Put(t, root, "/var/lib/cni/results/x-pod-eth0", "{}")
	p, err := resetOf(onRoot(root)).Run(t.Context())
	if err != nil || p.Summary.Waiting == 0 || !hostroot.There(root, conf.Path) || !hostroot.There(root, "/var/lib/netwright/journal") {
		t.Fatalf("%v; the conf is there: %v\n%s", err, hostroot.There(root, conf.Path), said(p))
	}
	if err := os.Remove(filepath.Join(root, "var/lib/cni/results/x-pod-eth0")); err != nil {
		t.Fatal(err)
	}
	if p, err := resetOf(onRoot(root)).Run(t.Context()); err != nil || hostroot.There(root, conf.Path) || hostroot.There(root, "/var/lib/netwright") {
		t.Errorf("%v\n%s", err, said(p))
	}
}

// The conf from before the agent may be of a network that the pods no longer have. A reset does not
// restore it, and says so. The line that keeps it: pkg/reset/decide.go, decideRestoration.
func TestAResetBringsNoConfBack(t *testing.T) {
	root := t.TempDir()
	conf := file("/etc/cni/net.d/10-x.conflist", `{"name":"x","plugins":[{"type":"bridge"}]}`)
	hostroot.Put(t, root, conf.Path, `{"name":"theirs","plugins":[{"type":"ptp"}]}`)
	mustConverge(t, root, conf)
	p, err := resetOf(onRoot(root)).Run(t.Context())
	if err != nil || hostroot.Read(t, root, conf.Path) != string(conf.Content) || !strings.Contains(said(p), "may no longer fit the pods") {
		t.Errorf("%v; the conf is %q\n%s", err, hostroot.Read(t, root, conf.Path), said(p))
	}
}
