package e2e

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/systemd"
	"github.com/netwright/netwright/test/node"
)

// systemd finds no fault with the unit. Its capabilities are the fewest with which the agent
// converges a node: all of them suffice, and without any one of them some task fails.
func TestUnit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	doc, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "cluster.yaml", string(doc)+`  fileAssets:
  - {name: new, path: /srv/foreign/new, content: one, owner: "daemon:daemon", mode: "0755"}
  - {name: old, path: /srv/foreign/old, content: two, owner: "daemon:daemon", mode: "0440"}
  hooks:
  - name: settle.service
    manifest: |
      Type=oneshot
      RemainAfterExit=yes
      ExecStart=/bin/true
`)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	verified := n.Run(ctx, "systemd-analyze", "verify", "/etc/systemd/system/netwright-agent.service")
	for line := range strings.Lines(verified.Stdout + verified.Stderr) {
		if !strings.Contains(line, "Unknown key 'RestartSteps'") && !strings.Contains(line, "Unknown key 'RestartMaxDelaySec'") { // before 254
			t.Errorf("systemd-analyze verify: %s", line)
		}
	}

	confined, caps := confinement(t)
	const raw = "CAP_NET_RAW" // tested in TestUnitsAreConfined; to read tables of ip_tables needs it, too
	caps = slices.DeleteFunc(caps, func(c string) bool { return c == raw })
	for i := range len(caps) + 1 { // the last turn has all of them
		n.Shell(ctx, `set +e
iptables-legacy -S FORWARD # from now on there are tables of ip_tables to be read
systemctl stop settle.service; systemctl reset-failed; ip link del cbr0; nft delete table ip netwright; ip route del 10.244.2.0/24
rm -rf /opt/cni /etc/cni /var/lib/netwright /srv/foreign /etc/modules-load.d/netwright.conf /etc/sysctl.d/99-netwright.conf
rm -rf /etc/systemd/system/settle.service /etc/systemd/system/multi-user.target.wants/settle.service
set -e
mkdir /srv/foreign; echo old > /srv/foreign/old; chmod 0600 /srv/foreign/old; chmod 0700 /srv/foreign; chown -R daemon:daemon /srv/foreign
sysctl -qw net.ipv4.ip_forward=0; systemctl daemon-reload`)
		have, without := strings.Join(append(caps, raw), " "), ""
		if i < len(caps) {
			without = caps[i]
			have = strings.TrimSpace(strings.Replace(have, without, "", 1))
		}
		args := []string{"--quiet", "--wait", "--pipe", "--property=CapabilityBoundingSet=" + have}
		for _, line := range confined {
			args = append(args, "--property="+line)
		}
		res := n.Run(ctx, "systemd-run", append(args, "/usr/bin/netwright", "--once", "-o", "json")...)
		p := planOf(t, res, res.Code)
		switch {
		case without == "" && (res.Code != 0 || p.Summary.Failed > 0):
			t.Errorf("the unit's capabilities do not suffice:\n%s\n%s", messages(p, report.Failed), res.Stderr)
		case without != "" && (res.Code != 1 || p.Summary.Failed == 0):
			t.Errorf("nothing fails without %s (exit code %d): take it out of the unit", without, res.Code)
		}
	}
	checkBridgeNode(t, n)
}

// confinement returns what the unit's section [Service] denies, one directive each, and the unit's
// capabilities.
func confinement(t *testing.T) (lines, caps []string) {
	t.Helper()
	_, service, _ := strings.Cut(systemd.Agent, "\n[Service]\n")
	service, _, _ = strings.Cut(service, "\n[Install]\n")
	_, service, ok := strings.Cut(service, "\nCapabilityBoundingSet=")
	if !ok {
		t.Fatal("the unit names no capabilities")
	}
	held, service, _ := strings.Cut(service, "\n")
	for line := range strings.Lines(service) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines, strings.Fields(held)
}
