package networks

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// ClusterSettings are what documents say besides the network, as far as defaults and checks of a
// network ask for it.
type ClusterSettings struct {
	Cluster    string         // its name
	Kubernetes values.Version // of kubelet
	Cloud      string         // the cloudProvider
	Runtime    string         // the containerRuntime
	Kops       bool           // the cluster's document is kOps', which judges itself what it takes
	KubeProxy  *bool          // whether it is enabled
	PodCIDR    values.CIDRs   // of the cluster
	PodCIDRs   values.CIDRs   // of the node
	Services   values.CIDRs   // the serviceClusterIPRange
}

// sixOnly reports whether pods have IPv6 addresses alone.
func (s *ClusterSettings) sixOnly() bool {
	return s.PodCIDR.V6().IsValid() && !s.PodCIDR.V4().IsValid()
}

// six reports whether pods have IPv6 addresses.
func (s *ClusterSettings) six() bool { return s.PodCIDR.V6().IsValid() || s.PodCIDRs.V6().IsValid() }

// minIPv6MTU is the least that a link with IPv6 may have (RFC 8200, section 5).
const minIPv6MTU = 1280

// checkMTU refuses an MTU with which pods could not have IPv6. Inside is what an encapsulation
// takes of it.
func (s *ClusterSettings) checkMTU(r *decode.Reporter, path string, mtu, inside int) {
	if s.six() && mtu != 0 && mtu-inside < minIPv6MTU {
		r.ErrorAt(path, document.Diagnostic{Summary: fmt.Sprintf("mtu %d is too small for IPv6 pods", mtu),
			Expected: fmt.Sprintf("at least %d", minIPv6MTU+inside)})
	}
}

// noKubeProxy refuses kube-proxy beside a network that serves the services: two that do overwrite
// each other's rules.
func (s *ClusterSettings) noKubeProxy(r *decode.Reporter, path, by string) {
	if on := s.KubeProxy; on != nil && *on {
		r.ErrorAt(path, document.Diagnostic{Summary: fmt.Sprintf("%s serves the services in place of kube-proxy, "+
			"which is enabled (%s)", by, r.Origin("spec.kubeProxy.enabled")),
			Expected: "spec.kubeProxy.enabled: false"})
	}
}
