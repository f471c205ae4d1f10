package e2e

import (
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

// kubelets has two nodes with the agent, containerd and a real kubelet, and the API server that
// they joined. There is no scheduler and no controller: pods name their node, and the test writes
// the EndpointSlices.
type kubelets struct {
	*kubeapi.Server
	t       *testing.T
	fabric  *node.Fabric
	nodes   [2]*node.Node
	plugins string
}

// The nodes' image has what the agent does not install: programs, units, credentials, and the
// configuration of everything except the network.
var kubeletFiles = map[string]string{
	"/etc/systemd/system/kubelet.service": `[Unit]
Wants=containerd.service
After=containerd.service lab-kernel.service
[Service]
ExecStart=/usr/local/bin/kubelet --config=/etc/kubernetes/kubelet.yaml --config-dir=/etc/kubernetes/kubelet.conf.d --kubeconfig=/var/lib/kubelet/kubeconfig
Restart=always
RestartSec=1s
`,
	// A node has the cgroups of this machine, which may be v1, and no slice of its own:
	// failCgroupV1, cgroupDriver, enforceNodeAllocatable. It may lack CAP_SYS_RESOURCE:
	// oomScoreAdj. Swap and disk are the machine's: failSwapOn, evictionHard,
	// localStorageCapacityIsolation.
	"/etc/kubernetes/kubelet.yaml": `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: /etc/kubernetes/ca.crt}}
authorization: {mode: AlwaysAllow}
failCgroupV1: false
cgroupDriver: cgroupfs
enforceNodeAllocatable: []
oomScoreAdj: 0
failSwapOn: false
evictionHard: {memory.available: 1Mi, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%, imagefs.inodesFree: 0%}
localStorageCapacityIsolation: false
nodeStatusUpdateFrequency: 1s
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
`,
	"/etc/kubernetes/kubelet.conf.d/.keep": "",
	"/etc/resolv.conf":                     "# the nodes have no resolver of their own\n",
	// kubelet sets three settings of the kernel that belong to this machine. These mounts show it
	// the values that it wants, so it sets nothing.
	"/etc/systemd/system/lab-kernel.service": `[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=mount --bind /etc/kubernetes/kernel/overcommit_memory /proc/sys/vm/overcommit_memory
ExecStart=mount --bind /etc/kubernetes/kernel/panic /proc/sys/kernel/panic
ExecStart=mount --bind /etc/kubernetes/kernel/panic_on_oops /proc/sys/kernel/panic_on_oops
`,
	"/etc/kubernetes/kernel/overcommit_memory": "1\n",
	"/etc/kubernetes/kernel/panic":             "10\n",
	"/etc/kubernetes/kernel/panic_on_oops":     "1\n",
}

// newKubelets boots the nodes with this network, and does not wait until they are ready.
func newKubelets(t *testing.T, networking string) *kubelets {
	t.Helper()
	kubeapi.Tier(t)
	k := &kubelets{t: t, fabric: node.NewFabric(t)}
	bin := assets.Kubernetes(t)
	k.Server = kubeapi.Start(t, kubeapi.Options{Netns: k.fabric.Netns(), Address: node.Gateway4})
	s := newStore(t, "", nil)
	k.plugins = s.pluginSpec(t)
	s.write(t, "cluster.yaml", k.document(networking))
	for i := range k.nodes {
		path, text := nodeDocument(fmt.Sprintf("node-%d", i+1), fmt.Sprintf("10.77.0.1%d", i+1), "["+podRange(i)+"]")
		s.write(t, path, text)
	}
	images := map[string]string{"/srv/images/pause.tar": pauseImage(t), "/srv/images/pod.tar": image(t, "localhost/pod:1", program.Build(t, "test/e2e/testdata/pod"))}
	for i := range k.nodes {
		name := fmt.Sprintf("node-%d", i+1)
		files := maps.Clone(kubeletFiles)
		files["/etc/netwright/agent.yaml"] = "store: /srv/netwright\ncluster: " + cluster + "\nnode: " + name + "\ninterval: 5s\n"
		files["/etc/kubernetes/ca.crt"] = k.Authority.PEM
		n := k.fabric.Prepare(t, options(t, s, name, fmt.Sprintf("10.77.0.1%d", i+1), node.Options{
			Files: files, Copies: images, Enable: []string{"lab-kernel.service", "netwright-agent.service", "kubelet.service"},
			Binds: map[string]string{"/usr/local/bin/kubelet": filepath.Join(bin, "kubelet"), "/usr/local/bin/kube-proxy": filepath.Join(bin, "kube-proxy"), "/dev/kmsg": "/dev/kmsg"},
		}))
		n.Write("/var/lib/kubelet/kubeconfig", k.Kubeconfig(k.Endpoint, k.Kubelet(name)), 0o600)
		n.Boot(t.Context())
		n.Shell(t.Context(), "for i in /srv/images/*; do ctr -n k8s.io images import $i; done")
		k.nodes[i] = n
	}
	return k
}

// document returns the cluster's document with a network. kubelet's own limit of pods shows that
// kubelet gets the agent's settings.
func (k *kubelets) document(networking string) string {
	return document("Cluster", cluster, `  kubernetesVersion: 1.36.3
  podCIDR: 10.244.0.0/16
  serviceClusterIPRange: 10.96.0.0/16
  nonMasqueradeCIDR: 10.244.0.0/16
  kubelet: {maxPods: 42}
  networking:
`+networking+k.plugins)
}

// wait waits until is returns true. Its limit is only for a test that hangs.
func (k *kubelets) wait(what string, is func() bool) {
	k.t.Helper()
	end := time.Now().Add(3 * time.Minute)
	for !is() {
		if time.Now().After(end) {
			for _, n := range k.nodes {
				k.t.Log(n.Run(k.t.Context(), "sh", "-c", "tail -n20 /var/log/pods/*/*/*.log").Stdout)
			}
			k.t.Fatalf("it never came that %s\n%s", what, k.Must("GET", "/api/v1/pods", ""))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ready waits until both nodes are ready, as their kubelets report it.
func (k *kubelets) ready() {
	k.t.Helper()
	for _, n := range k.nodes {
		k.wait(n.Name()+" is Ready", func() bool {
			code, _, err := k.Try("GET", "/api/v1/nodes/"+n.Name(), "")
			return err == nil && code == 200 && slices.ContainsFunc(k.node(n).Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
			})
		})
	}
}

func (k *kubelets) node(n *node.Node) corev1.Node {
	k.t.Helper()
	var out corev1.Node
	k.Get("/api/v1/nodes/"+n.Name(), &out)
	return out
}

// pod makes a pod with a server on a node, and waits until it runs. ports has lines for its
// container.
func (k *kubelets) pod(name string, n *node.Node, ports string) {
	k.t.Helper()
	k.Apply(fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  name: %s
  namespace: default
spec:
  nodeName: %s
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: "localhost/pod:1", imagePullPolicy: Never, args: [serve], ports: [{containerPort: 8080%s}], readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1}}
`, name, n.Name(), ports))
	k.address("default", name)
}

// address returns the address of a pod that runs and answers its kubelet's probe.
func (k *kubelets) address(namespace, name string) netip.Addr {
	k.t.Helper()
	var p corev1.Pod
	k.wait("pod "+name+" is Ready", func() bool {
		k.Get("/api/v1/namespaces/"+namespace+"/pods/"+name, &p)
		return p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
	})
	address, err := netip.ParseAddr(p.Status.PodIP)
	if err != nil {
		k.t.Fatalf("pod %s runs without an address: %+v", name, p.Status)
	}
	return address
}

// get requests a URL from within a pod, as `crictl exec` would.
func (k *kubelets) get(n *node.Node, pod, url string) (answer string, ok bool) {
	k.t.Helper()
	client := runtimeClient(k.t, n)
	found, err := client.ListContainers(k.t.Context(), &cri.ListContainersRequest{Filter: &cri.ContainerFilter{
		State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING}, LabelSelector: map[string]string{"io.kubernetes.pod.name": pod}}})
	if err != nil || len(found.GetContainers()) != 1 { // kubelet may be about to make it again
		return fmt.Sprintf("looking for the container of pod %s on %s: %v, %d", pod, n.Name(), err, len(found.GetContainers())), false
	}
	res, err := client.ExecSync(k.t.Context(), &cri.ExecSyncRequest{ContainerId: found.Containers[0].Id, Cmd: []string{"/entry", "get", url}, Timeout: 60})
	if err != nil {
		return fmt.Sprintf("running a program in pod %s: %v", pod, err), false
	}
	return strings.TrimSpace(string(res.GetStdout()) + string(res.GetStderr())), res.GetExitCode() == 0
}
