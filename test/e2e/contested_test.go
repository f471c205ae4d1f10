package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
)

// Three units change a sysctl, a file and a route again after each repair, as long as they run. The
// log says so once and names each unit, also the one whose command is only a script: the line is
// pkg/host/writing_programs.go, commandNames (ErrPermission). The agent gives the sysctl and the
// file up after three repairs. It repairs the route for ever, since pods need it, and the node is
// critical. Meanwhile it repairs everything else. A restart of the agent does not begin new
// repairs. When the units are gone, the agent repairs all three at once, without a command.
func TestFightsAreGivenUp(t *testing.T) {
	t.Parallel() // the test waits for repairs that are due
	ctx := t.Context()
	const key, peerRoute = "net.ipv4.conf.all.accept_redirects", "10.244.2.0/24"
	loop := func(what string) string {
		return "[Service]\nExecStart=/bin/sh -c 'while :; do " + what + "; sleep 0.2; done'\n"
	}
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+s.pluginSpec(t)+"  sysctlParameters: [\""+key+"=0\"]\n  fileAssets:\n"+
		"  - {path: /etc/fought, content: ours, mode: \"0644\"}\n  - {path: /etc/calm, content: ours, mode: \"0644\"}\n  drift: {contested: {after: 3, within: 60s}}\n"))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Files: map[string]string{
			"/etc/netwright/agent.yaml":                "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\n",
			"/etc/systemd/system/fight-sysctl.service": "[Service]\nExecStart=/usr/local/sbin/fight\n",
			"/usr/local/sbin/fight": "#!/bin/sh\nwhile :; do echo 1 >/proc/sys/" + strings.ReplaceAll(key, ".", "/") +
				"; sleep 0.2; done\n",
			"/etc/systemd/system/fight-file.service":  loop("echo theirs >/etc/fought"),
			"/etc/systemd/system/fight-route.service": loop("ip route del " + peerRoute + " 2>/dev/null"),
		},
	}))
	n.Must(ctx, "netwright", "--once")
	n.Must(ctx, "systemctl", "restart", "netwright-agent")
	n.Must(ctx, "systemctl", "start", "fight-sysctl", "fight-file", "fight-route")

	fought := []string{"sysctl:" + key, "file:/etc/fought", "route:254/" + peerRoute}
	// The command must not name the keys: the agent would take it for their writer.
	until(t, n, "all three are given up", "[ $(journalctl -b -o cat -u netwright-agent | grep -c ^contested) -ge 3 ]")
	log := n.Shell(ctx, "journalctl -b -o cat -u netwright-agent")
	for i, k := range fought {
		told, made := 0, 0
		for line := range strings.Lines(log) {
			if !strings.Contains(line, `"key": "`+k+`"`) {
				continue
			}
			switch {
			case strings.HasPrefix(line, "contested"):
				told++
				if unit := []string{"fight-sysctl", "fight-file", "fight-route"}[i]; !strings.Contains(line, unit+".service") {
					t.Errorf("%s is not named: %s", unit, line)
				}
			case strings.HasPrefix(line, "repaired"), strings.Contains(line, "applied, but still"):
				made++
			}
		}
		if told != 1 || made > 3 {
			t.Errorf("%s: told %d times, repaired %d times:\n%s", k, told, made, log)
		}
	}
	n.Shell(ctx, "echo theirs >/etc/calm")
	until(t, n, "the rest is kept right", "grep -q ours /etc/calm")

	until(t, n, "the route is repaired for ever", "ip route show "+peerRoute+" | grep -q via")
	until(t, n, "it is critical, and metrics say so", `curl -s http://127.0.0.1:19870/metrics | grep -qx 'netwright_node_state{state="critical"} 1'`)

	n.Must(ctx, "systemctl", "restart", "netwright-agent")
	p := planOfDrift(t, n.Must(ctx, "cat", "/run/netwright/status.json"))
	for _, k := range p.Keys {
		if k.State == report.KeyRepaired {
			t.Errorf("after a restart of the agent %s was repaired again", k.Key)
		}
	}
	until(t, n, "it is critical after a restart of the agent", `grep -q '"state": *"critical"' /run/netwright/status.json`)
	n.Must(ctx, "systemctl", "stop", "fight-sysctl", "fight-file", "fight-route")
	until(t, n, "all is repaired when the units are gone", "grep -q ours /etc/fought && [ $(sysctl -n "+key+") = 0 ] && ip route show "+peerRoute+" | grep -q via")
	until(t, n, "the quarrel is over", `grep -q '"state": *"converged"' /run/netwright/status.json`)
}

func planOfDrift(t *testing.T, text string) (s report.Status) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}
