package config

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// AWS says what the agent asks EC2's API for, besides the instance's own metadata. Each request
// needs a permission, so the agent asks only for what is set here.
type AWS struct {
	// SourceDestCheck: Disable turns off EC2's source/destination check on the primary interface,
	// as pods of kubenet and bridge need. DoNothing leaves the check alone, and is the default.
	SourceDestCheck string `json:"sourceDestCheck,omitempty"`
	// CountRoutes: true compares the routes in the table of the node's subnet with the quota. It
	// counts only for kubenet, where each node takes one route.
	CountRoutes bool `json:"countRoutes,omitempty"`
}

// These are the values of [AWS].SourceDestCheck, for the check on the instance's primary interface.
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

// aws refuses the settings on another cloud, and warns about settings without effect.
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
