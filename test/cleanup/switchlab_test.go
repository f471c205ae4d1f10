package cleanup

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

// switchNode is a booted node with the agent, a unit in kubelet's place, a store, and things of
// other owners.
type switchNode struct {
	*node.Node
	t      *testing.T
	assets string
	flows  []flow // of the things of other owners
	lost   bool   // its state is not known
}

func newSwitchNode(t *testing.T, f *node.Fabric) *switchNode {
	t.Helper()
	copies := map[string]string{"/lab/pin": pin(t), "/lab/switch.sh": "testdata/switch.sh"}
	for _, name := range scripts {
		copies["/lab/"+name] = filepath.Join("testdata", name)
	}
	n := agentNode(t, f, "n1", "10.77.0.11", "10.244.1.0/24", copies)
	n.shell("begin")
	n.flows = n.traffic(f)
	return n
}

// agentNode boots a node that has only the agent, a kubelet and a store.
func agentNode(t *testing.T, f *node.Fabric, name, address, pods string, copies map[string]string) *switchNode {
	t.Helper()
	archive, sum := assets.CNIArchive(t)
	n := &switchNode{t: t, assets: pluginSpec(sum)}
	all := map[string]string{"/usr/bin/netwright": program.Agent(t), "/srv/store/lab/assets/plugins.tgz": archive}
	maps.Copy(all, copies)
	n.Node = f.Node(t, node.Options{Name: name, Address: address, Copies: all, Enable: []string{"kubelet.service"}, Files: map[string]string{
		"/etc/systemd/system/kubelet.service":    "[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart=/bin/sleep infinity\n",
		"/etc/netwright/agent.yaml":              "store: /srv/store\ncluster: lab\nnode: " + name + "\n",
		"/srv/store/lab/nodegroups/nodes.yaml":   document("NodeGroup", "nodes", "  role: Node\n"),
		"/srv/store/lab/nodes/" + name + ".yaml": document("Node", name, "  nodeGroup: nodes\n  address: "+address+"\n  podCIDRs: ["+pods+"]\n"),
	}})
	return n
}

// pluginSpec returns the lines of a spec that name the plugins in the store, with their hash.
func pluginSpec(sum string) string {
	return fmt.Sprintf("  assets:\n  - {name: cni-plugins, arch: {%s: {sha256: %s, urls: [assets/plugins.tgz]}}}\n", runtime.GOARCH, sum)
}

// shell runs a line with the functions of testdata/switch.sh.
func (n *switchNode) shell(line string) string {
	n.t.Helper()
	return n.Shell(n.t.Context(), "cd /lab; . ./switch.sh; "+line)
}

// wants writes the cluster's document. networking is the text below spec.networking.
func (n *switchNode) wants(version, cloud, networking string) {
	spec := "  kubernetesVersion: " + cmp.Or(version, "1.33.2") + "\n  podCIDR: 10.244.0.0/16\n  nonMasqueradeCIDR: 10.0.0.0/8\n"
	if cloud != "" {
		spec += "  cloudProvider: " + cloud + "\n"
	}
	n.Write("/srv/store/lab/cluster.yaml", document("Cluster", "lab", spec+"  networking:\n    "+networking+n.assets), 0o644)
}

func document(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: netwright.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n%s", kind, name, spec)
}
