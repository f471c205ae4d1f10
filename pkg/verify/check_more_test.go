package verify

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/pkg/verify/probe"
	"github.com/netwright/netwright/test/netns"
)

// The network's own agent reports that it is well or not, or does not answer.
func TestHealth(t *testing.T) {
	l := newLab(t)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
	sign := network.HealthCheck{Text: "its agent is well", URL: server.URL + "/healthz", Missing: "look at its log"}
	if bad := l.bad(l.check(sign)); len(bad) > 0 {
		t.Errorf("well: %v", bad)
	}
	status = http.StatusServiceUnavailable
	if bad := l.bad(l.check(sign)); len(bad) != 1 || !strings.Contains(bad[0], "/healthz says 503 Service Unavailable → look at its log") {
		t.Errorf("not well: %v", bad)
	}
	server.Close()
	if bad := l.bad(l.check(sign)); len(bad) != 1 || !strings.Contains(bad[0], "/healthz: connection refused → look at its log") {
		t.Errorf("nothing: %v", bad)
	}
}

// If a conf is missing, the advice names this node where a command needs it.
func TestWhatToDoNamesTheNode(t *testing.T) {
	for writer, says := range map[string]string{
		network.WriterDaemonSet:  "spec.nodeName=node-1`",
		network.WriterContainerd: "kubectl get node node-1 -o",
	} {
		c := &checker{want: Expect{Node: "node-1", Network: network.Network{Conf: network.Conf{Writer: writer}}}}
		if got := c.want.ifMissing(); !strings.Contains(got, says) {
			t.Errorf("%q, want %q in it", got, says)
		}
	}
}

// The runtime, or a kubelet that calls the plugins itself, uses other directories than the network.
func TestDirectories(t *testing.T) {
	l := newLab(t)
	of := func(facts host.Facts) Result {
		t.Helper()
		c := &checker{view: l.with(facts, podsOf{}), want: Expect{Network: network.Network{Name: "flannel", Kubelet: "cni"}, Conf: conf(l)}}
		c.conf()
		got := c.directories()
		if got.State == "" {
			t.Fatalf("directories returns %+v", got)
		}
		return got
	}
	containerd := func(conf, bin string) host.Facts {
		return host.Facts{Runtime: host.RuntimeFacts{Name: "containerd", From: "cri status", ConfDir: conf, BinDirs: []string{bin}}}
	}
	kubelet := func(plugin string) host.Facts {
		return host.Facts{Runtime: host.RuntimeFacts{Name: "docker"}, Kubelet: host.KubeletFacts{CNI: facts.KubeletCNI{Plugin: plugin, ConfDir: l.conf, BinDirs: []string{l.bin}}}}
	}
	for says, c := range map[string]struct {
		facts host.Facts
		state State
	}{
		"containerd looks for confs in " + l.conf: {containerd(l.conf+"/", l.bin), OK},
		"the network's conf belongs in " + l.conf: {containerd("/etc/cni/elsewhere", l.bin), Failed},
		"the network's plugins are in /nowhere, ": {containerd(l.conf, "/usr/lib/cni"), Failed},
		"and the plugin bridge is in " + l.bin:    {containerd(l.conf, "/nowhere"), Failed},
		"kubelet looks for confs in ":             {kubelet("cni"), OK},
		`kubelet has --network-plugin="kubenet"`:  {kubelet("kubenet"), Failed},
		"kubelet's unit has no --network-plugin":  {kubelet(""), NotApplicable},
	} {
		if r := of(c.facts); r.State != c.state || !strings.Contains(r.Seen, says) {
			t.Errorf("%+v, want %s %q", r, c.state, says)
		}
	}
}

// From Kubernetes 1.24 on docker needs cri-dockerd, which answers over CRI. Before, kubelet calls
// the plugins itself.
func TestDockerServesCRI(t *testing.T) {
	l, yes, no := newLab(t), true, false
	for says, c := range map[string]struct {
		consumer string
		runtime  host.RuntimeFacts
		state    State
	}{
		"":                                     {"kubelet", host.RuntimeFacts{}, ""},
		"nothing serves CRI":                   {"docker", host.RuntimeFacts{}, Failed},
		"docker does not answer over CRI":      {"docker", host.RuntimeFacts{ConfDir: l.conf}, Waiting},
		"docker has no network: none":          {"docker", host.RuntimeFacts{ConfDir: l.conf, Socket: "/s", NetworkReady: &no, NetworkReason: "none"}, Failed},
		"docker says that its network is read": {"docker", host.RuntimeFacts{ConfDir: l.conf, Socket: "/s", NetworkReady: &yes}, OK},
	} {
		c.runtime.Name = "docker"
		check := &checker{view: l.with(host.Facts{Runtime: c.runtime}, podsOf{}), confs: make([]tasks.CNIConf, 1),
			want: Expect{Conf: &tasks.WaitConf{Consumer: tasks.Consumer{Name: c.consumer}}}}
		if got := check.runtime(t.Context()); got.State != c.state || !strings.Contains(got.Seen, says) || strings.Contains(got.Next, "restart docker") {
			t.Errorf("%+v, want %s %q", got, c.state, says)
		}
	}
}

