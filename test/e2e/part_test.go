package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// A command that sees only a part of the node says so, and does not change that part. The lines
// that keep it: pkg/cli/flags.go, SayLimits and RefuseOtherNetwork; pkg/verify/check_runtime.go,
// lookAtRuntime; pkg/verify/check_health.go, healthChecks (ErrPermission);
// pkg/certs/issue/status.go, List (Unreadable).
func TestACommandThatSeesAPartSaysSo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	n := serve(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Enable: []string{"netwright-agent.service"}}))
	const warning = "in another network namespace"
	n.Must(ctx, "ip", "netns", "add", "other")
	for _, args := range [][]string{{"--dry-run"}, {"verify"}} {
		if said := n.Run(ctx, "netwright", args...).Stderr; strings.Contains(said, warning) {
			t.Errorf("%v on the node: %s", args, said)
		}
		elsewhere := n.Run(ctx, "ip", append([]string{"netns", "exec", "other", "netwright"}, args...)...)
		if !strings.Contains(elsewhere.Stderr, warning) {
			t.Errorf("%v in a network namespace: %s", args, elsewhere.Stderr)
		}
	}

	n.Must(ctx, "ip", "netns", "exec", "other", "netwright", "--once") // by the daemon, in the system's namespace
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	for _, args := range [][]string{{"--once"}, {"rollback"}, {"reset"}, {"undo"}, {"recover"}, {}} {
		res := n.Run(ctx, "ip", append([]string{"netns", "exec", "other", "netwright"}, args...)...)
		if res.Code != 1 || !strings.Contains(res.Stderr, "nsenter --target 1 --net") {
			t.Errorf("%v in a network namespace, and no daemon runs: exit %d\n%s%s", args, res.Code, res.Stdout, res.Stderr)
		}
	}
	n.Is(ctx, "! ip -n other link show cbr0 && ip link show cbr0")

	nobody := func(args ...string) node.Result {
		return n.Run(ctx, "setpriv", append([]string{"--reuid=65534", "--regid=65534", "--clear-groups", "netwright"}, args...)...)
	}
	verify := nobody("verify")
	if verify.Code != 3 || strings.Contains(verify.Stdout, "check that it runs") ||
		strings.Count(verify.Stdout, "→ run it as root, whom alone the runtime answers") != 2 {
		t.Errorf("verify by another user than root: exit %d\n%s", verify.Code, verify.Stdout)
	}
	certs := nobody("certs")
	if certs.Code != 1 || !strings.Contains(certs.Stderr, "can be read by root only: run it as root") {
		t.Errorf("certs by another user than root: exit %d\n%s", certs.Code, certs.Stderr)
	}
}
