package networks

import (
	"fmt"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
)

// ClusterSettings has the settings outside spec.networking that a network's defaults and checks
// need.
type ClusterSettings struct {
	Cluster    string         // its name
	Kubernetes values.Version // the version of kubelet
	Cloud      string         // the cloudProvider
	Runtime    string         // the containerRuntime
	Kops       bool           // the cluster's document is kOps', and kOps validates it itself
	KubeProxy  *bool          // whether kube-proxy is enabled; nil: not set
	PodCIDR    values.CIDRs   // the pod CIDRs of the cluster
	PodCIDRs   values.CIDRs   // the pod CIDRs of the node
	Services   values.CIDRs   // the serviceClusterIPRange
}

// sixOnly reports whether pods have only IPv6 addresses.
func (s *ClusterSettings) sixOnly() bool {
	return s.PodCIDR.V6().IsValid() && !s.PodCIDR.V4().IsValid()
}

// six reports whether pods have IPv6 addresses.
func (s *ClusterSettings) six() bool { return s.PodCIDR.V6().IsValid() || s.PodCIDRs.V6().IsValid() }

// minIPv6MTU is the smallest MTU of a link with IPv6 (RFC 8200, section 5).
const minIPv6MTU = 1280

// checkMTU refuses an MTU that is too small for pods with IPv6. inside is the number of bytes that
// the encapsulation takes.
func (s *ClusterSettings) checkMTU(r *decode.Reporter, path string, mtu, inside int) {
	if s.six() && mtu != 0 && mtu-inside < minIPv6MTU {
		r.ErrorAt(path, document.Diagnostic{Summary: fmt.Sprintf("mtu %d is too small for IPv6 pods", mtu),
			Expected: fmt.Sprintf("at least %d", minIPv6MTU+inside)})
	}
}

// noKubeProxy refuses kube-proxy beside a network that serves the services itself, because each
// would overwrite the other's rules.
func (s *ClusterSettings) noKubeProxy(r *decode.Reporter, path, by string) {
	if on := s.KubeProxy; on != nil && *on {
		r.ErrorAt(path, document.Diagnostic{Summary: fmt.Sprintf("%s serves the services in place of kube-proxy, "+
			"which is enabled (%s)", by, r.Origin("spec.kubeProxy.enabled")),
			Expected: "spec.kubeProxy.enabled: false"})
	}
}
