package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// verifies runs `agent verify` and returns its checks.
func verifies(t *testing.T, n *node.Node, args ...string) (out proofOf, code int) {
	t.Helper()
	res := n.Run(t.Context(), "netwright", append([]string{"verify", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(res.Stdout), &out); err != nil {
		t.Fatalf("%s: verify %q: exit %d, %v\n%s%s", n.Name(), args, res.Code, err, res.Stdout, res.Stderr)
	}
	return out, res.Code
}

// right has verify send packets from each node to the other node and to services, with the real
// kubelet, containerd, kube-proxy and CoreDNS. Every check succeeds, and nothing is left behind.
func (k *kubelets) right(t *testing.T, services ...string) {
	t.Helper()
	for i, n := range k.nodes {
		to := k.nodes[1-i]
		answers(t.Context(), t, to)
		before := traces(t.Context(), n)
		args := []string{"--traffic", "--peer", to.Address() + ":10790"}
		for _, s := range services {
			args = append(args, "--service", s)
		}
		out, code := verifies(t, n, args...)
		well := map[string]string{}
		for _, c := range out.Checks {
			if c.State != "ok" {
				t.Errorf("%s: got %+v", n.Name(), c)
			}
			well[c.Check] = c.Seen
		}
		for check, says := range map[string]string{"runtime": "containerd has loaded network", "directories": "/etc/cni/net.d", "kube-proxy": "says 200 OK", "cluster DNS": "10.96.0.10 answers",
			"pods in the log": "containerd has added ", "pod to cluster DNS": "10.96.0.10 answers", "service " + services[0]: "a pod reaches it", "pod to pod of another node": to.Name()} {
			if !strings.Contains(well[check], says) {
				t.Errorf("%s: %s: %q, want %q", n.Name(), check, well[check], says)
			}
		}
		if after := traces(t.Context(), n); code != 0 || after != before {
			t.Errorf("%s: exit %d; left behind:\n%s\nbefore:\n%s", n.Name(), code, after, before)
		}
		to.Must(t.Context(), "systemctl", "stop", "endpoint")
	}
}

// wrong checks that verify reports these failed checks, and no others. Each has these words.
func wrong(t *testing.T, n *node.Node, failed map[string]string, args ...string) {
	t.Helper()
	out, code := verifies(t, n, args...)
	var got []string
	for _, c := range out.Checks {
		if c.State == "ok" || c.State == "not here" {
			continue
		}
		if says, want := failed[c.Check]; !want || c.State != "failed" || !strings.Contains(c.Seen+" → "+c.Next, says) {
			t.Errorf("%+v, want %q", c, says)
		}
		got = append(got, c.Check)
	}
	if code != 1 || len(got) != len(failed) {
		t.Errorf("exit %d, want 1; failed: %q, want %q; of %+v", code, slices.Sorted(slices.Values(got)), failed, out.Checks)
	}
}

// broken breaks what a service needs, one thing at a time, in a mode of kube-proxy. verify names
// each.
func (k *kubelets) broken(t *testing.T, mode, service string) {
	t.Helper()
	ctx := t.Context()
	first, second := k.nodes[0], k.nodes[1]
	// kube-proxy writes the filter table first. Until it has also written nat, packets for CoreDNS
	// still reach it. An iptables-save that fails proves nothing.
	refusal, rules := `{ iptables-save -t filter | grep -q 'kube-system/kube-dns:dns has no endpoints' && nat=$(iptables-save -t nat) && ! echo "$nat" | grep -q 'kube-system/kube-dns:dns cluster IP'; }`, "KUBE-SVC"
	if mode == "nftables" {
		refusal, rules = `nft list map ip kube-proxy no-endpoint-services | grep -q '10\.96\.0\.10 '`, "table ip kube-proxy"
	}
	t.Run("no endpoints", func(t *testing.T) {
		ready := k.Must("GET", dnsEndpoints, "")
		k.Must("PATCH", dnsEndpoints, `{"endpoints": []}`)
		until(t, first, "kube-proxy refuses what is for CoreDNS", refusal)
		wrong(t, first, map[string]string{"cluster DNS": "without a ready endpoint", "pod to cluster DNS": "without a ready endpoint"}, "--traffic", "--service", service)
		var slice struct{ Endpoints json.RawMessage }
		if err := json.Unmarshal([]byte(ready), &slice); err != nil {
			t.Fatal(err)
		}
		k.Must("PATCH", dnsEndpoints, `{"endpoints": `+string(slice.Endpoints)+`}`)
		until(t, first, "kube-proxy refuses it no more", "! "+refusal)
	})
	t.Run("CoreDNS hangs", func(t *testing.T) {
		second.Must(ctx, "pkill", "-STOP", "-f", "^/entry -conf")
		wrong(t, first, map[string]string{"cluster DNS": "check whether its pods run (`kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide`); kube-proxy is healthy here", "pod to cluster DNS": "no answer"}, "--traffic", "--service", service)
		second.Must(ctx, "pkill", "-CONT", "-f", "^/entry -conf")
	})
	t.Run("no kube-proxy", func(t *testing.T) {
		first.Shell(ctx, "systemctl stop kube-proxy; kube-proxy --cleanup --config=/etc/kubernetes/proxy.yaml; ! { iptables-save; nft list tables; } | grep -q '"+rules+"'")
		wrong(t, first, map[string]string{"cluster DNS": "kube-proxy does not answer here", "pod to cluster DNS": "does kube-proxy run here?", "service " + service: "does kube-proxy run here"}, "--traffic", "--service", service)
		k.proxy(mode)
		until(t, first, "the rules are there again", "{ iptables-save; nft list tables; } | grep -q '"+rules+"'")
	})
}

// dnsEndpoints is the path of the EndpointSlice of [kubelets.dns].
const dnsEndpoints = "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices/kube-dns"
