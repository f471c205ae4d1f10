package witness

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/child"
	"github.com/netwright/netwright/test/netns"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

// The witness sees each capability. If one is cut, it misses that one and no other. A namespace
// with peers stands for the node.
func TestSights(t *testing.T) {
	t.Parallel() // the test mostly waits
	f := newFabric(t)
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "host0", "type", "veth", "peer", "name", "port", "netns",
		strings.TrimPrefix(f.Netns(), "/run/netns/"))
	in := func(path string, args ...string) {
		t.Helper()
		cmd := exec.Command("nsenter", append([]string{"--net=" + path, "--"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	in(f.Netns(), "ip", "link", "set", "port", "master", "br0", "up")
	for _, line := range []string{"link set host0 up", "addr add " + node4 + "/24 dev host0",
		"addr add " + node6 + "/64 dev host0 nodad", "addr add 10.244.1.2/32 dev lo",
		"route add default via " + node.Gateway4, "route add default via " + node.Gateway6} {
		ns.Run("ip", strings.Fields(line)...)
	}
	peer := exec.Command("nsenter", "--net="+ns.Path(), "--", program.Build(t, "test/witness/peer"),
		"22", "10250", "8080")
	running, err := child.Start(peer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(running.Kill)
	w := NewWatch(t.Context(), f.Netns(), ns.Path(), func(path string) ([]byte, error) {
		if path == podFile {
			return []byte(`{"ips": [{"address": "10.244.1.2/24"}]}`), nil
		}
		if path == kubeconfig {
			return []byte("    server: https://" + near4 + ":6443\n"), nil
		}
		return []byte("nameserver 10.77.0.99\nnameserver " + node.Gateway4 + "\n"), nil
	}, NewClock(t).Now)
	defer w.Stop()
	if lost := w.Await(t.Context(), Names(), 30*time.Second); len(lost) > 0 {
		t.Fatalf("of a node that is well it misses %s", lost)
	}
	for _, c := range []struct {
		rule string   // an nft rule in the node's input
		lost []string // names of capabilities
	}{
		{"tcp dport 22 drop", []string{"ssh"}},
		{"tcp dport 8080 reject", []string{"pod"}},
		{"udp sport 53 drop", []string{"names"}},
		{"tcp sport 6443 drop", []string{"API server"}},
		{"ip saddr " + onLink4 + " tcp dport 10250 drop", []string{"10250 from the link"}},
		{"ip6 saddr " + onLink6 + " tcp dport 10250 drop", []string{"IPv6 from the link"}},
		{"ip6 saddr " + beyond6 + " tcp dport 10250 drop", []string{beyondIPv6}},
		{"meta length > 1000 drop", []string{"1 MiB each way", "API server"}},
		{"ip saddr " + beyond4 + " tcp dport 10250 drop",
			[]string{"10250 from beyond the gateway", "1 MiB each way"}},
	} {
		ns.Run("nft", fmt.Sprintf("add table inet cut; add chain inet cut c "+
			"{ type filter hook input priority 0 ; }; add rule inet cut c %s", c.rule))
		rest := Names(c.lost...)
		if lost := w.Await(t.Context(), c.lost, 2*time.Second); len(lost) != len(c.lost) {
			t.Errorf("%s: it only misses %s", c.rule, lost)
		}
		if lost := w.Await(t.Context(), rest, 30*time.Second); len(lost) > 0 {
			t.Errorf("%s: it misses %s too", c.rule, lost)
		}
		ns.Run("nft", "delete", "table", "inet", "cut")
		if lost := w.Await(t.Context(), Names(), 30*time.Second); len(lost) > 0 {
			t.Fatalf("%s is gone, and %s is missed", c.rule, lost)
		}
	}
	if gap, name := w.Gap(Names()); gap < 2*time.Second || !slices.Contains(Names(), name) {
		t.Errorf("the longest gap is %s of %q", gap, name)
	}
}
