package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// A sysctl of more than half a kilobyte is set and verified, and a reset restores its whole value.
// The kernel returns this value in one read and gives no second part. The line that keeps it:
// pkg/host/internal/sys/kernel_file.go, ReadOpenValue (default).
func TestALongSysctlIsSetAndBroughtBack(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ports := func(first int) string {
		var list []string
		for port := first; len(list) < 300; port += 2 {
			list = append(list, strconv.Itoa(port))
		}
		return strings.Join(list, ",")
	}
	const file = "/proc/sys/net/ipv4/ip_local_reserved_ports"
	was, want := ports(10001), ports(20001)
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+s.pluginSpec(t)+atOnce+
		"  sysctlParameters: [\"net.ipv4.ip_local_reserved_ports="+want+"\"]\n"))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\n",
	}}))
	n.Shell(ctx, "echo "+was+" >"+file)
	n.Must(ctx, "netwright", "--once")
	if got := strings.TrimSpace(n.Shell(ctx, "cat "+file)); got != want {
		t.Errorf("it is %d bytes, want %d", len(got), len(want))
	}
	n.Must(ctx, "netwright", "--dry-run")
	n.Must(ctx, "netwright", "reset")
	if got := strings.TrimSpace(n.Shell(ctx, "cat "+file)); got != was {
		t.Errorf("after a reset it is %d bytes, and was %d", len(got), len(was))
	}
}
