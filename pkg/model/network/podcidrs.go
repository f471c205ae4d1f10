package network

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// PodCIDRs is the name of the [tasks.Await] for the node's pod CIDRs.
const PodCIDRs = "pod-cidr"

// awaitPodCIDRs adds a task that waits for the node's pod CIDRs.
func (b *Built) awaitPodCIDRs(in Input, why, elsewhere string) {
	b.add(tasks.Await{
		Meta: tasks.Meta{From: in.NetworkOrigin(), Why: why, At: graph.AfterKubelet},
		Name: PodCIDRs, Reason: in.podCIDRReason(elsewhere)})
}

// podCIDRReason returns for a message what the node waits for and what a person can do. elsewhere
// names one more place in the documents where the pod CIDRs may be.
func (in Input) podCIDRReason(elsewhere string) string {
	api := "or give the agent a kubeconfig: then it takes what the cluster gives its Node"
	if in.NoPodCIDRs != "" {
		api = "or have the cluster give its Node some: " + in.NoPodCIDRs
	}
	if in.Node.Name == "" {
		return fmt.Sprintf("the pod CIDRs of this node: put podCIDRs into its document under nodes/%s, %s", elsewhere,
			api)
	}
	return fmt.Sprintf("the pod CIDRs of %s: put podCIDRs into nodes/%s.yaml%s, %s", in.Node.Name, in.Node.Name,
		elsewhere, api)
}

// podVariables are the variables of a conf's template whose values come from the node's pod CIDRs.
var podVariables = []string{"PodCIDR", "PodCIDR4", "PodCIDR6", "Ranges", "Routes"}

// customNodes asks for the node's pod CIDRs if the template uses them and no document has them.
func customNodes(n *config.Node) NodesWanted {
	c := n.Networking.Custom
	return NodesWanted{Own: c != nil && len(n.PodCIDRs) == 0 && slices.ContainsFunc(podVariables, c.Conf.Uses)}
}
