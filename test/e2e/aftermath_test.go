package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// Status, history and the metrics behind the alerts say what became of a change. The changes of
// this test are: one that is proved in part, a file that awaits a boot, a key that a rule refuses,
// a hook that is watched, a change that is undone, and one that nobody confirms.
//
// The lines that keep it: pkg/reconcile/history/recall.go; pkg/daemon/status_after_pass.go,
// takePlan; pkg/publish/metrics/metric_list.go.
func TestWhatBecameOfAChangeIsTold(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	f := serve(t)
	s, good := goodStore(t)
	n := f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{
		Enable: []string{"netwright-agent.service"},
		Files: map[string]string{
			"/etc/netwright/agent.yaml": "store: /srv/netwright\ncluster: " + cluster + "\nnode: node-1\ninterval: 5s\nprobeWindow: 6s\n",
			"/etc/resolv.conf":          "nameserver 10.77.0.53\n", // no server is there
		},
	}))
	until(t, n, "the node is right", "netwright status")
	publish := func(extra string) {
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "  networking:", extra+"  networking:", 1), 0o644)
	}
	shows := func(name string, want func(float64) bool) {
		t.Helper()
		end := time.Now().Add(5 * time.Minute) // only so that a test that hangs ends
		for {
			now, there := scrape(t, n)[name]
			if there && want(now) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s is %v (%v)\n%s", name, now, there, n.Run(ctx, "netwright", "status").Stdout)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	is := func(want float64) func(float64) bool { return func(now float64) bool { return now == want } }
	some := func(now float64) bool { return now > 0 }
	says := func(command string, texts ...string) {
		t.Helper()
		res := n.Run(ctx, "netwright", strings.Fields(command)...)
		for _, text := range texts {
			if !strings.Contains(res.Stdout, text) {
				t.Errorf("%s does not say %q:\n%s%s", command, text, res.Stdout, res.Stderr)
			}
		}
	}

	const changes = "  sysctlParameters: [net.ipv4.conf.all.log_martians=1]\n"
	publish(changes + "  fileAssets:\n" + assetFile("/etc/lab-proof", "1\n"))
	shows(`netwright_unproved{proof="dns"}`, is(1))
	shows(`netwright_unproved{proof="inbound"}`, is(1))
	shows(`netwright_unproved{proof="neighbour"}`, is(0))
	shows(`netwright_awaiting_boot`, some)
	shows(`netwright_awaiting_boot_since_timestamp_seconds`, some)
	says("status", "neighbour", "dns: not proved", "inbound: not proved", "/etc/lab-proof")
	says("history", "dns: not proved", "inbound: not proved")

	// A key that the rule refuses keeps neither kubelet nor the other changes back.
	publish(changes + "  fileAssets:\n" + assetFile("/etc/passwd", "1\n") + assetFile("/etc/lab-proof", "2\n"))
	shows(`netwright_refused_keys{by="rule"}`, is(1))
	n.Shell(ctx, "systemctl restart netwright-agent && grep -q 2 /etc/lab-proof && grep -q ^root: /etc/passwd")
	shows(`netwright_refused_keys{by="rule"}`, is(1))
	shows(`netwright_prepared`, is(1))
	says("status", "file:/etc/passwd", "refused: ", "agent store check")

	publish(strings.Replace(changes, "[", "[net.ipv6.conf.host0.disable_ipv6=1, ", 1))
	shows(`netwright_last_undo_timestamp_seconds{cause="failed"}`, some)
	shows(`netwright_rollbacks_total`, some)
	says("status", "undone")
	says("status -o json", `"cause":`, `"failed"`)

	n.Write("/srv/lab-does", "true\n", 0o755)
	good = strings.Replace(good, atOnce, "  update: {splay: 0s, watch: 20s}\n", 1)
	publish(changes + hookThat("lab-watched"))
	shows(`netwright_watching`, is(1))
	says("status", "watched        for ")
	shows(`netwright_watching`, is(0))

	good = strings.Replace(good, "watch: 20s", "freeze: true", 1) // the daemon leaves it to a command
	publish(changes + "  fileAssets:\n" + assetFile("/etc/lab-proof", "3\n"))
	n.Must(ctx, "netwright", "--once", "--confirm", "20s")
	shows(`netwright_awaiting_confirmation`, is(1))
	shows(`netwright_last_undo_timestamp_seconds{cause="unconfirmed"}`, some)
	shows(`netwright_awaiting_confirmation`, is(0))
}
