package probe

import (
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/test/netns"
)

// One of the name servers that a change brought must answer. Before kubelet runs, servers that
// start with kubelet need not. A server that does not answer beside one that does causes a warning.
// The lines that keep it: comparison.go, Attempt (Stated); name_servers.go, newServers, withKubelet
// and Warnings.
func TestNameServersThatAChangeBrought(t *testing.T) {
	if !netns.Alone(t, "/etc") {
		return
	}
	const old, other, dead = "127.0.0.2", "127.0.0.3", "127.0.0.4" // no server is there
	for _, server := range []string{old, other} {
		conn, err := net.ListenPacket("udp", server+":53")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go func() {
			question := make([]byte, 512)
			for {
				n, from, err := conn.ReadFrom(question)
				if err != nil {
					return
				}
				_, _ = conn.WriteTo(question[:n], from) // the client may be gone
			}
		}()
	}
	kubelet := host.KubeletFacts{Unit: "kubelet.service", ClusterDNS: []netip.Addr{netip.MustParseAddr(dead)}}
	for name, c := range map[string]struct {
		servers string
		facts   host.KubeletFacts
		stated  bool
		silent  []Probe // before the change
		fails   string
		warns   string
	}{
		"the former server":                                  {servers: old},
		"a new server that answers":                          {servers: other},
		"only a server that does not answer":                 {servers: dead, fails: "dns:" + dead + " ("},
		"no server is configured":                            {fails: "no name server is configured any more"},
		"a server that does not answer beside one that does": {servers: dead + " " + other, warns: "name server " + dead + " does not answer"},
		"a server that did not answer before":                {servers: old + " " + dead, silent: []Probe{"dns:" + dead}},
		"the cluster's server before kubelet runs":           {servers: dead, facts: kubelet, warns: "name server " + dead + " does not answer yet"},
		"a link-local server before kubelet runs":            {servers: "169.254.20.10", facts: kubelet, warns: "name server 169.254.20.10 does not answer yet"},
		"a link-local server without kubelet":                {servers: "169.254.20.10", fails: "dns:169.254.20.10 ("},
		"probes that the user lists":                         {servers: dead, stated: true},
	} {
		t.Run(name, func(t *testing.T) {
			var conf strings.Builder
			for _, server := range strings.Fields(c.servers) {
				conf.WriteString("nameserver " + server + "\n")
			}
			if err := os.WriteFile("/etc/resolv.conf", []byte(conf.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			h, err := host.Open(t.Context(), host.Options{Root: "/", Sandbox: true, Facts: &host.Facts{Kubelet: c.facts}})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			j := &Comparison{Node: Prober{Host: h}, Evidence: &Evidence{Probes: []Probe{"dns:" + old}, Stated: c.stated}, silent: c.silent}
			failed := j.Attempt(t.Context()).String()
			if (failed == "") != (c.fails == "") || !strings.Contains(failed, c.fails) {
				t.Errorf("fails: %q, want %q", failed, c.fails)
			}
			if c.fails != "" {
				return
			}
			warned := strings.Join(j.Warnings(t.Context()), "; ")
			if (warned == "") != (c.warns == "") || !strings.Contains(warned, c.warns) {
				t.Errorf("warns: %q, want %q", warned, c.warns)
			}
		})
	}
}
