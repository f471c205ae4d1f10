package daemon

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/test/netns"
)

// nodesAPI serves the API's Nodes that a test wants. The tests of test/kubernetes use the real
// server.
type nodesAPI struct {
	mu      sync.Mutex
	nodes   map[string]string // spec by name
	refuses bool              // to list Nodes
	gone    bool
}

func (a *nodesAPI) set(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
}

func (a *nodesAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	object := func(name string) map[string]any {
		return map[string]any{"kind": "Node", "apiVersion": "v1", "metadata": map[string]any{"name": name}, "spec": json.RawMessage(a.nodes[name]),
			"status": map[string]any{"addresses": []any{map[string]string{"type": "InternalIP", "address": "10.0.0." + strings.TrimPrefix(name, "n")}}}}
	}
	name := strings.TrimPrefix(r.URL.Path, "/api/v1/nodes")
	_, known := a.nodes[strings.TrimPrefix(name, "/")]
	var code int
	switch {
	case a.gone:
		code = http.StatusInternalServerError
	case name == "" && a.refuses:
		code = http.StatusForbidden
	case name != "" && !known:
		code = http.StatusNotFound
	case name == "":
		var items []any
		for _, n := range slices.Sorted(maps.Keys(a.nodes)) {
			items = append(items, object(n))
		}
		json.NewEncoder(w).Encode(map[string]any{"kind": "NodeList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": items})
		return
	default:
		json.NewEncoder(w).Encode(object(strings.TrimPrefix(name, "/")))
		return
	}
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "code": %d, "reason": %q}`, code, map[int]string{403: "Forbidden", 404: "NotFound", 500: "InternalError"}[code])
}

func (a *nodesAPI) kubeconfig(t *testing.T) string {
	t.Helper()
	s := httptest.NewTLSServer(a)
	t.Cleanup(s.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": []any{map[string]any{"name": "c", "context": map[string]string{"cluster": "k", "user": "u"}}},
		"clusters": []any{map[string]any{"name": "k", "cluster": map[string]any{"server": s.URL, "certificate-authority-data": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})}}},
		"users":    []any{map[string]any{"name": "u", "user": map[string]string{"token": "secret"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// While the agent cannot read the API's recorded answer, it makes no pass, since without the answer
// peers would count as gone. It keeps that answer. The lines that keep it:
// pkg/reconcile/discover/discover.go, Discover (Unread); pkg/reconcile/plan.go, target.
func TestWhatTheAPISaidIsNotForgottenUnread(t *testing.T) {
	if !netns.Alone(t) {
		return
	}
	b := newBox(t)
	api := &nodesAPI{gone: true}
	b.daemon.Pass.API = &access.API{Kubeconfig: api.kubeconfig(t)}
	b.document(t, b.plugins(t, "plugins.tar", "")+"  podCIDR: 100.96.0.0/12\n")
	b.write(t, "nodes/n.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: n}\nspec: {}\n")
	d, err := desired.Load(t.Context(), b.daemon.Store, config.Select{Node: "n1"}, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	const said = `{"node": "n1", "podCIDRs": ["100.96.1.0/24"], "cordoned": true, "judged": true}`
	file := filepath.Join(b.root, "var/lib/netwright/learnt.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(said), 0o600); err != nil {
		t.Fatal(err)
	}
	netns.Shell(t, "mount --bind /proc/self/mem "+file) // the memory of a process that has ended
	if _, err := b.daemon.Pass.Converge(t.Context(), d); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("a pass: %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.root, "etc/sysctl.d/99-netwright.conf")); err == nil {
		t.Error("something was made without it")
	}
	netns.Shell(t, "umount "+file)
	if _, err := b.daemon.Pass.Converge(t.Context(), d); err != nil {
		t.Errorf("a pass that can read it: %v", err)
	}
	if left, err := os.ReadFile(file); err != nil || string(left) != said {
		t.Errorf("left: %q, %v", left, err)
	}
}

// The API's answer stays valid while the API is gone, and after the agent has lost everything
// except its ledger.
func TestDiscoveredIsRemembered(t *testing.T) {
	const n1, n2, n3 = `{"podCIDRs": ["100.96.1.0/24"]}`, `{"podCIDRs": ["100.96.2.0/24"]}`, `{"podCIDRs": ["100.96.3.0/24"]}`
	const one, both = "n2 100.96.2.0/24 10.0.0.2", "n2 100.96.2.0/24 10.0.0.2 n3 100.96.3.0/24 10.0.0.3"
	b := newBox(t)
	api := &nodesAPI{}
	pass := reconcile.Pass{API: &access.API{Kubeconfig: api.kubeconfig(t)}}
	b.document(t, b.plugins(t, "plugins.tar", "")+"  podCIDR: 100.96.0.0/12\n") // no document covers a peer here
	b.write(t, "nodes/n.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: n}\nspec: {}\n")
	d, err := desired.Load(t.Context(), b.daemon.Store, config.Select{Node: "n1"}, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	files, err := host.Open(t.Context(), host.Options{Root: b.root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for _, step := range []struct {
		name    string
		change  func()
		own     string
		peers   string
		missing string // why there are no peers
		note    string
	}{
		{"no Node yet", func() {}, "[]", "", "there is no Node n1 yet", ""},
		{"a Node without ranges", func() { api.nodes = map[string]string{"n1": "{}", "n2": "{}"} }, "[]", "", "--allocate-node-cidrs", ""},
		{"the others may not be read", func() { api.nodes["n1"], api.refuses = n1, true }, "[100.96.1.0/24]", "", `resources: ["nodes"], verbs: ["list"]`, "the Kubernetes API does not give the other nodes' pod CIDRs"},
		{"all is there", func() { api.nodes["n2"], api.nodes["n3"], api.refuses = n2, n3, false }, "[100.96.1.0/24]", both, "", ""},
		{"the API is gone", func() { api.gone = true }, "[100.96.1.0/24]", both, "look at the API server and its etcd", "the agent uses the answer of "},
		{"it is back, a node went", func() { api.gone = false; delete(api.nodes, "n3") }, "[100.96.1.0/24]", one, "", ""},
		{"our own Node went", func() { delete(api.nodes, "n1") }, "[100.96.1.0/24]", one, "restart kubelet", "the agent uses the answer of "},
	} {
		api.set(step.change)
		looked := pass
		looked.CacheOnly, looked.Answers = true, pass.Sources().Ask(t.Context(), []*config.Node{d.Node})
		if found, _, _, err := looked.Sources().Discover(t.Context(), d, files.Live.View()); err != nil || step.own == "[]" && !strings.Contains(found.NoPodCIDRs, step.missing) {
			t.Errorf("%s: a pass between looks misses it because of %q, %v; want %q", step.name, found.NoPodCIDRs, err, step.missing)
		}
		found, learnt, notes, err := pass.Sources().Discover(t.Context(), d, files.Live.View())
		if err != nil {
			t.Fatal(err)
		}
		var peers []string
		for _, p := range found.Peers {
			peers = append(peers, p.Name, fmt.Sprint(p.PodCIDRs), p.Address.String())
		}
		if got := fmt.Sprint(found.PodCIDRs); got != step.own || strings.Join(peers, " ") != step.peers {
			t.Errorf("%s: %s, %q; want %s, %q", step.name, got, peers, step.own, step.peers)
		}
		if !strings.Contains(found.NoPodCIDRs, step.missing) || (step.missing == "") != (found.NoPodCIDRs == "") {
			t.Errorf("%s: missing because of %q, want %q", step.name, found.NoPodCIDRs, step.missing)
		}
		if said := fmt.Sprint(notes); !strings.Contains(said, step.note) || (step.note == "") != (len(notes) == 0) {
			t.Errorf("%s: notes %s, want %q", step.name, said, step.note)
		}
		if err := ledger.SaveAPICache(t.Context(), files.Files, learnt); err != nil {
			t.Fatal(err)
		}
	}
	known := d.Cached(files.Live.Files)
	if fmt.Sprint(known.PodCIDRs) != "[100.96.1.0/24]" || len(known.Peers) != 1 {
		t.Errorf("known without the API: %+v", known)
	}
	d.Node.Name = "n9" // the host has another name, and the answer is about another node
	if known := d.Cached(files.Live.Files); len(known.PodCIDRs) > 0 {
		t.Errorf("taken over from another node: %+v", known)
	}
}
