package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/daemons"
	"github.com/netwright/netwright/test/kubeapi"
	"github.com/netwright/netwright/test/node"
)

// apiNetwork is a network whose daemons ask the Kubernetes API.
type apiNetwork struct {
	name, conf string
	spec       string // the text below its name; "": {}
	// bring starts the network's servers for the cluster, on the first node.
	bring func(ctx context.Context, t *testing.T, server *kubeapi.Server, fabric *node.Fabric, first *node.Node) apiDaemons
	after string // the check of verify that fails when the conf is there and no daemon
	units []string
	signs []string // the checks of verify about its daemons
	// stops ends the daemon of the check missed, which then fails.
	stops, missed string
	unjudged      string // why verify sends no packets for it
	hostPorts     bool
}

// apiDaemons is what a network's DaemonSet does on a node.
type apiDaemons interface {
	Install(ctx context.Context, n *node.Node)
	Start(ctx context.Context, n *node.Node)
}

var apiNetworks = []apiNetwork{
	{
		name: "coil", conf: "10-coil.conflist",
		bring: func(ctx context.Context, t *testing.T, server *kubeapi.Server, _ *node.Fabric, first *node.Node) apiDaemons {
			d := daemons.NewCoil(t, server, "10.244.0.0/16", "")
			d.Controller(ctx, first)
			return d
		},
		after: "coild answers the plugin", units: []string{"coild", "coil-router"}, signs: []string{"coild answers the plugin", "coild is ready", "each pod has its link"},
		stops: "systemctl stop coild coil-router", missed: "coild is ready", unjudged: "coild asks the API for each pod", hostPorts: true,
	},
	{
		name: "hybridnet", conf: "06-hybridnet.conflist", spec: "{networkType: vlan}",
		bring: func(ctx context.Context, t *testing.T, server *kubeapi.Server, fabric *node.Fabric, first *node.Node) apiDaemons {
			d := daemons.NewHybridnet(t, server, fabric)
			d.Manager(ctx, first)
			return d
		},
		after: "its daemon answers the plugin", units: []string{"hybridnet-daemon"}, signs: []string{"its daemon answers the plugin", "its daemon is alive", "each pod has its link"},
		stops: "systemctl stop hybridnet-daemon", missed: "its daemon is alive", unjudged: "Hybridnet's manager gives addresses to the API's Pods",
	},
}

// Pods on two nodes reach each other by the real daemons and plugins of networks that use the
// Kubernetes API, one network after the other on the same nodes. The agent prepares the nodes and
// waits. Then the DaemonSet's files come, and the agent finds all well. `agent verify` says at each
// step what is missing, and `agent networks --found` finds nothing of a network that the nodes
// left.
func TestKubernetesPodsTalk(t *testing.T) {
	t.Parallel()
	kubeapi.Tier(t)
	ctx, fabric := t.Context(), node.NewFabric(t)
	server := kubeapi.Start(t, kubeapi.Options{Netns: fabric.Netns(), Address: node.Gateway4})
	s := newStore(t, bridgeSpec, nil)
	nodes := nodesOf(t, fabric, s, bridgeSpec)
	for i, n := range nodes {
		daemons.Join(t, server, n.Name(), []string{podRange(i)}, []string{n.Address()})
		daemons.Pod(t, server, podOf(i), n.Name())
	}
	left := ""
	for _, c := range apiNetworks {
		done := t.Run(c.name, func(t *testing.T) {
			d := c.bring(ctx, t, server, fabric, nodes[0])
			networking := c.name + ": " + c.spec
			if c.spec == "" {
				networking += "{}"
			}
			if left != "" {
				networking += "\n    switch: {allow: true, from: " + left + "}"
			}
			text := document("Cluster", cluster, strings.Replace(bridgeSpec, "bridge: {}", networking, 1)+s.pluginSpec(t))
			var pods [2]*node.Pod
			for i, n := range nodes {
				n.Write("/srv/netwright/"+cluster+"/cluster.yaml", text, 0o644)
				if res := n.Run(ctx, "netwright", "--once", "--wait", "1s"); res.Code != 3 {
					t.Errorf("%s: without a conf --wait ends with exit %d, want 3\n%s%s", n.Name(), res.Code, res.Stdout, res.Stderr)
				}
				if left != "" {
					if found := n.Must(ctx, "netwright", "networks", "--found", left); !strings.Contains(found, "nothing here has the name") {
						t.Errorf("%s: of %s there is:\n%s", n.Name(), left, found)
					}
				}
				verified(ctx, t, n, 3, "no "+c.conf)
				d.Install(ctx, n)
				n.Must(ctx, "netwright", "--once", "--wait", "1m")
				verified(ctx, t, n, 1, c.after)
				d.Start(ctx, n)
				options := node.PodOptions{}
				if c.hostPorts {
					options.Ports = []node.HostPort{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}
				}
				pods[i] = n.AddPod(ctx, podOf(i), options)
				if len(pods[i].Addresses) != 1 || !netip.MustParsePrefix("10.244.0.0/16").Contains(pods[i].Addresses[0]) {
					t.Fatalf("the pod of %s has the addresses %v, want one of the cluster's range", n.Name(), pods[i].Addresses)
				}
			}
			reach(ctx, t, nodes, pods)
			for _, n := range nodes {
				for _, sign := range c.signs {
					verified(ctx, t, n, 0, sign)
				}
			}
			if c.hostPorts {
				hostPort(t, fabric, pods[0], netip.MustParseAddrPort("10.77.0.11:8080"))
			}
			n := nodes[0]
			if said := n.Must(ctx, "netwright", "verify", "--traffic"); !strings.Contains(said, "packets between test pods cannot test this network: "+c.unjudged) {
				t.Errorf("verify --traffic says:\n%s", said)
			}
			nothingToDo(t, n)
			n.Shell(ctx, c.stops)
			verified(ctx, t, n, 1, c.missed)
			d.Start(ctx, n)
			verified(ctx, t, n, 0, c.signs[0])
			for i, n := range nodes {
				pods[i].Delete(ctx)
				nothingToDo(t, n)
				n.Must(ctx, "systemctl", append([]string{"stop"}, c.units...)...)
			}
		})
		if !done {
			t.Fatalf("%s stays on the nodes: those after it are not tried", c.name)
		}
		left = c.name
	}
}

func podOf(i int) string { return fmt.Sprintf("pod-%d", i+1) }
