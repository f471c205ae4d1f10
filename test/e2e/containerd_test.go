package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/netwright/netwright/test/node"
)

// The real containerd loads the conf that the agent published; one that somebody put before it is
// reported by name.
func TestContainerdLoadsTheConf(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{}))
	if ready, _ := networkStatus(ctx, t, n); ready {
		t.Fatal("containerd has a network before the agent ran")
	}
	n.Must(ctx, "netwright", "--once")
	deadline := time.Now().Add(2 * time.Minute) // it only ends what hangs
	for {
		ready, info := networkStatus(ctx, t, n)
		if ready && strings.Contains(info, "cbr0") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("containerd did not load the conf: ready %v\n%s", ready, info)
		}
		time.Sleep(100 * time.Millisecond)
	}

	n.Write("/etc/cni/net.d/00-stale.conflist", `{"cniVersion":"1.0.0","name":"stale","plugins":[{"type":"no-such-plugin"}]}`, 0o644)
	res := n.Run(ctx, "netwright", "--dry-run")
	if !strings.Contains(res.Stdout+res.Stderr, "00-stale.conflist") {
		t.Errorf("a conf that wins by its name is not reported: exit %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
	}
	if n.Run(ctx, "netwright", "--once").Code == 0 {
		t.Log("a foreign conf is no failure of ours, and is reported")
	}
	n.Must(ctx, "test", "-e", "/etc/cni/net.d/00-stale.conflist") // somebody else's: never touched
}

// criStatus asks the node's containerd by CRI, as kubelet does. A containerd that has just started
// serves CRI a moment later.
func criStatus(ctx context.Context, t *testing.T, n *node.Node) *cri.StatusResponse {
	t.Helper()
	client := runtimeClient(t, n)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // it only ends what hangs
	defer cancel()
	for {
		res, err := client.Status(ctx, &cri.StatusRequest{Verbose: true}, grpc.WaitForReady(true))
		if err == nil {
			return res
		}
		if ctx.Err() != nil {
			t.Fatalf("containerd serves no CRI: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// networkStatus is whether the node's containerd has a network, and all that it says of itself.
func networkStatus(ctx context.Context, t *testing.T, n *node.Node) (ready bool, info string) {
	t.Helper()
	res := criStatus(ctx, t, n)
	for _, c := range res.GetStatus().GetConditions() {
		if c.GetType() == "NetworkReady" {
			ready = c.GetStatus()
		}
	}
	out, err := json.Marshal(res.GetInfo())
	if err != nil {
		t.Fatal(err)
	}
	return ready, string(out)
}
