package probe

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/test/netns"
)

// twoGateways makes a node with default routes over two gateways.
func twoGateways(t *testing.T) (h *host.Host, gateways [2]*netns.NS) {
	t.Helper()
	node := netns.New(t)
	ip := func(ns *netns.NS, lines ...string) {
		t.Helper()
		for _, line := range lines {
			ns.Run("ip", strings.Fields(line)...)
		}
	}
	for i, n := range []string{"0", "1"} {
		gateways[i] = netns.New(t)
		ip(node, "link add up"+n+" type veth peer name gw netns "+gateways[i].Path(),
			"addr add 192.0.2"+n+".2/24 dev up"+n, "addr add 2001:db8:"+n+"::2/64 dev up"+n+" nodad", "link set up"+n+" up")
		ip(gateways[i], "addr add 192.0.2"+n+".1/24 dev gw", "addr add 2001:db8:"+n+"::1/64 dev gw nodad", "link set gw up")
	}
	ip(node, "route add default nexthop via 192.0.20.1 dev up0 nexthop via 192.0.21.1 dev up1",
		"-6 route add default nexthop via 2001:db8:0::1 dev up0 nexthop via 2001:db8:1::1 dev up1")
	node.Do(func() {
		var err error
		if h, err = host.Open(t.Context(), host.Options{Sandbox: true}); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(func() { h.Close() })
	return h, gateways
}

// Every next hop of a default route is probed. If a change loses one, that probe fails. A next hop
// that did not answer before does not count.
func TestEveryNextHopIsProbed(t *testing.T) {
	h, gateways := twoGateways(t)
	all, err := candidates(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	var hops []Probe
	for _, p := range all {
		if strings.HasPrefix(string(p), neighbourProbe+":") {
			hops = append(hops, p)
		}
	}
	want := []Probe{"neighbour:up0/192.0.20.1", "neighbour:up1/192.0.21.1", "neighbour:up0/2001:db8::1", "neighbour:up1/2001:db8:1::1"}
	if !slices.Equal(hops, want) {
		t.Fatalf("%q, want %q", hops, want)
	}
	for _, p := range []Probe{"ping:192.0.20.1", "ping:192.0.21.1", "ping:2001:db8::1", "ping:2001:db8:1::1"} {
		if !slices.Contains(all, p) {
			t.Errorf("no %s in %q", p, all)
		}
	}
	n := Prober{Host: h}
	asks := func(ctx context.Context) Failures { return n.Attempt(ctx, want) }
	awaitSteady(t.Context(), asks, time.Minute, 0) // IPv6 needs a moment before its addresses are usable
	if before, err := n.passing(t.Context(), hops); err != nil || !slices.Equal(before, want) {
		t.Fatalf("before the change %q answer: %v", before, err)
	}
	gateways[1].Run("ip", "addr", "flush", "dev", "gw")
	if lost := awaitSteady(t.Context(), asks, 0, 0).probes(); !slices.Equal(lost, []Probe{want[1], want[3]}) {
		t.Errorf("after it %q are lost, want those of the second gateway", lost)
	}
	before, err := n.passing(t.Context(), hops)
	if err != nil {
		t.Fatal(err)
	}
	if lost := n.Attempt(t.Context(), before); !slices.Equal(before, []Probe{want[0], want[2]}) || len(lost) > 0 {
		t.Errorf("with one dead from the start %q are held to, and %v fail", before, lost)
	}
}

// Three probes ask kubelet's API server: for a connection, for an answer to anybody, and for an
// answer to the node. The lines that keep it: default_probes.go, candidates (kubeconfigs) and
// apiServer.
func TestTheAPIServerOfKubeletIsAsked(t *testing.T) {
	if !netns.Alone(t, "/etc", "/var/lib") {
		return
	}
	const kubeconfig = "/etc/kubernetes/kubelet.conf"
	netns.Shell(t, "mkdir /etc/kubernetes; printf 'clusters:\\n- cluster:\\n    server: https://10.0.0.5:6443\\n' >"+kubeconfig)
	h, err := host.Open(t.Context(), host.Options{Root: "/", Sandbox: true, Facts: &host.Facts{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	all, err := candidates(t.Context(), h)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Probe{"tcp:10.0.0.5:6443", "https:10.0.0.5:6443", "api:" + kubeconfig} {
		if !slices.Contains(all, want) {
			t.Errorf("%q, want %s among them", all, want)
		}
	}
}

func TestCandidatesAreRead(t *testing.T) {
	conf := "apiVersion: v1\nclusters:\n- cluster:\n    server: \"https://api.example.com\"\n  name: x\n"
	if got := apiServer([]byte(conf)); got != "api.example.com:443" {
		t.Errorf("API server: %q", got)
	}
	if got := apiServer([]byte("server: https://[fd00::1]:6443\n")); got != "[fd00::1]:6443" {
		t.Errorf("API server: %q", got)
	}
	stub := texts{"/etc/resolv.conf": "nameserver 127.0.0.53\n", "/run/systemd/resolve/resolv.conf": "nameserver 10.0.0.9\n"}
	if got := resolvers(stub.read); !slices.Equal(got, []string{"10.0.0.9"}) { // default_probes.go:resolvers
		t.Errorf("behind systemd-resolved: %q: its cache answers without a network", got)
	}
	delete(stub, "/run/systemd/resolve/resolv.conf")
	if got := resolvers(stub.read); !slices.Equal(got, []string{"127.0.0.53"}) {
		t.Errorf("behind a stub that tells nothing: %q", got)
	}
	if got := nameservers([]byte("# x\nnameserver 10.0.0.2\nnameserver nonsense\nsearch a\nnameserver fd00::2\n")); !slices.Equal(got, []string{"10.0.0.2", "fd00::2"}) {
		t.Errorf("name servers: %q", got)
	}
}
