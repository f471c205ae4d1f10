package e2e

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// A rule set that refuses all incoming connections is undone, since a peer no longer reaches the
// port that it reached before. Outgoing connections work, and no other probe fails. A change that
// leaves incoming connections alone stays, and the agent says that it was proved. Without a peer
// that answers, such a change also stays, and the agent says that it was not proved. The lines that
// keep it: pkg/checkpoint/probe/inbound.go, compare; pkg/checkpoint/finish.go, Finish
// (AwaitTraffic); pkg/reconcile/guard/taker.go, Take (settings.Inbound); pkg/inbound/peer.go,
// answer.
func TestKubernetesPeersKnock(t *testing.T) {
	t.Parallel() // the test waits for probes
	kubeapi.Tier(t)
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	kubelet := node.Options{Files: map[string]string{"/etc/systemd/system/kubelet.service": standIn}}
	fabric, nodes := twoNodes(t, bridgeSpec+atOnce, kubelet, kubelet)
	s := kubeapi.Start(t, kubeapi.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	manifests, err := os.ReadFile("../../docs/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(string(manifests))
	for _, n := range nodes {
		join(s, n, "{}")
		account(t, s, n)
		n.Write("/etc/netwright/agent.yaml", "store: /srv/netwright\ncluster: "+cluster+"\nnode: "+n.Name()+"\ninterval: 5s\nprobeWindow: 20s\n", 0o644)
		n.Shell(ctx, "netwright --once || netwright --once")
	}
	n, peer := nodes[0], nodes[1]
	reaches := witness(t, fabric, n)
	good := n.Read("/srv/netwright/" + cluster + "/cluster.yaml")
	publish := func(extra string) {
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "  networking:", extra+"  networking:", 1), 0o644)
	}
	shows := func(name string, want float64) {
		t.Helper()
		end := time.Now().Add(90 * time.Second) // only so that a test that hangs ends
		for now := scrape(t, n); now[name] != want; now = scrape(t, n) {
			if time.Now().After(end) {
				t.Fatalf("%s is %v\n%s\n%s", name, now[name], n.Run(ctx, "netwright", "status").Stdout, n.Run(ctx, "journalctl", "-b", "--no-pager", "-n", "60", "-u", "netwright-agent").Stdout)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	says := func(command string, texts ...string) {
		t.Helper()
		res := n.Run(ctx, "netwright", command)
		for _, text := range texts {
			if !strings.Contains(res.Stdout, text) {
				t.Errorf("%s does not say %q:\n%s%s", command, text, res.Stdout, res.Stderr)
			}
		}
	}
	annotated := func(name, text string) bool {
		return strings.Contains(s.Must("GET", "/api/v1/nodes/"+name, ""), text)
	}
	const martians = "  sysctlParameters: [net.ipv4.conf.all.log_martians=%]\n" // takes a checkpoint, and has no effect
	change := func(value string) { publish(strings.Replace(martians, "%", value, 1)) }
	inForce := func(value string) {
		t.Helper()
		until(t, n, "the change is in force", "[ $(sysctl -n net.ipv4.conf.all.log_martians) = "+value+" ] && netwright status")
	}

	n.Must(ctx, "systemctl", "start", "netwright-agent")
	change("1")
	inForce("1")
	shows(`netwright_unproved{proof="inbound"}`, 1)
	says("status", "inbound: not proved")
	if annotated(n.Name(), kube.RequestsAnnotation) {
		t.Error("the question stays")
	}

	peer.Must(ctx, "systemctl", "start", "netwright-agent")
	s.Must("PATCH", "/api/v1/nodes/"+n.Name(), `{"metadata": {"annotations": {"`+kube.RequestsAnnotation+`": "{\"nonce\": \"lab\", \"ports\": [22, `+witnessPort+`]}"}}}`)
	for end := time.Now().Add(5 * time.Minute); !annotated(peer.Name(), "lab"); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the peer never answers\n%s", peer.Run(ctx, "journalctl", "-b", "--no-pager", "-n", "60", "-u", "netwright-agent").Stdout)
		}
	}
	if !annotated(peer.Name(), `\"tcp4:`+witnessPort+`\"`) || annotated(peer.Name(), "tcp4:22") {
		t.Errorf("the peer answers otherwise than is so:\n%s", s.Must("GET", "/api/v1/nodes/"+peer.Name(), ""))
	}

	change("0")
	inForce("0")
	shows(`netwright_unproved{proof="inbound"}`, 0)
	says("status", ", inbound")
	says("history", ", inbound")

	if err := reachedAgain(reaches); err != nil {
		t.Fatal(err)
	}
	n.Write("/srv/lab-does", `nft 'add table inet lab
add chain inet lab in { type filter hook input priority 0; policy drop; }
add rule inet lab in ct state established,related accept
add rule inet lab in meta l4proto { icmp, ipv6-icmp } accept
add rule inet lab in iif lo accept'
`, 0o755)
	publish(strings.Replace(martians, "%", "0", 1) + hookThat("lab-shut"))
	shows(`netwright_rollbacks_total`, 1)
	says("status", "inbound:tcp4:"+witnessPort+" (no connection any more from: "+peer.Name()+")", "is bad")
	says("history", "inbound:tcp4:"+witnessPort)
	if err := reachedAgain(reaches); err != nil {
		t.Errorf("after the undo: %v", err)
	}

	peer.Must(ctx, "systemctl", "stop", "netwright-agent")
	if annotated(peer.Name(), kube.AnswersAnnotation) || annotated(n.Name(), kube.RequestsAnnotation) {
		t.Error("a question or an answer stays")
	}
	change("1")
	inForce("1")
	shows(`netwright_unproved{proof="inbound"}`, 1)
}
