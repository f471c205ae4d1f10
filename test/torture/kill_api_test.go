package torture

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/trap"
)

// nodesAPI is the part of a Kubernetes API server that a node needs: the Node node-1, which can be
// read, listed and changed. The real server is in test/kubernetes.
type nodesAPI struct {
	mu            sync.Mutex
	gone          bool
	cidr          string
	unschedulable bool
	annotations   map[string]string
	version       int
	cordons       int // how often the Node became unschedulable
}

// serveAPI serves beyond the nodes' default route until the test ends. It returns a kubeconfig for
// the API.
func serveAPI(t testing.TB, f *node.Fabric) (api *nodesAPI, kubeconfig string) {
	t.Helper()
	var listener net.Listener
	err := f.Do(func() (err error) {
		listener, err = net.Listen("tcp", node.Gateway4+":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	api = &nodesAPI{}
	api.reset()
	server := &http.Server{Handler: api}
	go func() { _ = server.Serve(listener) }() // ends with Close
	t.Cleanup(func() { server.Close() })
	return api, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
  "clusters": [{"name": "k", "cluster": {"server": "http://%s"}}], "users": [{"name": "u", "user": {"token": "t"}}]}`, listener.Addr())
}

// reset makes the Node as it was before the agent ever ran.
func (a *nodesAPI) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone, a.cidr, a.unschedulable, a.annotations = false, "10.244.1.0/24", false, map[string]string{}
}

// away makes the server fail, or answer again.
func (a *nodesAPI) away(gone bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone = gone
}

// cordoned says whether the Node is unschedulable, and whether it has a mark of ours.
func (a *nodesAPI) cordoned() (cordoned, marked bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unschedulable, len(a.annotations) > 0
}

func (a *nodesAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/v1/nodes"), "/")
	w.Header().Set("Content-Type", "application/json")
	switch {
	case a.gone:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "code": 500, "reason": "InternalError"}`)
		return
	case name != "" && name != "node-1":
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "code": 404, "reason": "NotFound"}`)
		return
	case r.Method == http.MethodPatch:
		a.patch(r.Body)
	}
	object := map[string]any{
		"kind": "Node", "apiVersion": "v1", "metadata": map[string]any{"name": "node-1", "annotations": a.annotations, "resourceVersion": fmt.Sprint(a.version)},
		"spec":   map[string]any{"podCIDRs": []string{a.cidr}, "unschedulable": a.unschedulable},
		"status": map[string]any{"addresses": []any{map[string]string{"type": "InternalIP", "address": "10.77.0.11"}}},
	}
	if name == "" {
		object = map[string]any{"kind": "NodeList", "apiVersion": "v1", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{object}}
	}
	_ = json.NewEncoder(w).Encode(object) // the client may be gone
}

// patch merges a change into the Node. https://www.rfc-editor.org/rfc/rfc7386
func (a *nodesAPI) patch(body io.Reader) {
	var change struct {
		Spec     struct{ Unschedulable *bool }
		Metadata struct{ Annotations map[string]*string }
	}
	if json.NewDecoder(body).Decode(&change) != nil {
		return
	}
	if change.Spec.Unschedulable != nil && *change.Spec.Unschedulable {
		a.cordons++
	}
	a.unschedulable = change.Spec.Unschedulable != nil && *change.Spec.Unschedulable
	for key, value := range change.Metadata.Annotations {
		if delete(a.annotations, key); value != nil {
			a.annotations[key] = *value
		}
	}
	a.version++
}

const ownKubeconfig = "/etc/netwright/kubeconfig"

// The agent is killed while it learns its pod CIDR from the Kubernetes API. At the next start the
// API does not answer. The node then either has its network by the recorded answer, or waits for
// the API and has no part of the network. When the API answers, the node has its network, and needs
// the API no more.
//
// What keeps it: pkg/ledger/api_cache.go SaveAPICache (one rename), pkg/reconcile/carry_out.go
// converge: Save (before the first change).
func TestKilledWhileLearning(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := newBench(t)
	api, kubeconfig := serveAPI(t, b.f)
	docs := nodeDocuments(t, "v1", baseSpec+"  networking:\n    bridge: {}\n")
	docs["nodes/node-1.yaml"] = document("Node", "node-1", "  nodeGroup: nodes\n  address: 10.77.0.11\n")
	delete(docs, "nodes/node-2.yaml")
	b.put(docs)
	b.shell(t, "rm -f /srv/netwright/"+cluster+"/nodes/node-2.yaml")
	begin := func() {
		b.wipe(t)
		b.n.Write(ownKubeconfig, kubeconfig, 0o600)
		api.away(false)
	}
	begin()
	o := b.run(t, nil, pass)
	const conf = "/etc/cni/net.d/05-netwright-bridge.conflist"
	after := b.tree(t)
	if o.Code != 0 || after[conf] == "" {
		t.Fatalf("undisturbed: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	tried, lost, known := 0, 0, 0
	for _, n := range points(o.Calls, "learnt.json") {
		begin()
		killed := b.run(t, nil, func(c trap.Call) trap.Decision { return trap.Decision{Kill: c.N == n} })
		if !killed.Killed {
			continue
		}
		tried++
		var broken []string
		api.away(true)
		_, learnt := b.tree(t)["/var/lib/netwright/learnt.json"]
		o := b.run(t, nil, pass)
		now := b.tree(t)
		switch said := o.Stdout + o.Stderr; {
		case strings.Contains(said, "the agent writes them again"):
			broken = append(broken, "what was learnt is damaged:\n"+said)
		case learnt && len(differs(now, after)) > 0:
			broken = append(broken, fmt.Sprintf("it was learnt, and without the API: %q\n%s", differs(now, after), said))
		case !learnt && now[conf] != "":
			broken = append(broken, "nobody knows the pods' range, and there is a conf:\n"+said)
		case learnt:
			known++
		}
		for _, gone := range []bool{false, true} {
			api.away(gone)
			if o := b.run(t, nil, pass); o.Code != 0 {
				broken = append(broken, fmt.Sprintf("the API away %t: exit %d\n%s%s", gone, o.Code, o.Stdout, o.Stderr))
			}
			broken = append(broken, differs(b.tree(t), after)...)
		}
		if len(broken) > 0 {
			lost++
			t.Errorf("killed at call %d of %d, %v:\n%s", n, len(killed.Calls), killed.Calls[len(killed.Calls)-1], strings.Join(broken, "\n"))
		}
	}
	report(t, "kill: pods' range learnt", tried, lost, "of %d calls; known without the API after %d", len(o.Calls), known)
}

// The agent is killed in a switch of networks for which it cordons the node. In the end the node
// takes pods again, but stays cordoned if a person had cordoned it.
//
// What keeps it: pkg/reconcile/rollout/cordon.go Cordon (SaveAPICache before the API is asked),
// Uncordon; pkg/kube/nodes.go Cordon, Uncordon.
func TestKilledWhileCordoned(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := newBench(t)
	api, kubeconfig := serveAPI(t, b.f)
	for _, s := range ways(t) {
		if s.name != "switch" {
			continue
		}
		for _, theirs := range []bool{false, true} {
			s.begin = func(b *bench, _ testing.TB) {
				b.n.Write(ownKubeconfig, kubeconfig, 0o600)
				api.reset()
				api.mu.Lock()
				defer api.mu.Unlock()
				api.unschedulable = theirs
			}
			s.ready = func(*bench, testing.TB) string {
				if cordoned, marked := api.cordoned(); cordoned != theirs || marked {
					return fmt.Sprintf("the node is cordoned: %t, marked as ours: %t; a person had cordoned it: %t", cordoned, marked, theirs)
				}
				return ""
			}
			s.name, s.after = fmt.Sprintf("switch, cordoned by a person %t", theirs), "learnt.json"
			t.Run(s.name, func(t *testing.T) { b.kill(t, s) })
			if api.cordons > 0 == theirs {
				t.Errorf("%s: the Node was cordoned %d times", s.name, api.cordons)
			}
			api.cordons = 0
		}
	}
}
