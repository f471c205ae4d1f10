package cleanup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/daemons"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
	"github.com/netwright/netwright/test/vm"
)

// cluster is a Kubernetes API server for virtual machines, whose kernel has modules that this
// machine may not have.
type cluster struct {
	fabric *node.Fabric
	server *kubeapi.Server
}

func newCluster(t *testing.T) cluster {
	t.Helper()
	kubeapi.Tier(t)
	if os.Getenv("NETWRIGHT_MODULES") != "full" {
		t.Skip("boots whole machines, minutes each: make test-all")
	}
	fabric := node.NewFabric(t)
	return cluster{fabric, kubeapi.Start(t, kubeapi.Options{Netns: fabric.Netns(), Address: node.Gateway4})}
}

// run boots the machine vm-NUMBER with the address 10.77.0.2NUMBER, and runs a script of testdata
// with the machine's name and more words. It returns the script's output. packages are packages of
// the distribution.
func (c cluster) run(t *testing.T, number int, script, words string, payload map[string]string, packages ...string) string {
	t.Helper()
	name, address := fmt.Sprintf("vm-%d", number), fmt.Sprintf("10.77.0.2%d", number)
	archived, sum := assets.CNIArchive(t)
	plugins, err := os.ReadFile(archived)
	if err != nil {
		t.Fatal(err)
	}
	store := t.TempDir()
	for path, text := range map[string]string{
		"nodegroups/nodes.yaml":   document("NodeGroup", "nodes", "  role: Node\n"),
		"nodes/" + name + ".yaml": document("Node", name, "  nodeGroup: nodes\n  address: "+address+"\n  podCIDRs: [10.244.1.0/24]\n"),
		"assets/plugins.tgz":      string(plugins),
	} {
		path = filepath.Join(store, "lab", path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	admin := c.server.Authority.Client("admin", "system:masters")
	all := map[string]string{
		"netwright": program.Agent(t), "store": store, "layer.tar": archive(t, t.TempDir(), node.Layer(t, packages...)),
		"cluster.yaml": c.server.File(document("Cluster", "lab", "  kubernetesVersion: 1.33.2\n  podCIDR: 10.244.0.0/16\n  nonMasqueradeCIDR: 10.0.0.0/8\n  SPEC\n"+pluginSpec(sum))),
		"ca.crt":       c.server.File(c.server.Authority.PEM), "client.crt": c.server.File(admin.Cert), "client.key": c.server.File(admin.Key),
		"kubeconfig": c.server.File(c.server.Kubeconfig("https://"+node.Gateway4+":6443", admin)),
	}
	for _, file := range []string{script, "machine.sh", "switch.sh", "state.sh"} {
		all[file] = "testdata/" + file
	}
	maps.Copy(all, payload)
	boot := vm.Run(t, vm.Options{Fabric: c.fabric, Address: address, MAC: fmt.Sprintf("52:54:00:00:00:%02x", number), Payload: all,
		Boots: []string{fmt.Sprintf("sh ./%s %s %s 2>&1", script, name, words)}})[0]
	t.Log(boot.Output)
	return boot.Output
}

// leftAsBefore fails for each difference that a script found, and if fewer than 100 lines of the
// machine's state were made.
func leftAsBefore(t *testing.T, output string) {
	t.Helper()
	if strings.Contains(output, "DIFF ") {
		t.Error("the machine is not as it was on bridge: see DIFF above")
	}
	if !regexp.MustCompile(`made \d{3,} lines`).MatchString(output) {
		t.Error("they made fewer than 100 lines")
	}
}

// Two machines run Kube-OVN's daemons and OVN for one node each, and their pods reach each other by
// Geneve. Then one machine switches to bridge, and nothing of the daemons is left.
func TestKubernetesKubeOVN(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	central := c.fabric.Node(t, node.Options{Name: "central", Address: "10.77.0.13", Degraded: true, Layers: []string{node.Layer(t, daemons.OVNCentral...)}})
	for name, address := range map[string]string{"vm-1": "10.77.0.21", "vm-2": "10.77.0.22"} {
		daemons.Join(t, c.server, name, []string{"10.244.0.0/24"}, []string{address})
		daemons.Pod(t, c.server, "pod-"+name, name)
	}
	daemons.NewKubeOVN(t, c.server).Central(t.Context(), central)
	payload := map[string]string{"cnitool": assets.Cnitool(t), "kube-ovn": filepath.Join(assets.Plugins(t, "kubeovn"), "cni"),
		"kube-ovn-daemon": filepath.Join(assets.KubeOVN(t), "daemon")}
	for _, file := range []string{"kubectl-ko", "01-kube-ovn.conflist"} {
		payload[file] = filepath.Join(assets.KubeOVN(t), file)
	}
	for number, words := range map[int]string{1: "10.77.0.21 vm-2", 2: "10.77.0.22 vm-1"} {
		t.Run(fmt.Sprintf("vm-%d", number), func(t *testing.T) {
			t.Parallel()
			out := c.run(t, number, "kubeovn.sh", words, payload, "openvswitch-switch", "ovn-host")
			if !strings.Contains(out, "3 received") || !strings.Contains(out, "genev_sys_6081") {
				t.Error("the pods do not reach each other by Geneve")
			}
			if number == 1 {
				leftAsBefore(t, out)
				if !strings.Contains(out, "nothing here has the name") {
					t.Error("the agent finds something of it")
				}
			}
		})
	}
}

// What a real kube-proxy made in mode ipvs is removed when kube-proxy has ended. What others have
// in IPVS stays.
func TestKubernetesKubeProxyByIPVS(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	daemons.Join(t, c.server, "vm-1", []string{"10.244.1.0/24"}, []string{"10.77.0.21"})
	c.server.Apply(`apiVersion: v1
kind: Service
metadata:
  name: near
  namespace: default
spec: {clusterIP: 10.96.0.50, ports: [{name: http, port: 80, targetPort: 8080}]}
`)
	c.server.Apply(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: near
  namespace: default
  labels: {kubernetes.io/service-name: near}
addressType: IPv4
endpoints: [{addresses: [10.244.1.5], nodeName: vm-1, conditions: {ready: true}}]
ports: [{name: http, port: 8080}]
`)
	leftAsBefore(t, c.run(t, 1, "kubeproxy.sh", "", map[string]string{"kube-proxy": filepath.Join(assets.Kubernetes(t), "kube-proxy")}, "ipvsadm"))
}
