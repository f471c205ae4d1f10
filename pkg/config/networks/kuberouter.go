package networks

import "github.com/netwright/netwright/pkg/config/decode"

// KubeRouter has the fields of kOps' kubeRouter.
type KubeRouter struct {
	// UseNFTablesForNetpol: true enforces network policy with nftables. Only the DaemonSet uses it.
	UseNFTablesForNetpol *bool `json:"useNFTablesForNetpol,omitempty"`
}

func (k *KubeRouter) fields() []decode.Field {
	return []decode.Field{decode.OptionalBool("useNFTablesForNetpol", &k.UseNFTablesForNetpol)}
}

func (*KubeRouter) check(s *ClusterSettings, r *decode.Reporter) {
	s.noKubeProxy(r, "spec.networking.kubeRouter", "kube-router")
}
