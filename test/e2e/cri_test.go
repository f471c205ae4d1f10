package e2e

import (
	"context"
	"net/netip"
	"testing"
	"time"

	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/netwright/netwright/test/node"
)

// criPod is a pod that the runtime makes as kubelet asks it to. Its network is the one of the conf
// that containerd has loaded.
type criPod struct {
	id      string
	address netip.Addr // invalid if the pod uses the node's network
	config  *cri.PodSandboxConfig
}

// runPod has containerd make a pod, as soon as its network is ready.
func runPod(ctx context.Context, t *testing.T, n *node.Node, name string, hostNetwork bool) criPod {
	t.Helper()
	mode := cri.NamespaceMode_POD
	if hostNetwork {
		mode = cri.NamespaceMode_NODE
	}
	config := &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name + "-uid"}, LogDirectory: "/var/log/pods",
		DnsConfig: &cri.DNSConfig{Servers: []string{"10.96.0.10"}},
		Linux:     &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{NamespaceOptions: &cri.NamespaceOption{Network: mode, Pid: cri.NamespaceMode_CONTAINER}}},
	}
	client := runtimeClient(t, n)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		made, err := client.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: config})
		if err == nil {
			res, err := client.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: made.PodSandboxId})
			if err != nil {
				t.Fatal(err)
			}
			address, _ := netip.ParseAddr(res.GetStatus().GetNetwork().GetIp())
			return criPod{made.PodSandboxId, address, config}
		}
		if ctx.Err() != nil {
			t.Fatalf("run pod %s: %v\n%s", name, err, n.Run(t.Context(), "journalctl", "-n40", "-u", "containerd", "--no-pager").Stdout)
		}
		config.Metadata.Attempt++   // as kubelet does: the runtime may keep parts of the failed try
		time.Sleep(time.Second / 2) // the runtime has not loaded its network yet
	}
}

// runContainer runs a container in a pod, under the name of an agent's container.
func runContainer(ctx context.Context, t *testing.T, n *node.Node, pod criPod, name string) {
	t.Helper()
	client := runtimeClient(t, n)
	made, err := client.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: pod.id, SandboxConfig: pod.config, Config: &cri.ContainerConfig{
		Metadata: &cri.ContainerMetadata{Name: name}, Image: &cri.ImageSpec{Image: "localhost/pause:1"}, Linux: &cri.LinuxContainerConfig{}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: made.ContainerId}); err != nil {
		t.Fatal(err)
	}
}

func removePod(ctx context.Context, t *testing.T, n *node.Node, pod criPod) {
	t.Helper()
	criStatus(ctx, t, n) // systemd calls containerd started before it serves CRI
	client := runtimeClient(t, n)
	if _, err := client.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: pod.id}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: pod.id}); err != nil {
		t.Fatal(err)
	}
}

// podsOf returns the names of the pods that containerd has.
func podsOf(ctx context.Context, t *testing.T, n *node.Node) map[string]bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	criStatus(ctx, t, n) // containerd may be restarting
	res, err := runtimeClient(t, n).ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, p := range res.GetItems() {
		out[p.GetMetadata().GetName()] = true
	}
	return out
}

// tellPodCIDR tells containerd the node's range, as kubelet does when it starts.
func tellPodCIDR(t *testing.T, n *node.Node, podCIDR string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	criStatus(ctx, t, n) // containerd may be restarting
	request := &cri.UpdateRuntimeConfigRequest{RuntimeConfig: &cri.RuntimeConfig{NetworkConfig: &cri.NetworkConfig{PodCidr: podCIDR}}}
	if _, err := runtimeClient(t, n).UpdateRuntimeConfig(ctx, request); err != nil {
		t.Fatal(err)
	}
}
