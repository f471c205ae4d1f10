package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// nodeups has the files that nodeup leaves on a worker of Kubernetes 1.31 with Calico, if they
// could conflict with files of ours. It has those of Calico's DaemonSet, too. The sources are
// kops/nodeup/pkg/model: sysctls.go, kubelet.go, containerd.go, protokube.go;
// upup/pkg/fi/nodeup/install.go.
var nodeups = map[string]string{
	"/etc/systemd/system/kops-configuration.service": "[Unit]\nDescription=Run kOps bootstrap (nodeup)\nDocumentation=https://github.com/kubernetes/kops\n\n[Service]\nType=oneshot\n" +
		"EnvironmentFile=/etc/sysconfig/kops-configuration\nEnvironmentFile=-/etc/environment\nExecStart=/opt/kops/bin/nodeup --conf=/opt/kops/conf/kube_env.yaml --v=8\n\n[Install]\nWantedBy=multi-user.target\n",
	"/etc/systemd/system/kubelet.service":   "[Unit]\nDescription=Kubernetes Kubelet Server\nAfter=containerd.service\n\n[Service]\nEnvironmentFile=/etc/sysconfig/kubelet\nExecStart=/usr/local/bin/kubelet \"$DAEMON_ARGS\"\n",
	"/etc/systemd/system/protokube.service": "[Unit]\nDescription=Kubernetes Protokube Service\n\n[Service]\nExecStart=/opt/kops/bin/protokube\n",
	"/etc/sysconfig/kops-configuration":     "AWS_REGION=us-test-1\n",
	"/etc/sysconfig/kubelet":                "DAEMON_ARGS=\"--config=/var/lib/kubelet/kubelet.conf --cni-bin-dir=/opt/cni/bin --cni-conf-dir=/etc/cni/net.d\"\nHOME=\"/root\"\n",
	"/etc/sysctl.d/99-k8s-general.conf": "vm.max_map_count = 1048576\nkernel.softlockup_panic = 1\nkernel.softlockup_all_cpu_backtrace = 1\nnet.ipv4.ip_local_reserved_ports = 30000-32767\n" +
		"net.core.somaxconn = 32768\nnet.core.rmem_max = 16777216\nnet.core.wmem_max = 16777216\nnet.ipv4.tcp_wmem = 4096 87380 16777216\nnet.ipv4.tcp_rmem = 4096 87380 16777216\n" +
		"net.ipv4.tcp_max_syn_backlog = 8096\nnet.ipv4.tcp_slow_start_after_idle = 0\nnet.ipv4.tcp_tw_reuse = 1\nnet.core.netdev_max_backlog = 16384\nfs.file-max = 2097152\n" +
		"fs.inotify.max_user_instances = 8192\nfs.inotify.max_user_watches = 524288\nvm.overcommit_memory = 1\nkernel.panic = 10\nkernel.panic_on_oops = 1\nnet.ipv4.neigh.default.gc_thresh1 = 0\nnet.ipv4.ip_forward = 1\n",
	"/etc/cni/net.d/10-calico.conflist": `{"name":"k8s-pod-network","cniVersion":"0.3.1","plugins":[{"type":"calico","datastore_type":"kubernetes","nodename":"node-1","mtu":0,"ipam":{"type":"calico-ipam"},` +
		`"policy":{"type":"k8s"},"kubernetes":{"kubeconfig":"/etc/cni/net.d/calico-kubeconfig"}},{"type":"portmap","snat":true,"capabilities":{"portMappings":true}}]}`,
	"/etc/cni/net.d/calico-kubeconfig": "apiVersion: v1\nkind: Config\n",
	"/var/lib/calico/nodename":         "node-1",
	"/opt/cni/bin/calico":              calicos, "/opt/cni/bin/calico-ipam": calicos, "/opt/cni/bin/portmap": calicos, "/opt/cni/bin/loopback": calicos,
	"/opt/kops/bin/nodeup": "#!/bin/sh\n", "/opt/kops/bin/protokube": "#!/bin/sh\n", "/usr/local/bin/kubelet": "#!/bin/sh\n",
}

