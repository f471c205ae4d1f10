package e2e

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
)

// The real thin Multus gives a pod the cluster's network, by the conf that we write around ours,
// and the networks of its annotation. DEL removes both.
func TestPodsByMultus(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	spec := strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    multus: {mode: thin, writer: netwright, logLevel: error, delegates: [macvlan, static]}", 1)
	s := newStore(t, spec, nil)
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec+s.pluginSpec(t)))
	s.write(t, "nodes/node-1.yaml", goodNode("[10.244.1.0/24]"))
	fabric := node.NewFabric(t)
	n := fabric.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	api := attachments(t, fabric)

	// The DaemonSet of Multus does this on a node.
	n.Copy(assets.Multus(t), "/opt/cni/bin/multus", 0o755)
	n.Write("/etc/cni/net.d/multus.d/multus.kubeconfig", `{"apiVersion": "v1", "kind": "Config", "current-context": "it",
		"clusters": [{"name": "it", "cluster": {"server": "http://`+api.address+`"}}],
		"contexts": [{"name": "it", "context": {"cluster": "it"}}]}`, 0o600)
	n.Must(ctx, "netwright", "--once", "--wait", "1m")
	verified(ctx, t, n, 0, `containerd has loaded network "multus-cni-network" of 00-multus.conflist`)

	pod := n.AddPod(ctx, "pod", node.PodOptions{})
	if len(pod.Addresses) != 1 || !strings.HasPrefix(pod.Addresses[0].String(), "10.244.1.") {
		t.Errorf("the pod has the addresses %v, want one of the cluster's network", pod.Addresses)
	}
	pod.Ping(ctx, "10.244.1.1")
	if second := pod.Must(ctx, "ip", "-d", "addr", "show", "net1"); !strings.Contains(second, "192.0.2.5/24") || !strings.Contains(second, "macvlan") {
		t.Errorf("the link of the annotation is another:\n%s", second)
	}
	if status := api.status(); !strings.Contains(status, `"interface": "eth0"`) || !strings.Contains(status, "192.0.2.5") {
		t.Errorf("it tells the API of the pod's networks: %q", status)
	}
	if res := pod.Check(ctx); res.Code != 0 {
		t.Errorf("CHECK: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	lease := "/var/lib/cni/networks/netwright-bridge/" + pod.Addresses[0].String()
	n.Must(ctx, "test", "-e", lease)
	n.Must(ctx, "sh", "-c", "ls /var/lib/cni/multus/* | grep -q .")
	if said := n.Must(ctx, "netwright", "verify", "--traffic"); !strings.Contains(said, "packets between test pods cannot test this network: Multus asks the API for each pod") {
		t.Errorf("verify --traffic says:\n%s", said)
	}
	pod.Delete(ctx)
	n.Must(ctx, "sh", "-c", "test ! -e "+lease+" && ! ls /var/lib/cni/multus/* 2>/dev/null | grep .")
	nothingToDo(t, n)
}

// podAPI is an API with one pod, and one network beside the cluster's.
type podAPI struct {
	address string
	mu      sync.Mutex
	said    string
}

// status returns the last status of the pod: protobuf, which contains the annotation
// k8s.v1.cni.cncf.io/network-status as text.
func (a *podAPI) status() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.said
}

// attachments serves a podAPI on the fabric. Its pod requests a macvlan on the node's own link.
// https://github.com/k8snetworkplumbingwg/multi-net-spec
func attachments(t *testing.T, fabric *node.Fabric) *podAPI {
	t.Helper()
	var l net.Listener
	err := fabric.Do(func() (err error) {
		l, err = net.Listen("tcp4", node.Gateway4+":0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	api := &podAPI{address: l.Addr().String()}
	answer := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write(text(t, v))
		}
	}
	metadata := func(name string, annotations map[string]string) map[string]any {
		return map[string]any{"name": name, "namespace": "default", "annotations": annotations}
	}
	pod := answer(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata("pod", map[string]string{"k8s.v1.cni.cncf.io/networks": "beside"})})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/default/pods/pod", pod)
	mux.HandleFunc("GET /apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions/beside", answer(map[string]any{
		"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition", "metadata": metadata("beside", nil),
		"spec": map[string]any{"config": `{"cniVersion": "1.0.0", "name": "beside", "type": "macvlan", "master": "host0", "mode": "bridge", "ipam": {"type": "static", "addresses": [{"address": "192.0.2.5/24"}]}}`}}))
	mux.HandleFunc("PUT /api/v1/namespaces/default/pods/pod/status", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		api.mu.Lock()
		api.said = string(body)
		api.mu.Unlock()
		pod(w, r)
	})
	server := &http.Server{Handler: mux}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return api
}
