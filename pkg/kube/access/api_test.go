package access

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/kube"
)

// If the agent's own kubeconfig is absent, the agent uses kubelet's, and its errors are reported.
// Without both, the node counts as one that has not joined yet.
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

// During an outage the error does not advise to give the agent's own account rights of kubelet's.
// Without an outage the refusals are all that there is to say. What both identities are answered is
// said once. The lines that keep it: api.go, withoutRefusals.
func TestAnOutageIsNoRefusal(t *testing.T) {
	kubelets, own := http.StatusServiceUnavailable, http.StatusForbidden
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		code := own
		if r.Header.Get("Authorization") == "Bearer kubelet" {
			code = kubelets
		}
		w.WriteHeader(code)
	}))
	defer server.Close()
	dir := t.TempDir()
	a := &API{Kubeconfig: writeKubeconfig(t, dir, "own", server.URL)}
	facts := &host.Facts{}
	facts.Kubelet.Kubeconfig = writeKubeconfig(t, dir, "kubelet", server.URL)
	a.Met(facts)
	for _, refused := range []bool{false, true} {
		if refused {
			kubelets = http.StatusForbidden
		}
		_, read := a.Node(t.Context(), facts, "n")
		written := a.Own(t.Context(), func(c *kube.Client) error { return c.Annotate(t.Context(), "n", "a", "b") })
		for _, err := range []error{read, written} {
			if graph.IsTransient(err) == refused || errors.Is(err, fs.ErrPermission) != refused {
				t.Errorf("kubelet's is refused: %t: %v", refused, err)
			}
		}
	}
	kubelets, own = http.StatusNotFound, http.StatusNotFound
	if _, err := a.Node(t.Context(), facts, "n"); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "\n") {
		t.Errorf("both are told that there is no Node: %v", err)
	}
}

// A Node has the name that its kubelet is told, in kubelet's own form, as soon as a pass has found
// that name. The line that keeps it: api.go, NodeName
func TestNodeName(t *testing.T) {
	var a API
	for _, c := range []struct {
		flags []facts.FlagFact
		want  string
	}{
		{nil, "node-1"},
		{[]facts.FlagFact{{Name: "max-pods", Value: "29"}, {Name: "hostname-override", Value: " I-0fb5 "}}, "i-0fb5"},
		{[]facts.FlagFact{{Name: "hostname-override"}}, "node-1"},
	} {
		facts := &host.Facts{}
		facts.Kubelet.Flags = c.flags
		a.Met(facts)
		if got := a.NodeName("node-1"); got != c.want {
			t.Errorf("%v: %s, want %s", c.flags, got, c.want)
		}
	}
}