const calicos = "#!/bin/sh\necho '{\"cniVersion\":\"1.0.0\",\"supportedVersions\":[\"0.1.0\",\"0.2.0\",\"0.3.0\",\"0.3.1\",\"0.4.0\",\"1.0.0\"]}'\n"

// kopsState has a copy of kOps' state store.
var kopsState = map[string]string{
	"cluster-completed.spec": "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata:\n  name: minimal.example.com\nspec:\n  cloudProvider: aws\n  containerRuntime: containerd\n" +
		"  kubernetesVersion: 1.31.2\n  networkCIDR: 10.77.0.0/24\n  networking:\n    calico:\n      encapsulationMode: vxlan\n  nonMasqueradeCIDR: 100.64.0.0/10\n  podCIDR: 100.96.0.0/11\n" +
		"  serviceClusterIPRange: 100.64.0.0/13\n",
	"instancegroup/nodes": "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\nspec:\n  maxSize: 2\n  minSize: 2\n  role: Node\n",
}

// takeOverAndBack types the commands of docs/kops.md on a node with nodeup's files. While the agent
// has the node, and after the reset, these files have the same bytes, mode, owner, time and inode
// as before.
func takeOverAndBack(t *testing.T, n *node.Node) {
	ctx := t.Context()
	for path, content := range nodeups {
		mode := map[bool]string{true: "0755", false: "0644"}[strings.Contains(path, "/bin/")]
		if strings.HasSuffix(path, "kops-configuration") || strings.HasSuffix(path, "kubeconfig") {
			mode = "0600"
		}
		n.Shell(ctx, "mkdir -p \"$(dirname "+path+")\"")
		n.Write(path, content, 0o644)
		n.Must(ctx, "chmod", mode, path)
		n.Must(ctx, "touch", "-d", "2026-01-02T03:04:05Z", path)
	}
	for name, text := range kopsState {
		n.Shell(ctx, "mkdir -p /root/state/minimal.example.com/instancegroup")
		n.Write("/root/state/minimal.example.com/"+name, text, 0o644)
	}
	n.Shell(ctx, "systemctl daemon-reload; sysctl -qw net.ipv4.ip_forward=1; ip link add vxlan.calico type vxlan id 4096 dstport 4789 dev host0 && ip link set vxlan.calico up")
	n.Must(ctx, "systemctl", "enable", "kops-configuration")
	// The file is right, and the kernel's value is not.
	n.Must(ctx, "sysctl", "-qw", "net.core.somaxconn=128")
	page := n.Must(ctx, "agent", "--store", "/root/state", "--cluster", "minimal.example.com", "--node-group", "nodes", "diff", "--nodeup")
	if _, differs, _ := strings.Cut(page, "would be another"); !strings.Contains(differs, "sysctl:net.core.somaxconn") || !strings.Contains(differs, "128 → 32768") {
		t.Errorf("the diff does not list the kernel's value:\n%s", page)
	}
	before := n.Snapshot()
	untouched := func(after string) {
		t.Helper()
		now := n.Snapshot()
		for _, path := range slices.Sorted(maps.Keys(nodeups)) {
			if key := "file " + path; before[key] == "" || now[key] != before[key] {
				t.Errorf("after %s: %s: %s → %s", after, path, before[key], now[key])
			}
		}
	}
	rehearse(ctx, t, n, "kops.md", func(command string) { untouched("what comes before " + command) })
	untouched("all")
	left := n.Traces(before, n.Snapshot(), func(path string) bool {
		return systemds(path) || strings.HasPrefix(path, "/root") || strings.HasPrefix(path, "/etc/netwright") || path == "/etc/systemd/system/netwright-agent.service"
	})
	if len(left) > 0 {
		t.Errorf("left on nodeup's node:\n%s", strings.Join(left, "\n"))
	}
	if out := strings.TrimSpace(n.Must(ctx, "systemctl", "is-enabled", "kops-configuration")); out != "enabled" {
		t.Errorf("nodeup's unit is %s: it does not make its own at the next boot", out)
	}
}
