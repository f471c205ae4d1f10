package config

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// AWS is what the agent asks EC2's API for, besides what the instance's own metadata says: each
// needs a permission, and nothing is asked without a word here.
type AWS struct {
	// SourceDestCheck: Disable turns EC2's source/destination check off on the primary interface,
	// as pods of kubenet and bridge need; DoNothing (as without a word) leaves it
	SourceDestCheck string `json:"sourceDestCheck,omitempty"`
	// CountRoutes: holds the routes in the table of the node's subnet against the quota, where each
	// node takes one: kubenet
	CountRoutes bool `json:"countRoutes,omitempty"`
}

// What becomes of the source/destination check of the instance's primary interface.
const (
	DisableCheck = "Disable"
	DoNothing    = "DoNothing"
)

const awsAt = "spec.aws"

func (a *AWS) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("sourceDestCheck", &a.SourceDestCheck, DisableCheck, DoNothing),
		decode.Bool("countRoutes", &a.CountRoutes),
	}
}

// aws refuses what no other cloud has, and says what would have no effect.
func (v *validator) aws() {
	n := v.node
	off := n.AWS.SourceDestCheck == DisableCheck
	if (off || n.AWS.CountRoutes) && n.CloudProvider != "aws" {
		said := "no cloudProvider is set"
		if n.CloudProvider != "" {
			said = "cloudProvider is " + n.CloudProvider + " (" + n.Origin("spec.cloudProvider").String() + ")"
		}
		v.ErrorAt(awsAt, document.Diagnostic{ID: problem.NetworkUnfit,
			Summary: "what is asked of EC2 is for nodes on AWS, and " + said, Expected: "cloudProvider: aws"})
		return
	}
	w := &n.Networking
	if off && (w.AmazonVPC != nil || w.LyftVPC != nil || w.Cilium != nil && w.Cilium.ENI()) {
		v.WarnAt(awsAt+".sourceDestCheck",
			document.Diagnostic{Summary: "pods of " + w.Name() +
				" have addresses of the instance's interfaces, which the check lets pass: it need not be off",
				Expected: DoNothing})
	}
	if n.AWS.CountRoutes && w.Kubenet == nil {
		v.WarnAt(awsAt+".countRoutes",
			document.Diagnostic{Summary: "nothing is counted: " + w.Name() + " has no routes in a table of the VPC",
				Expected: "false, or the network kubenet"})
	}
}
