package daemon

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/hostroot"
)

// A check names what is a live change no longer. The line that keeps it: pkg/check/check.go,
// notLive.
func TestCheckNamesWhatIsNoLongerLive(t *testing.T) {
	b := newBox(t)
	b.write(t, "cluster.yaml", hostroot.Read(t, b.store, "/demo/cluster.yaml")+`
  sysctlParameters: [net.ipv4.tcp_fin_timeout=10, vm.swappiness=10, net.ipv4.conf.all.rp_filter=1]
  hooks: [{name: x.service, manifest: "ExecStart=/bin/cat /etc/motd.d/d"}]
  fileAssets: [{name: d, path: /etc/motd.d/d, content: d}, {name: a, path: /etc/hosts, content: a}, {name: b, path: /etc/motd, content: b}, {name: c, path: /etc/systemd/network/c.network, content: c}]
`)
	store, err := stores.Open(b.store, "demo", stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := check.Check(t.Context(), store, check.DefaultFacts())
	if err != nil {
		t.Fatal(err)
	}
	n := c.Nodes[0]
	said := strings.Join(n.Notes, "\n")
	if n.Error != "" || len(n.Notes) != 1 {
		t.Fatalf("n.Error %s, n.Notes %q", n.Error, n.Notes)
	}
	for word, want := range map[string]bool{
		"sysctl:net.ipv4.tcp_fin_timeout": true, "unit:x.service": true, "file:/etc/hosts": true, "file:/etc/motd.d/d": true, "cluster.yaml:": true,
		"vm.swappiness": false, "rp_filter": false, "file:/etc/motd ": false, "c.network": false,
	} {
		if strings.Contains(said, word) != want {
			t.Errorf("%s is named %v, want %v: %s", word, !want, want, said)
		}
	}
}
