package e2e

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/node"
)

// peers has files of other agents of Kubernetes nodes: nodeup, nodeadm, kubeadm.
var peers = map[string]string{
	"/etc/systemd/system/kops-configuration.service":        "[Unit]\nDescription=nodeup's\n[Service]\nType=oneshot\nExecStart=/bin/true\n",
	"/etc/sysctl.d/99-k8s-general.conf":                     "net.ipv4.ip_forward = 1\n",
	"/etc/sysconfig/kops-configuration":                     "nodeup's\n",
	"/etc/eks/kubelet/environment":                          "NODEADM=1\n",
	"/etc/eks/image-credential-provider/config.json":        "{}\n",
	"/var/lib/kubelet/kubeadm-flags.env":                    "KUBELET_KUBEADM_ARGS=\"--kubeadm\"\n",
	"/etc/systemd/system/kubelet.service.d/10-kubeadm.conf": "[Service]\nEnvironment=KUBEADM=1\n",
	"/etc/kubernetes/kubelet.conf":                          "kubeadm's\n",
}

// nodeup, nodeadm and kubeadm own files on a node. The plan reports these, and the agent never
// writes or removes them: not in a converge whose documents want another content, nor in a prune, a
// rollback or a reset. The lines that keep it: pkg/reconcile/changes/plan_task.go, makable and
// peerOf (NotApplicable; without it the converge writes them).
func TestFilesOfPeersStay(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	plain, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{"/etc/sysctl.d/99-k8s-general.conf", "/etc/eks/image-credential-provider/config.json", "/var/lib/kubelet/kubeadm-flags.env",
		"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/ours.conf", "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"}
	doc := string(plain) + "  fileAssets:\n"
	for _, path := range wanted {
		doc += "  - {name: x" + strings.NewReplacer("/", "-", ".", "-").Replace(path) + ", path: " + path + ", content: ours}\n"
	}
	doc += "  - {name: ours, path: /etc/ours, content: ours}\n"
	s.write(t, "cluster.yaml", doc)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Files: maps.Clone(peers)}))
	of := func(snapshot node.Snapshot) node.Snapshot {
		out := node.Snapshot{}
		for key, value := range snapshot {
			path := strings.TrimPrefix(key, "file ")
			if _, theirs := peers[path]; theirs || strings.HasPrefix(path, "/etc/kubernetes") || strings.HasPrefix(path, "/etc/eks") {
				out[key] = value
			}
		}
		return out
	}
	before := of(n.Snapshot())
	if len(before) <= len(peers) {
		t.Fatalf("the node has %d of %d files", len(before), len(peers))
	}
	untouched := func(after string) {
		t.Helper()
		for _, line := range node.Diff(before, of(n.Snapshot())) {
			t.Errorf("after %s: %s", after, line)
		}
	}

	listed := messages(plan(ctx, t, n, 2), report.NotApplicable)
	for _, path := range wanted {
		if !strings.Contains(listed, "file:"+path+": node") && !strings.Contains(listed, "file:"+path+": kube") {
			t.Errorf("the plan does not say whose %s is:\n%s", path, listed)
		}
	}
	n.Must(ctx, "netwright", "--once")
	untouched("converge")
	if got := n.Read("/etc/ours"); got != "ours" {
		t.Errorf("our own file holds %q", got)
	}
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", string(plain), 0o644)
	n.Must(ctx, "netwright", "--once")
	untouched("prune")
	if out := n.Shell(ctx, "ls /etc/ours 2>&1 || true"); !strings.Contains(out, "No such file") {
		t.Errorf("our own file stays: %s", out)
	}
	n.Must(ctx, "netwright", "rollback")
	untouched("rollback")
	n.Must(ctx, "netwright", "reset")
	untouched("reset")
	for _, path := range slices.Sorted(maps.Keys(peers)) {
		if got := n.Read(path); got != peers[path] {
			t.Errorf("%s holds %q", path, got)
		}
	}
}