// Cluster DNS must answer. As long as no pod runs here, the check waits for it.
func TestClusterDNS(t *testing.T) {
	l := newLab(t)
	server := netip.MustParseAddr("127.0.0.1")
	of := func(pods ...cri.Pod) Result {
		t.Helper()
		c := &checker{view: l.with(host.Facts{Kubelet: host.KubeletFacts{ClusterDNS: []netip.Addr{server}}}, podsOf{pods: pods}), run: l.host}
		netns.New(t).Do(func() { c.clusterDNS(context.WithoutCancel(t.Context())) })
		return c.results[0]
	}
	if r := of(); r.State != Waiting || !strings.Contains(r.Seen, "ask 127.0.0.1 for kubernetes.default.svc.cluster.local.: ") {
		t.Errorf("before the first pod: %+v", r)
	}
	if r := of(cri.Pod{Ready: true}); r.State != Failed {
		t.Errorf("pods live here: %+v", r)
	}
	place := netns.New(t)
	var p net.PacketConn
	place.Do(func() {
		var err error
		p, err = net.ListenPacket("udp4", "127.0.0.1:53")
		ok(t, err)
	})
	defer p.Close()
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := p.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) == nil {
				m.Response, m.RCode = true, dnsmessage.RCodeNameError
				out, _ := m.Pack()
				_, _ = p.WriteTo(out, from)
			}
		}
	}()
	if seen, err := probe.Resolve(t.Context(), place.Path(), server, ClusterName); err != nil || !strings.Contains(seen, "0 addresses (RCodeNameError)") {
		t.Errorf("Resolve returns %q, %v", seen, err)
	}
}

// kube-proxy reports its health. No answer is a failure only if a document says that kube-proxy
// runs. If a document says that it does not run, nothing is asked.
func TestKubeProxy(t *testing.T) {
	l := newLab(t)
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
	of := func(documents *bool, want State, says string) {
		t.Helper()
		c := &checker{view: l.host.Live.View(), run: l.host, want: Expect{KubeProxy: documents}}
		if got := c.kubeProxy(t.Context(), server.URL); got.State != want || !strings.Contains(got.Seen, says) {
			t.Errorf("%+v, want %s %q", got, want, says)
		}
	}
	on, off := true, false
	of(nil, OK, "says 200 OK")
	status = http.StatusServiceUnavailable
	of(nil, Failed, "says 503 Service Unavailable")
	server.Close()
	of(nil, NotApplicable, "connection refused: it does not run here, or answers elsewhere")
	of(&on, Failed, "connection refused")
	c := &checker{view: l.host.Live.View(), run: l.host, want: Expect{KubeProxy: &off}}
	if got := c.kubeProxy(t.Context(), server.URL); got.State != "" {
		t.Errorf("the documents say that it does not run: %+v", got)
	}
}

// The mode that kube-proxy reports is compared with that of the documents. An answer is a failure
// if kube-proxy must not run.
func TestProxyMode(t *testing.T) {
	l := newLab(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("iptables")) }))
	on, off := true, false
	of := func(documents *bool, mode string, want State, says string) {
		t.Helper()
		c := &checker{view: l.host.Live.View(), run: l.host, want: Expect{KubeProxy: documents, ProxyMode: mode}}
		if got := c.proxyMode(t.Context(), server.URL); got.State != want || !strings.Contains(got.Seen, says) {
			t.Errorf("%+v, want %s %q", got, want, says)
		}
	}
	of(nil, "", "", "")
	of(&on, "", "", "")
	of(nil, "iptables", OK, "it runs in mode iptables")
	of(&on, "ipvs", Failed, "says iptables, and the documents say ipvs")
	of(&off, "iptables", Failed, "it runs here")
	server.Close()
	of(&on, "ipvs", NotApplicable, "connection refused")
	of(&off, "", "", "")
}

// The check distinguishes a rule of the node that refuses the query from a server that does not
// answer.
func TestUnresolved(t *testing.T) {
	for err, says := range map[error]string{
		syscall.ECONNREFUSED: "without a ready endpoint", syscall.EPERM: "without a ready endpoint", probe.ErrNoAnswer: "check whether its pods run",
	} {
		if got := Unresolved(fmt.Errorf("ask: %w", err)); !strings.Contains(got, says) {
			t.Errorf("%v: %q, want %q", err, got, says)
		}
	}
}

// A failed check decides the exit code, wherever it is among those that only wait. The line that
// keeps it: result.go, Worst.
func TestWorst(t *testing.T) {
	for _, c := range []struct {
		states []State
		want   State
	}{
		{nil, OK}, {[]State{OK, NotApplicable}, OK}, {[]State{OK, Waiting, OK}, Waiting}, {[]State{Waiting, Failed}, Failed}, {[]State{Failed, Waiting, OK}, Failed},
	} {
		var results []Result
		for _, state := range c.states {
			results = append(results, Result{State: state})
		}
		if got := Worst(results); got != c.want {
			t.Errorf("%v: %s, want %s", c.states, got, c.want)
		}
	}
}
