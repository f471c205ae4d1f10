package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// kubeletUnit is a unit in kubelet's place. The agent's unit is ordered before it.
const kubeletUnit = "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"

// A node boots and starts kubelet also where its agent cannot even read its own file. systemd
// starts the agent again, after a pause. If a file or the kernel's command line switches the agent
// off, systemd does not start it. status says so, and how to switch it on.
func TestNodeBootsWithoutItsAgent(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, _ := goodStore(t)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Degraded: true, Enable: []string{"netwright-agent.service", "kubelet.service"},
		Files: map[string]string{"/etc/netwright/agent.yaml": "stoer: /srv/netwright\n", "/etc/systemd/system/kubelet.service": kubeletUnit},
	}))
	n.Must(ctx, "systemctl", "is-active", "kubelet.service")
	until(t, n, "the agent is tried again", "test $(systemctl show -p NRestarts --value netwright-agent) -ge 1")
	if log := n.Shell(ctx, "journalctl --sync; journalctl -b -o cat -u netwright-agent"); !strings.Contains(log, "did you mean") {
		t.Errorf("the journal does not say what is wrong:\n%s", log)
	}

	n.Write("/etc/netwright/agent.yaml", agentFile("1m"), 0o644)
	n.Write("/etc/netwright/disabled", "", 0o644)
	n.Reboot(ctx)
	n.Must(ctx, "systemctl", "is-active", "kubelet.service")
	if state := n.Shell(ctx, "systemctl show -p ActiveState,ConditionResult,NRestarts netwright-agent"); state != "NRestarts=0\nActiveState=inactive\nConditionResult=no\n" {
		t.Errorf("switched off:\n%s", state)
	}
	if said := n.Run(ctx, "netwright", "status"); !strings.Contains(said.Stdout+said.Stderr, "rm /etc/netwright/disabled") {
		t.Errorf("status does not say how it is turned on:\n%s%s", said.Stdout, said.Stderr)
	}

	// The agent is switched on. A reload applies a changed configuration at once, and systemd
	// learns that the reload has ended.
	n.Shell(ctx, "rm /etc/netwright/disabled; systemctl start netwright-agent")
	document := "/srv/netwright/" + cluster + "/cluster.yaml"
	n.Write(document, strings.Replace(n.Read(document), "  networking:", "  sysctlParameters: [net.core.somaxconn=4321]\n  networking:", 1), 0o644)
	n.Must(ctx, "systemctl", "reload", "netwright-agent")
	until(t, n, "it is taken", "test $(cat /proc/sys/net/core/somaxconn) = 4321")
	until(t, n, "the reload is over", "test $(systemctl show -p ActiveState --value netwright-agent) = active && test $(systemctl show -p SubState --value netwright-agent) = running")
	if log := n.Shell(ctx, "journalctl --sync; journalctl -b -o cat -u netwright-agent"); !strings.Contains(log, "Reloaded netwright-agent.service") && !strings.Contains(log, "Reloading netwright-agent.service") {
		t.Errorf("systemd did not hear of the reload:\n%s", log)
	}
}
