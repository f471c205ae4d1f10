package access

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// The names of the Nodes are read with the agent's own credentials, which allow it, and not again
// for each change.
func TestNamesOfNodesAreReadOnce(t *testing.T) {
	dir := t.TempDir()
	var asked []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization")+" "+r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
			"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}`)
	}))
	defer server.Close()
	a := &API{Kubeconfig: writeKubeconfig(t, dir, "own", server.URL)}
	if _, err := a.Peers().Names(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before the first pass: %v", err)
	}
	facts := &host.Facts{}
	facts.Kubelet.Kubeconfig = writeKubeconfig(t, dir, "kubelet", server.URL)
	a.Met(facts)
	reads := func(names []string, err error) {
		t.Helper()
		if err != nil || !slices.Equal(names, []string{"a", "b"}) {
			t.Errorf("names %v, error %v", names, err)
		}
	}
	reads(a.Separate().Names(t.Context())) // of agent --once, which knows no names
	reads(a.Peers().Names(t.Context()))
	reads(a.Separate().Names(t.Context())) // of a change of the daemon
	reads(a.Peers().Names(t.Context()))
	if want := slices.Repeat([]string{"Bearer own /api/v1/nodes"}, 3); !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// writeKubeconfig writes a kubeconfig whose token is the name of who has it, and returns its path.
func writeKubeconfig(t *testing.T, dir, who, server string) string {
	t.Helper()
	path := filepath.Join(dir, who)
	text := fmt.Sprintf("{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "+
		"clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}], users: [{name: u, user: {token: %s}}]}", server, who)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
