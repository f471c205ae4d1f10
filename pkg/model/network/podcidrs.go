package network

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config"
)

// PodCIDRs is what a task awaits that needs the pod CIDRs of the node.
const PodCIDRs = "pod-cidr"

// podCIDRReason says what to do where nobody knows the node's pod CIDRs. elsewhere is a further
// place where a document may have them.
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

// podVariables are the variables of a conf's template that are made of the node's pod CIDRs.
var podVariables = []string{"PodCIDR", "PodCIDR4", "PodCIDR6", "Ranges", "Routes"}

// customNodes wants the node's own pod CIDRs where the template has them and no document does.
func customNodes(n *config.Node) NodesWanted {
	if c := n.Networking.Custom; c != nil && len(n.PodCIDRs) == 0 {
		if slices.ContainsFunc(podVariables, c.Conf.Uses) {
			return NodesWanted{Own: true}
		}
	}
	return NodesWanted{}
}
