package access

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube"
)

// A kubeconfig of our own that is not there hides nothing of what kubelet's meets; without any it
// is as before the node has joined.
func TestWhoSpeaksForTheNode(t *testing.T) {
	dir := t.TempDir()
	a := &API{Kubeconfig: filepath.Join(dir, "own")}
	do := func(*kube.Client) error { return nil }
	if err := a.Own(t.Context(), do); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first pass: %v", err)
	}
	a.Met(&host.Facts{})
	if err := a.Own(t.Context(), do); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a kubeconfig: %v", err)
	}
	facts := &host.Facts{}
	facts.Kubelet.Kubeconfig = filepath.Join(dir, "kubelet")
	if err := os.WriteFile(facts.Kubelet.Kubeconfig, []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Met(facts)
	if err := a.Own(t.Context(), do); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with a broken one of kubelet's: %v", err)
	}
	facts.Kubelet.Kubeconfig = filepath.Join(dir, "not yet")
	a.Met(facts)
	if err := os.WriteFile(a.Kubeconfig, []byte("a: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := a.Own(t.Context(), do); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("with an own that does not help, and kubelet's on its way: %v", err)
	}
}
