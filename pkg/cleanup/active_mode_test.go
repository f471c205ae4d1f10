package cleanup

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/cri"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

// thesePods has the pods of a runtime.
type thesePods []cri.Pod

func (p thesePods) Pods(context.Context) ([]cri.Pod, error) { return p, nil }

// The mode of a program is its answer, a word with status 200. The program is still there while a
// server listens at its address, or while one of its containers runs.
func TestAnswerOfAMode(t *testing.T) {
	status, body := http.StatusOK, "iptables"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	var pods thesePods
	of := func(want, says string) {
		t.Helper()
		err := (Answer{Subject: "kube-proxy", URL: server.URL, Want: want, Agents: []string{"kube-proxy"}}).Active(t.Context(), host.View{Runtime: pods})
		switch {
		case says == "" && err != nil, says != "" && (err == nil || !graph.IsWait(err) || !strings.Contains(err.Error(), says)):
			t.Errorf("wanted %q, answers %d %q: %v, want %q", want, status, body, err, says)
		}
	}
	of("iptables", "")
	of("nftables", "it runs in mode iptables")
	of("", "it runs here in mode iptables")
	body = "<html>\nanother program\n"
	of("iptables", "says no mode")
	of("", "something listens at its port")
	status = http.StatusNotFound
	of("iptables", "404")
	server.Close()
	of("iptables", "connection refused")
	of("", "")
	pods = thesePods{{Namespace: "kube-system", Name: "proxy-x", Running: []string{"kube-proxy"}}}
	of("", "container kube-proxy of pod kube-system/proxy-x")
	pods = thesePods{{Namespace: "kube-system", Name: "dns", Running: []string{"coredns"}}}
	of("", "")
}

// A mode without marks of its own counts as in force only if the documents allow that.
func TestAModeWithoutMarksNeedsAWord(t *testing.T) {
	vxlan := Residue{Links: []LinkSelector{{Name: "acme0", Kind: "vxlan"}}}
	m := ActiveMode{Former: vxlan, Subject: "acme without any tunnel", Allow: "say so"}
	if err := m.Active(t.Context(), host.View{}); err == nil || !graph.IsWait(err) || !strings.Contains(err.Error(), "say so") {
		t.Errorf("Active returns %v", err)
	}
	if m.Allowed = true; m.Active(t.Context(), host.View{}) != nil {
		t.Errorf("m.Active(t.Context(), host.View{}) is %v", m.Active(t.Context(), host.View{}))
	}
}

// A mode changes from a tunnel to plain routes. The tunnel is removed when a route of the new kind
// is there. The mark of routes is the same for both kinds, and the new route stays. Then the mode
// changes back.
func TestModesThatShareAMark(t *testing.T) {
	needs.Root(t)
	needs.Tool(t, "ip")
	pods := []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}
	tunnel := Residue{Links: []LinkSelector{{Name: "acme0", Kind: "bridge"}}, Routes: []RouteSelector{{Link: "acme0", Pods: true}}}
	plain := Residue{Routes: []RouteSelector{{Pods: true, Protocol: 3, Type: "unicast", Via: true}}}
	change := func(from, to Residue) tasks.Cleanup {
		reach := Scope{PodCIDRs: pods, Current: to}
		return tasks.Cleanup{Network: "acme", Residue: Selection{Residue: from.Without(to), Scope: reach},
			Successor: ActiveMode{Selection: Selection{Residue: to, Scope: Scope{PodCIDRs: pods}}, Former: from, Subject: "acme"}}
	}
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "up1")
	ns.Run("ip", "addr", "add", "10.77.0.11/24", "dev", "up0")
	ns.Run("ip", "link", "set", "up0", "up")
	made := func() {
		ns.Run("ip", "link", "add", "acme0", "type", "bridge")
		ns.Run("ip", "link", "set", "acme0", "up")
		ns.Run("ip", "route", "add", "10.244.2.0/24", "via", "10.244.2.0", "dev", "acme0", "onlink", "proto", "boot")
	}
	made()
	in(t, ns, func(h *host.Host) {
		waits := func(task tasks.Cleanup) {
			t.Helper()
			if c, err := task.Plan(t.Context(), h.Live.View()); c != nil || !graph.IsWait(err) {
				t.Errorf("it does not wait: %+v, %v", c, err)
			}
		}
		waits(change(tunnel, plain))
		ns.Run("ip", "route", "add", "10.244.3.0/24", "via", "10.77.0.12", "dev", "up0", "proto", "boot")
		c := converge(t, h, change(tunnel, plain))
		if len(c.Items) != 1 || c.Items[0].Key != tasks.LinkKey("acme0") { // the link's routes go with it
			t.Errorf("it takes away %+v", c.Items)
		}
		if got := ns.Run("ip", "route", "show", "to", "root", "10.244.0.0/16"); !strings.Contains(got, "10.244.3.0/24 via 10.77.0.12") || strings.Contains(got, "acme0") {
			t.Errorf("routes:\n%s", got)
		}
		waits(change(plain, tunnel))
		made()
		c = converge(t, h, change(plain, tunnel))
		if len(c.Items) != 1 {
			t.Errorf("it takes away %+v", c.Items)
		}
		if got := ns.Run("ip", "route", "show", "to", "root", "10.244.0.0/16"); strings.Contains(got, "10.77.0.12") || !strings.Contains(got, "dev acme0") {
			t.Errorf("routes:\n%s", got)
		}
	})
}
