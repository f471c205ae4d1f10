package networks

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/problem"
)

// Kubenet is kOps' kubenet. Below Kubernetes 1.24 it is kubelet's own plugin, and from 1.24 on
// containerd's conf_template.
type Kubenet struct {
	// MTU: Sets the MTU of the pods' links in bytes. Without it, the MTU is the smallest of the
	// links that are up.
	MTU int `json:"mtu,omitempty"`
}

func (k *Kubenet) fields() []decode.Field {
	return []decode.Field{decode.MTU("mtu", &k.MTU)}
}

// check refuses kubenet without a cloud. The cloud makes its routes between nodes, and without them
// pods reach only pods of their own node.
func (*Kubenet) check(s *ClusterSettings, r *decode.Reporter) {
	if !s.Kops && (s.Cloud == "" || s.Cloud == "metal") && r.Checks {
		said := "no cloudProvider is set"
		if s.Cloud != "" {
			said = fmt.Sprintf("cloudProvider is %s (%s)", s.Cloud, r.Origin("spec.cloudProvider"))
		}
		r.ErrorAt("spec.networking.kubenet",
			document.Diagnostic{ID: problem.NetworkUnfit,
				Summary:  "kubenet leaves the routes to other nodes' pods to the cloud, and " + said,
				Expected: "cloudProvider: the cloud that makes them",
				Hint:     "without a cloud bridge makes the routes itself: networking: {bridge: {}}"})
	}
}
