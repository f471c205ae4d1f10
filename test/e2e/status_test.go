package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// A node reports its status to root and to a member of statusGroup, and to nobody else. It does so
// under a watch, when its daemon is killed, and when it is switched off. A support archive has no
// secret of the node.
func TestStatusOfANode(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it kills the agent")
	ctx := t.Context()
	s := bridgeStore(t)
	secret := "  fileAssets:\n  - {name: password, path: /etc/demo/password, mode: \"0400\", content: \"password is S3CRET-of-a-file\"}\n"
	s.write(t, "cluster.yaml", document("Cluster", cluster, bridgeSpec+s.pluginSpec(t)+secret))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{
		"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\nstatusGroup: watchers\n",
	}}))
	n.Shell(ctx, "groupadd --system watchers; useradd --system --groups watchers member; useradd --system stranger")

	// Before any daemon has started.
	n.Shell(ctx, "mv /etc/netwright/agent.yaml /etc/netwright/later")
	if r := n.Run(ctx, "netwright", "status"); r.Code != 4 || !strings.Contains(r.Stdout, "no daemon runs here: no state store is named") || !strings.Contains(r.Stdout, "→ write `store:` into /etc/netwright/agent.yaml") {
		t.Errorf("without a store: %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	n.Must(ctx, "mv", "/etc/netwright/later", "/etc/netwright/agent.yaml")
	if r := n.Run(ctx, "netwright", "status"); r.Code != 4 || !strings.Contains(r.Stdout, "no daemon runs here: netwright-agent.service is disabled") {
		t.Errorf("without a daemon: %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	until(t, n, "the node is right", "netwright status")
	if got, want := n.Shell(ctx, "cd /run/netwright && stat -c '%a %U:%G' . agent.sock status.sock status.json daemon.lock"), "710 root:watchers\n600 root:root\n660 root:watchers\n640 root:watchers\n600 root:root"; strings.TrimSpace(got) != want {
		t.Errorf("/run/netwright is\n%s\nwant\n%s", got, want)
	}
	const onConsole = "journalctl -b -u netwright-agent -o cat | grep '^netwright: '" // the daemon prints this line after it wrote its status
	until(t, n, "the console has a line", onConsole)
	console := n.Shell(ctx, onConsole)
	if !strings.HasPrefix(console, "netwright: prepared, kubelet may start; node-1: converged; ") || strings.Count(console, "\n") > 1 {
		t.Errorf("the console's line is %q", console)
	}

	// Who may read the status.
	as := func(user, command string) node.Result {
		return n.Run(ctx, "runuser", "-u", user, "--", "sh", "-c", command)
	}
	var view report.StatusView
	if r := as("member", "netwright status -o json"); r.Code != 0 || json.Unmarshal([]byte(r.Stdout), &view) != nil || view.Status == nil || view.State != report.NodeConverged || !view.Daemon.Running {
		t.Errorf("to a member: %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := as("stranger", "netwright status"); r.Code != 1 || !strings.Contains(r.Stderr, "root and the group watchers") || r.Stdout != "" {
		t.Errorf("to somebody else: %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	for user, commands := range map[string][]string{
		"member": {"netwright --once", "netwright resume", "ls /run/netwright", "cat /run/netwright/daemon.lock", "test -w /run/netwright/agent.sock"}, "stranger": {"cat /run/netwright/status.json", "test -w /run/netwright/status.sock"},
	} {
		for _, command := range commands {
			if r := as(user, command); r.Code == 0 {
				t.Errorf("%s may do `%s`:\n%s", user, command, r.Stdout)
			}
		}
	}

	// A watch shows a repair, the daemon's death, and the next daemon.
	n.Start(ctx, "watch", "/bin/sh", "-c", "exec netwright status --watch >/run/watch 2>&1")
	n.Start(ctx, "watch-json", "/bin/sh", "-c", "exec netwright status --watch -o json >/run/watch.json 2>&1")
	n.Start(ctx, "reader", "/bin/sh", "-c", "netwright status --watch -o json | sleep infinity") // sleep never reads
	until(t, n, "the watchers watch", "grep -q ^converged /run/watch && grep -q '\"state\":\"converged\"' /run/watch.json")
	n.Shell(ctx, "rm /etc/sysctl.d/99-netwright.conf && netwright --once")
	until(t, n, "the repair is told", "grep -q ' repaired file:/etc/sysctl.d/99-netwright.conf: absent' /run/watch")
	n.Must(ctx, "systemctl", "kill", "--signal=KILL", "netwright-agent")
	until(t, n, "the death is told", "grep -q ' no daemon: ' /run/watch && grep -q '\"running\":false' /run/watch.json")
	until(t, n, "the next daemon is told", "tail -n 1 /run/watch.json | grep -q '\"running\":true.*' && netwright status")
	n.Shell(ctx, "systemctl stop watch watch-json reader")

	// A support archive.
	n.Shell(ctx, "logger --tag netwright -- nothing; systemd-run --wait --unit=netwright-undo.service echo 'token=S3CRET-of-the-journal and Bearer S3CRETS3CRET' || true; journalctl --sync")
	n.Shell(ctx, "cd /root && NETWRIGHT_KEY_PASSWORD=S3CRET-of-the-environment netwright support --file /root/bundle.tar.gz && tar xzf bundle.tar.gz && mv netwright-support-* bundle")
	if got := n.Shell(ctx, "stat -c %a /root/bundle.tar.gz; grep -rail -e S3CRET -e UzNDUkVU /root/bundle || true; grep -l cbr0 /root/bundle/host/ip-link.txt; grep -lF '[redacted' /root/bundle/host/journal.txt; test -s /root/bundle/host/nft.txt && echo nft"); strings.Fields(got)[0] != "600" ||
		strings.Join(strings.Fields(got)[1:], " ") != "/root/bundle/host/ip-link.txt /root/bundle/host/journal.txt nft" {
		t.Errorf("the archive: %s\n%s", got, n.Shell(ctx, "cat /root/bundle/manifest.json"))
	}

	// The agent is switched off and stopped.
	n.Shell(ctx, "touch /etc/netwright/disabled && systemctl restart netwright-agent; systemctl stop netwright-agent")
	if r := n.Run(ctx, "netwright", "status"); r.Code != 4 || !strings.Contains(r.Stdout, "no daemon runs here: it is switched off") || !strings.Contains(r.Stdout, "rm /etc/netwright/disabled") ||
		!strings.Contains(r.Stdout, "below is the status of") {
		t.Errorf("switched off: %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
}

// While a checkpoint probes a change, nothing is repaired. The status says so, and not that all is
// right. The lines that keep it: pkg/reconcile/carry_out.go, confirm (Prove);
// pkg/daemon/node_status.go, notify (Proving).
func TestStatusWhileAChangeIsProved(t *testing.T) {
	t.Parallel()
	rerun.Never(t, "it cuts the node off")
	s, good := goodStore(t)
	n := serve(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Enable: []string{"netwright-agent.service"},
		Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("30s") + "interval: 5s\n"}}))
	until(t, n, "the node is right", "netwright status")
	cut := cuts[0]
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, cut.edit[0], cut.edit[1], 1), 0o644)
	until(t, n, "the change is made", cut.made)
	until(t, n, "the status says that it is probed", "netwright status | grep -q '^waiting: a checkpoint probes a change'")
	until(t, n, "the change is undone", "! "+cut.made)
}

// What the documents set is no leftover of another network that would set the same. The line that
// keeps it: cmd/agent/networks_found.go, networksFound (known).
func TestFoundNamesWhatTheDocumentsSetAsOurs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const key = "net.ipv4.conf.all.arp_ignore"
	s := bridgeStore(t)
	s.write(t, "cluster.yaml", document("Cluster", cluster, strings.Replace(bridgeSpec, "  networking:", "  sysctlParameters: ["+key+"=1]\n  networking:", 1)+s.pluginSpec(t)))
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	n.Must(ctx, "sysctl", "-qw", key+"=1")
	if got := n.Must(ctx, "netwright", "networks", "--found"); !strings.Contains(got, "sysctl:"+key) || strings.Contains(got, "; ours") {
		t.Errorf("before the first pass:\n%s", got)
	}
	n.Must(ctx, "netwright", "--once")
	if got := n.Must(ctx, "netwright", "networks", "--found"); strings.Contains(got, "kubeRouter") || !strings.Contains(got, "netwright  sysctl:"+key) {
		t.Errorf("after it:\n%s", got)
	}
}
