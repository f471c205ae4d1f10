package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// inDriftNode is set where this test program runs inside the node.
const inDriftNode = "NETWRIGHT_DRIFT_IN_NODE"

// inOtherNode is set where that node has the other network.
const inOtherNode = "NETWRIGHT_DRIFT_IN_OTHER_NODE"

// driftRounds returns how often each way makes each change: 20 times in the full run.
func driftRounds() int {
	if os.Getenv("NETWRIGHT_DRIFT") == "full" {
		return 20
	}
	return 1
}

// driftStore is the store of a node with a key of every kind that its kernel can have.
func driftStore(t testing.TB) store {
	t.Helper()
	s := bridgeStore(t)
	doc, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "cluster.yaml", string(doc)+`  drift: {contested: {after: 1000, within: 10s}} # it is one and the same hand that changes a thing again and again, and no fight
  sysctlParameters: [net.ipv4.conf.all.rp_filter=2, net.ipv4.conf.all.arp_ignore=1]
  fileAssets:
  - {name: mine, path: /srv/deep/down/mine, content: one, mode: "0440"}
  hooks:
  - name: sleeper.service
    manifest: |
      Type=simple
      ExecStart=/bin/sleep 1000000
`)
	return s
}

// otherDriftStore is the store of a node with the kinds of keys that bridge does not use: another
// network's mounts, and keys in containerd's own file.
func otherDriftStore(t testing.TB) store {
	t.Helper()
	spec := strings.Replace(fmt.Sprintf(customSpec, `"type": "ptp"`, "ptp"), "  networking:\n", "  networking:\n    cni: {confDir: /etc/cni/lab.d}\n", 1)
	s := newStore(t, spec, nil)
	path, text := nodeDocument("node-1", "10.77.0.11", "[10.244.1.0/24]")
	s.write(t, path, text)
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec+"      mounts: [{what: tmpfs, where: "+mountedPath+", type: tmpfs}]\n"+
		"  drift: {contested: {after: 1000, within: 10s}}\n"+s.pluginSpec(t)))
	return s
}

// driftNode boots a node and waits until its agent has converged it.
func driftNode(t *testing.T) *node.Node {
	t.Helper()
	return bootDrift(t, driftStore(t))
}

func bootDrift(t *testing.T, s store) *node.Node {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Enable: []string{"netwright-agent.service", "docker-like.service"}, Copies: map[string]string{"/drift.test": self},
		Files: map[string]string{
			"/etc/systemd/system/docker-like.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/iptables -P FORWARD DROP\n",
			// The unit is stopped twenty times, and systemd must not take that for twenty failures.
			"/etc/systemd/system.conf.d/limit.conf": "[Manager]\nDefaultStartLimitIntervalSec=0\n",
		},
	}))
}

// took has the times until a change was repaired.
type took struct {
	Kind, By string
	Took     []time.Duration
}

// The agent repairs every manual change on a node, both by a shell of the host and by a privileged
// container with its own process and mount namespaces on the host's network. The test prints how
// long the repairs took.
func TestDriftIsRepaired(t *testing.T) {
	t.Parallel()
	if os.Getenv(inDriftNode) != "" {
		driftInNode(t)
		return
	}
	n := driftNode(t)
	drifts(t, n, inDriftNode)
	checkBridgeNode(t, n)
	drifts(t, bootDrift(t, otherDriftStore(t)), inOtherNode)
}

// drifts runs driftInNode inside the node, for every kind of key that the node has.
func drifts(t *testing.T, n *node.Node, as string) {
	t.Helper()
	until(t, n, "all is right", "netwright --dry-run")
	rounds := fmt.Sprint(driftRounds())
	res := n.Run(t.Context(), "env", inDriftNode+"="+rounds, as+"="+rounds, "/drift.test", "-test.run=^TestDriftIsRepaired$", "-test.v", "-test.timeout=30m")
	if res.Code != 0 {
		t.Errorf("exit %d\n%s\n%s\n%s", res.Code, res.Stdout, res.Stderr, n.Must(t.Context(), "journalctl", "-u", "netwright-agent", "-n", "60", "--no-pager"))
	}
	t.Log("\n" + latencies(t, res.Stdout))
}

// latencies returns a table of the times that driftInNode printed.
func latencies(t *testing.T, out string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %-10s %4s %9s %9s %9s\n", "kind", "by", "n", "median", "p90", "worst")
	for line := range strings.Lines(out) {
		text, ok := strings.CutPrefix(line, "took ")
		if !ok {
			continue
		}
		var k took
		if err := json.Unmarshal([]byte(text), &k); err != nil {
			t.Fatal(err)
		}
		slices.Sort(k.Took)
		at := func(share float64) string {
			return k.Took[int(share*float64(len(k.Took)-1))].Round(100 * time.Microsecond).String()
		}
		fmt.Fprintf(&b, "%-22s %-10s %4d %9s %9s %9s\n", k.Kind, k.By, len(k.Took), at(0.5), at(0.9), at(1))
	}
	return b.String()
}
