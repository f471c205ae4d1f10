package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// taken counts the checkpoints of this boot. Each checkpoint starts the timer that would undo its
// change.
func taken(t *testing.T, n *node.Node) int {
	t.Helper()
	return strings.Count(n.Shell(t.Context(), "journalctl --sync; journalctl -b --no-pager -o cat -u netwright-undo-now.timer"), "Started ")
}

// once makes a pass, and returns how many checkpoints it took.
func once(t *testing.T, n *node.Node) int {
	t.Helper()
	before := taken(t, n)
	if res := n.Run(t.Context(), "netwright", "--once"); res.Code != 0 {
		t.Logf("exit %d: %s%s", res.Code, res.Stdout, res.Stderr)
	}
	return taken(t, n) - before
}

// A change of any kind that is not proved harmless needs a checkpoint. A repair needs none. The
// lines that keep it: pkg/tasks/kind.go, the column proof; pkg/reconcile/drift/prove_changes.go,
// Prove.
func TestWhatIsNotProvedTakesACheckpoint(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/netwright/agent.yaml": agentFile("9s")}}))
	if got := once(t, n); got != 1 { // with IPv6 forwarding a node loses advertised routes; the rest is proved
		t.Errorf("the first configuration took %d checkpoints", got)
	}
	nothingToDo(t, n)
	document := "/srv/netwright/" + cluster + "/cluster.yaml"
	file := func(path string) string {
		return "  fileAssets: [{name: x, path: " + path + ", content: \"# x\\n\"}]\n"
	}
	const down = "  hooks: [{name: x.service, manifest: \"Type=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/sh -c \\\"sleep 1; ip link set host0 down\\\"\"}]\n"
	for _, c := range []struct {
		name, spec string
		want       int
		gone       string // a condition that shows the undo; "": the change stays
	}{
		{"a hook that downs the link", down,
			1, "ip link show dev host0 | grep -q 'state UP' && ping -c1 -W2 " + serverAddress},
		{"buffers of nothing", "  sysctlParameters: [\"net.ipv4.tcp_rmem=1 1 1\"]\n", 1, ""},
		{"pods that are not forwarded", "  sysctlParameters: [net.ipv4.conf.cbr0.forwarding=0]\n", 1, ""},
		{"a hosts file", file("/etc/hosts.d"), 1, ""},
		{"a sysctl of the next boot", file("/etc/sysctl.d/zz.conf"), 1, ""},
		{"a drop-in of networkd", file("/etc/systemd/system/systemd-networkd.service.d/x.conf"), 1, ""},
		{"a file of networkd elsewhere", file("/usr/local/lib/systemd/network/x.network"), 1, ""},
		{"fstab", file("/etc/fstab"), 1, ""},
		{"a word of the day", file("/etc/motd"), 0, ""},
		{"a limit", "  sysctlParameters: [net.ipv4.tcp_max_syn_backlog=16384]\n", 0, ""},
	} {
		n.Write(document, strings.Replace(good, "  networking:", c.spec+"  networking:", 1), 0o644)
		if got := once(t, n); got != c.want {
			t.Errorf("%s: %d checkpoints, want %d", c.name, got, c.want)
		}
		if c.gone != "" {
			if res := n.Run(ctx, "sh", "-c", c.gone); res.Code != 0 {
				t.Errorf("%s was not undone: %s%s", c.name, res.Stdout, res.Stderr)
			}
		}
		n.Write(document, good, 0o644)
		once(t, n)
	}

	// A file that a hook reads counts as a part of the hook, wherever it is: its effect at the next
	// boot is not known.
	for _, word := range []string{"one", "two"} {
		n.Write(document, strings.Replace(good, "  networking:", "  fileAssets: [{name: x, path: /srv/kubernetes/rules, content: "+word+"}]\n"+
			"  hooks: [{name: x.service, manifest: \"Type=oneshot\\nRemainAfterExit=yes\\nExecStart=/bin/cat /srv/kubernetes/rules\"}]\n  networking:", 1), 0o644)
		if got := once(t, n); got != 1 {
			t.Errorf("a hook with a file that says %s: %d checkpoints", word, got)
		}
	}
	n.Write(document, good, 0o644)
	once(t, n)

	// Changes by hand and a boot: the agent repairs them without a checkpoint.
	n.Shell(ctx, "sysctl -qw net.ipv4.ip_forward=0 net.ipv4.tcp_rmem='4096 8192 16384'; ip link del cbr0; rm /etc/sysctl.d/99-netwright.conf")
	if got := once(t, n); got != 0 {
		t.Errorf("a repair took %d checkpoints", got)
	}
	nothingToDo(t, n)
	// It does the same while a newer generation is held back.
	n.Write(document, strings.Replace(good, "  networking:", down+"  networking:", 1), 0o644)
	if got := once(t, n); got != 1 {
		t.Errorf("the hook took %d checkpoints", got)
	}
	n.Reboot(ctx)
	if got := once(t, n); got != 0 {
		t.Errorf("a boot took %d checkpoints", got)
	}
	n.Shell(ctx, "ip link show cbr0; test $(sysctl -n net.ipv4.ip_forward) = 1; ! systemctl is-active x.service")
	n.Write(document, good, 0o644)
	nothingToDo(t, n)
}
