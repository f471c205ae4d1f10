package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/rerun"
)

// Each pod that runs and answered the node before a change must answer after it. A pod that ended
// meanwhile need not answer. A change that cuts pods off is undone, also where the node itself
// still reaches everything. Without pods, status and history say that no pod was asked. The lines
// that keep it: pkg/checkpoint/probe/pods.go; pkg/checkpoint/probe/traffic.go;
// pkg/checkpoint/probe/comparison.go, Before (running, askTraffic);
// pkg/reconcile/take_checkpoint.go, judged; cmd/agent/prove_pods.go; pkg/cli/prober/traffic.go.
func TestWhatAChangeTakesFromPods(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts pods off")
	ctx := t.Context()
	n := newSwitchNode(t, "    bridge: {}\n", "probeWindow: 6s\n")
	publish := func(extra string) {
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(n.document("    bridge: {}\n"), "  networking:", extra+atOnce+"  networking:", 1), 0o644)
	}
	// proved returns the proofs of the last change that stayed, as history prints them.
	proved := func() string {
		out := n.Must(ctx, "netwright", "history")
		_, out, _ = strings.Cut(out, "PROVED BY\n")
		out, _, _ = strings.Cut(out, "\n\n")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		return lines[len(lines)-1]
	}

	publish("  sysctlParameters: [net.ipv4.conf.all.log_martians=1]\n")
	n.once(0)
	if got := proved(); !strings.Contains(got, "pods: not proved") {
		t.Errorf("without pods: proved by %s", got)
	}

	var pods []criPod
	for _, name := range []string{"web-1", "web-2", "web-3"} {
		pod := runPod(ctx, t, n.Node, name, false)
		runContainer(ctx, t, n.Node, pod, "web")
		pods = append(pods, pod)
	}
	publish("  sysctlParameters: [net.ipv4.conf.default.log_martians=1]\n")
	n.Must(ctx, "systemctl", "start", "netwright-agent") // its unit allows it no namespaces
	until(t, n.Node, "status tells of pods", "netwright status | grep -q 'proved by.*, pods;'")
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	if got := proved(); !strings.Contains(got, ", pods;") || strings.Contains(got, "pods: not proved") {
		t.Errorf("with three pods: proved by %s", got)
	}

	// On a busy machine it may take longer to add and remove two pods than a proof may last. Then
	// that proof is not made.
	const tries = 6
	forwarded := func(value, code int) bool {
		publish(fmt.Sprintf("  sysctlParameters: [net.ipv4.conf.cbr0.forwarding=%d]\n", value))
		return n.Run(ctx, "netwright", "--once").Code == code
	}
	for try := 1; !strings.Contains(n.Must(ctx, "netwright", "history", "-o", "json"), `"pods:two of our own, pod to outside"`); try++ {
		if try == tries {
			t.Fatalf("no pods were added for the proof:\n%s", n.Must(ctx, "netwright", "history"))
		}
		publish(fmt.Sprintf("  sysctlParameters: [net.ipv4.conf.default.log_martians=%d]\n", 1-try%2))
		n.once(0)
	}

	// Only packets of pods are lost here. The agent adds two pods, sends packets between them, and
	// removes them again.
	before := traces(ctx, n.Node)
	made := `netwright history -o json | jq -e '.revisions[-1].proofs | any(startswith("pods:two of our own"))'`
	for try := 1; !forwarded(0, 1); try++ {
		if try == tries || n.has("sh", "-c", made) || !forwarded(1, 0) {
			t.Fatalf("pods that are not forwarded: the change stays:\n%s", n.Must(ctx, "netwright", "history"))
		}
	}
	if verdict := n.Read("/var/lib/netwright/checkpoint/verdict.json"); !strings.Contains(verdict, `"bad":true`) || !strings.Contains(verdict, "pods:two of our own, pod to outside (") {
		t.Errorf("pods that are not forwarded: verdict: %s", verdict)
	}
	if after := traces(ctx, n.Node); after != before {
		t.Errorf("a proof left something behind:\n%s\nbefore:\n%s", after, before)
	}

	last := pods[2].address.String()
	n.Write("/srv/lab-does", "nft add table inet lab; nft add chain inet lab out '{ type filter hook output priority 0; }'; nft add rule inet lab out ip daddr "+last+" drop\n", 0o755)
	publish(slowHook("lab-drops"))
	res := n.once(1)
	if verdict := n.Read("/var/lib/netwright/checkpoint/verdict.json"); !strings.Contains(verdict, "pod default/web-3 runs, but "+last+" does not answer") {
		t.Errorf("one pod is cut off: verdict: %s\n%s%s", verdict, res.Stdout, res.Stderr)
	}
	if out := n.Must(ctx, "netwright", "history"); !strings.Contains(out, "undone: bad: pods:") {
		t.Errorf("one pod is cut off: history:\n%s", out)
	}
	if !n.pings(pods[2]) {
		t.Error("the pod is not reached after the undo")
	}

	// The pod that is cut off here has ended.
	n.Write("/srv/lab-does", "ctr -n k8s.io tasks kill -a -s KILL "+pods[2].id+"; ip route add unreachable "+last+"\n", 0o755)
	publish(slowHook("lab-ends"))
	n.once(0)
	if got := proved(); !strings.Contains(got, ", pods;") {
		t.Errorf("with one that ended: proved by %s", got)
	}
	for _, pod := range pods[:2] {
		if !n.pings(pod) {
			t.Error("a pod is not reached")
		}
	}

	// After a reset the running pods still reach the node, though forwarding has ended.
	if res := n.Run(ctx, "netwright", "reset"); res.Code != 0 || !n.pings(pods[0]) {
		t.Errorf("a reset with pods that run: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
}
