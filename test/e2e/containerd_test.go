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

// The real containerd loads the conf that the agent published. The agent names a conf that another
// program put before it.
func TestContainerdLoadsTheConf(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	n := node.NewFabric(t).Node(t, options(t, bridgeStore(t), "node-1", "10.77.0.11", node.Options{}))
	if ready, _ := networkStatus(ctx, t, n); ready {
		t.Fatal("containerd has a network before the agent ran")
	}
	n.Must(ctx, "netwright", "--once")
	awaitNetwork(ctx, t, n)

	n.Write("/etc/cni/net.d/00-stale.conflist", `{"cniVersion":"1.0.0","name":"stale","plugins":[{"type":"no-such-plugin"}]}`, 0o644)
	res := n.Run(ctx, "netwright", "--dry-run")
	if !strings.Contains(res.Stdout+res.Stderr, "00-stale.conflist") {
		t.Errorf("a conf that wins by its name is not reported: exit %d\n%s\n%s", res.Code, res.Stdout, res.Stderr)
	}
	if n.Run(ctx, "netwright", "--once").Code == 0 {
		t.Log("a foreign conf is no failure of ours, and is reported")
	}
	n.Must(ctx, "test", "-e", "/etc/cni/net.d/00-stale.conflist") // another program's: never touched
}

// containerd 1.x may take its CNI settings from a file that its main file imports. Then the agent
// sets the documents' directory in that file. A relative directory means the one below /. The lines
// that keep it: pkg/model/runtime.go, containerd; pkg/host/facts/runtime_config.go, absolute.
func TestContainerdTakesTheDirectoriesInAnothersSection(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	const cri, nvidia = "[plugins.\"io.containerd.grpc.v1.cri\"", "/etc/containerd/conf.d/99-nvidia.toml"
	main := "version = 2\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n" + cri + ".cni]\n  bin_dir = \"opt/cni/bin\"\n  conf_dir = \"etc/cni/net.d/\"\n"
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: map[string]string{"/etc/containerd/config.toml": main}}))

	n.Must(ctx, "netwright", "--once")
	awaitNetwork(ctx, t, n)

	n.Write(nvidia, "version = 2\n"+cri+".containerd]\n  default_runtime_name = \"runc\"\n", 0o644)
	n.Must(ctx, "systemctl", "restart", "containerd.service")
	if got := criCNI(ctx, t, n); got.ConfDir != "/etc/cni/net.d" {
		t.Fatalf("containerd has conf_dir %s: it does not replace the section", got.ConfDir)
	}
	text := document("Cluster", cluster, strings.Replace(bridgeSpec, "bridge: {}", "bridge: {}\n    cni: {confDir: /srv/cni/net.d}", 1)+s.pluginSpec(t))
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", text, 0o644)
	n.Must(ctx, "netwright", "--once")
	if got := criCNI(ctx, t, n); got.ConfDir != "/srv/cni/net.d" {
		t.Errorf("containerd has conf_dir %s\n%s", got.ConfDir, n.Must(ctx, "cat", nvidia))
	}
	if now := n.Must(ctx, "cat", "/etc/containerd/config.toml"); now != main {
		t.Errorf("its main file is another, where nothing counts:\n%s", now)
	}
	if res := n.Run(ctx, "netwright", "--dry-run"); res.Code != 0 {
		t.Errorf("a dry run after it exits %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
}

// awaitNetwork waits until the node's containerd has loaded the network of our bridge.
func awaitNetwork(ctx context.Context, t *testing.T, n *node.Node) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute) // only so that a test that hangs ends
	for {
		ready, info := networkStatus(ctx, t, n)
		if ready && strings.Contains(info, "cbr0") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("containerd did not load the conf: ready %v\n%s", ready, info)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// criStatus asks the node's containerd over CRI, as kubelet does. A containerd that has just
// started serves CRI a moment later.
func criStatus(ctx context.Context, t *testing.T, n *node.Node) *cri.StatusResponse {
	t.Helper()
	client := runtimeClient(t, n)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // only so that a test that hangs ends
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

// networkStatus returns whether the node's containerd has a network, and its whole status.
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
