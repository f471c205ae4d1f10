package networks

import "github.com/netwright/netwright/pkg/config/decode"

// KubeRouter has the fields of kOps' kubeRouter.
type KubeRouter struct {
	UseNFTablesForNetpol *bool `json:"useNFTablesForNetpol,omitempty"` // network policy by nftables; for its DaemonSet
}

func (k *KubeRouter) fields() []decode.Field {
	return []decode.Field{decode.OptionalBool("useNFTablesForNetpol", &k.UseNFTablesForNetpol)}
}

func (*KubeRouter) check(s *ClusterSettings, r *decode.Reporter) {
	s.noKubeProxy(r, "spec.networking.kubeRouter", "kube-router")
}
