package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// Before READY the agent waits for no unit that is ordered after it. systemd would delay the
// restart of such a unit until the agent has started, so each would wait for the other. Here
// containerd and a unit of the documents are ordered after the agent, and the agent must restart or
// start both: while everything runs, and at boot. The line that keeps it:
// pkg/model/effect_tasks.go, effects (an Effect without Wait). With Wait the agent waits until the
// effect's deadline, and its log says that only the second attempt finds the job queued.
func TestNothingWaitsForWhatIsOrderedAfterUs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Enable: []string{"netwright-agent.service"},
		Files: map[string]string{
			"/etc/systemd/system/containerd.service.d/10-after.conf": "[Unit]\nAfter=netwright-agent.service\n",
			"/etc/containerd/config.toml":                            "version = 2\n",
		},
	}))
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	n.Must(ctx, "systemctl", "is-active", "containerd")
	invocation := func() string {
		return n.Must(ctx, "systemctl", "show", "--value", "-p", "InvocationID", "containerd")
	}

	spec := strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    cni: {binDir: BIN, confDir: /srv/cni/net.d}", 1) + s.pluginSpec(t) + `  update: {auto: restart, splay: 0s}
  hooks:
  - name: late.service
    manifest: |
      [Unit]
      After=netwright-agent.service
      [Service]
      ExecStart=/bin/sleep infinity
      Environment=BIN
`
	write := func(bin string) {
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", document("Cluster", cluster, strings.ReplaceAll(spec, "BIN", bin)), 0o644)
	}
	right := func(bin string) {
		t.Helper()
		until(t, n, "the agent is prepared", "systemctl is-active -q netwright-agent")
		if log := n.Shell(ctx, "journalctl -b -o cat -u netwright-agent"); strings.Contains(log, `try again {"key": "effect:restart `) {
			t.Fatalf("the agent waited for what waits for it:\n%s", log)
		}
		until(t, n, "what is ordered after it runs", "systemctl is-active -q containerd && systemctl is-active -q late && ! systemctl list-jobs --no-legend | grep -q .")
		if got := n.Must(ctx, "containerd", "config", "dump"); !strings.Contains(got, bin) {
			t.Errorf("containerd's configuration has no %s:\n%s", bin, got)
		}
		until(t, n, "nothing is left to do", "netwright --dry-run")
	}

	before := invocation()
	write("/srv/one/bin")
	if p := plan(ctx, t, n, 2); !keys(p)["effect:restart containerd.service"] || !keys(p)["unit:late.service"] {
		t.Fatalf("neither is to be restarted nor started: %v", keys(p))
	}
	n.Must(ctx, "systemctl", "start", "--no-block", "netwright-agent")
	right("/srv/one/bin")
	if invocation() == before {
		t.Error("containerd was not restarted")
	}

	for _, unit := range []string{"containerd", "late"} {
		if after := n.Must(ctx, "systemctl", "show", "--value", "-p", "After", unit); !strings.Contains(after, "netwright-agent.service") {
			t.Errorf("%s is not ordered after the agent: %s", unit, after)
		}
	}

	before = n.Must(ctx, "systemctl", "show", "--value", "-p", "InvocationID", "late")
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	write("/srv/two/bin") // running units are restarted: containerd, and the hook for its new text
	n.Must(ctx, "systemctl", "start", "--no-block", "netwright-agent")
	right("/srv/two/bin")
	if n.Must(ctx, "systemctl", "show", "--value", "-p", "InvocationID", "late") == before {
		t.Error("the hook was not restarted")
	}

	write("/srv/three/bin") // at boot neither runs yet, and both start after the agent
	n.Reboot(ctx)
	right("/srv/three/bin")
}
