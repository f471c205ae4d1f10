package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// The real kube-proxy serves services in both of its modes. A service whose backend is on the
// client's own bridge needs net.bridge.bridge-nf-call-iptables, which the agent keeps. Without it
// the answer returns over the bridge, and no rule puts the service's address into it.
func TestKubernetesKubeletServices(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	k := newKubelets(t, "    bridge: {}\n")
	k.ready()
	first, second := k.nodes[0], k.nodes[1]
	k.pod("client", first, "")
	k.pod("near", first, ", hostPort: 30080")
	k.pod("far", second, "")
	client, near, far := k.address("default", "client"), k.address("default", "near"), k.address("default", "far")
	k.service("near", "10.96.0.50", near, first)
	k.service("far", "10.96.0.51", far, second)
	answers := func(pod, url, want string) {
		t.Helper()
		if got := k.answer(first, pod, url); got != want {
			t.Errorf("pod %s asks %s: %q, want %q", pod, url, got, want)
		}
	}
	if got, ok := k.get(first, "client", "http://10.96.0.50/"); ok {
		t.Fatalf("a service answers without a kube-proxy: %s", got)
	}
	for _, c := range []struct{ mode, rules string }{
		{"iptables", "iptables-save -t nat | grep -q KUBE-SVC && ! nft list table ip kube-proxy"},
		{"nftables", "nft list table ip kube-proxy && ! iptables-save | grep -q KUBE-SVC"}, // the other rules are removed
	} {
		t.Run(c.mode, func(t *testing.T) {
			k.proxy(c.mode)
			until(t, first, "the rules are of mode "+c.mode, c.rules)
			if c.mode == "iptables" {
				k.dns(second)
			}
			answers("client", "http://10.96.0.50/", fmt.Sprint("near ", client))
			answers("client", "http://10.96.0.51/", fmt.Sprint("far ", client))
			answers("near", "http://10.96.0.50/", "near 10.244.1.1") // the pod asks itself: hairpin

			answers("client", "http://near/", fmt.Sprint("near ", client))
			answers("client", "http://far.default.svc.cluster.local/", fmt.Sprint("far ", client))
			k.right(t, "10.96.0.50:80", "10.96.0.51:80")
			k.broken(t, c.mode, "10.96.0.50:80")

			first.Shell(ctx, "systemctl stop netwright-agent; sysctl -qw net.bridge.bridge-nf-call-iptables=0")
			if got, ok := k.get(first, "client", "http://10.96.0.50/"); ok || !strings.Contains(got, "deadline exceeded") {
				t.Errorf("a service on the client's bridge answers without bridge-nf-call-iptables: %s", got)
			}
			const says = "net.bridge.bridge-nf-call-iptables is 0"
			wrong(t, first, map[string]string{"pod to service": says, "service 10.96.0.50:80": says}, "--traffic", "--service", "10.96.0.50:80", "--service", "10.96.0.51:80")
			answers("client", "http://10.96.0.51/", fmt.Sprint("far ", client)) // the two ends are on different bridges
			first.Must(ctx, "systemctl", "start", "netwright-agent")
			answers("client", "http://10.96.0.50/", fmt.Sprint("near ", client))
		})
	}

	t.Run("hostPort", func(t *testing.T) {
		if got, want := k.outside("http://"+first.Address()+":30080/"), "near "+node.Gateway4; got != want {
			t.Errorf("from outside: %q, want %q", got, want)
		}
	})
	t.Run("told", func(t *testing.T) {
		told(k.Server, first.Name(), "True Converged")
		first.Must(ctx, "sysctl", "-qw", "net.bridge.bridge-nf-call-iptables=0")
		k.wait("an Event says that the sysctl was repaired", func() bool {
			return strings.Contains(k.Must("GET", "/api/v1/namespaces/default/events?fieldSelector=reason%3DNetworkRepaired", ""), "bridge-nf-call-iptables")
		})
		answers("client", "http://10.96.0.50/", fmt.Sprint("near ", client))
		if status := first.Must(ctx, "netwright", "status"); !strings.Contains(status, "converged") {
			t.Errorf("agent status: %s", status)
		}
	})
}

// answer requests a URL from within a pod until an answer comes. Rules and names take effect a
// moment after they are written.
func (k *kubelets) answer(n *node.Node, pod, url string) (answer string) {
	k.t.Helper()
	k.wait("pod "+pod+" has an answer from "+url, func() (ok bool) {
		answer, ok = k.get(n, pod, url)
		return ok
	})
	return answer
}

// service makes a service whose only backend is port 8080 of a pod.
func (k *kubelets) service(name, address string, backend netip.Addr, on *node.Node) {
	k.t.Helper()
	k.serve("default", name, "clusterIP: "+address+"\n  ports: [{name: http, port: 80, targetPort: 8080}]", backend, on.Name(), "{name: http, port: 8080}")
}

// serve makes a service, and the EndpointSlice that its controller would make. In mode nftables
// kube-proxy uses the slice's node to find a pod that asks itself.
func (k *kubelets) serve(namespace, name, spec string, backend netip.Addr, on, ports string) {
	k.t.Helper()
	if spec != "" {
		k.Apply(fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n  namespace: %s\nspec:\n  %s\n", name, namespace, spec))
	}
	k.Apply(fmt.Sprintf("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: %s\n  namespace: %s\n  labels: {kubernetes.io/service-name: %s}\n"+
		"addressType: IPv4\nendpoints: [{addresses: [%s], nodeName: %q, conditions: {ready: true}}]\nports: [%s]\n", name, namespace, name, backend, on, ports))
}

// proxy runs kube-proxy on the nodes, as its DaemonSet does, and ends the one before. It sets no
// limits of connections, since they belong to this machine.
func (k *kubelets) proxy(mode string) {
	k.t.Helper()
	ctx := k.t.Context()
	for _, n := range k.nodes {
		n.Run(ctx, "systemctl", "stop", "kube-proxy")
		n.Write("/etc/kubernetes/proxy.kubeconfig", k.Kubeconfig(k.Endpoint, k.Authority.Client("system:kube-proxy")), 0o600)
		n.Write("/etc/kubernetes/proxy.yaml", `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: `+mode+`
clusterCIDR: 10.244.0.0/16
clientConnection: {kubeconfig: /etc/kubernetes/proxy.kubeconfig}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`, 0o644)
		n.Start(ctx, "kube-proxy", "/usr/local/bin/kube-proxy", "--config=/etc/kubernetes/proxy.yaml")
	}
}

// outside requests a URL from beyond the nodes.
func (k *kubelets) outside(url string) string {
	k.t.Helper()
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(_ context.Context, _, at string) (conn net.Conn, err error) {
		err = k.fabric.Do(func() error {
			conn, err = net.Dial("tcp4", at)
			return err
		})
		return conn, err
	}}}
	answer, err := client.Get(url)
	if err != nil {
		k.t.Fatalf("asking from outside: %v", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		k.t.Fatalf("asking from outside: %v", err)
	}
	return strings.TrimSpace(string(body))
}
