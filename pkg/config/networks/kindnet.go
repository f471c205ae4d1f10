package networks

import (
	"net/netip"

	"github.com/netwright/netwright/pkg/config/decode"
)

// Kindnet has the fields of kOps' kindnet (1.32 and later). All but fastPathThreshold are for its
// DaemonSet, and are only recorded here.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go, KindnetNetworkingSpec
type Kindnet struct {
	Version         string `json:"version,omitempty"`         // of kindnet; for its DaemonSet
	NetworkPolicies *bool  `json:"networkPolicies,omitempty"` // kindnet keeps NetworkPolicy; for its DaemonSet
	// kindnet keeps AdminNetworkPolicy; for its DaemonSet
	AdminNetworkPolicies *bool `json:"adminNetworkPolicies,omitempty"`
	// kindnet keeps BaselineAdminNetworkPolicy; for its DaemonSet
	BaselineAdminNetworkPolicies *bool `json:"baselineAdminNetworkPolicies,omitempty"`
	// kindnet caches DNS on the node; for its DaemonSet
	DNSCaching *bool `json:"dnsCaching,omitempty"`
	// pods of IPv6 reach IPv4 by translation; for its DaemonSet
	NAT64 *bool `json:"nat64,omitempty"`
	// after this many packets a flow takes the kernel's flow table; 0: there is none
	FastPathThreshold int `json:"fastPathThreshold,omitempty"`
	// what leaves with the node's address; for its DaemonSet
	Masquerade *KindnetMasquerade `json:"masquerade,omitempty"`
	LogLevel   int                `json:"logLevel,omitempty"` // of klog; for its DaemonSet
}

// KindnetMasquerade says which traffic leaves with the node's address.
type KindnetMasquerade struct {
	Enabled *bool `json:"enabled,omitempty"` // whether anything does
	// ranges that pods reach with their own address
	NonMasqueradeCIDRs []netip.Prefix `json:"nonMasqueradeCIDRs,omitempty"`
}

func (k *Kindnet) fields() []decode.Field {
	return []decode.Field{
		decode.Text("version", &k.Version, nil),
		decode.OptionalBool("networkPolicies", &k.NetworkPolicies),
		decode.OptionalBool("adminNetworkPolicies", &k.AdminNetworkPolicies),
		decode.OptionalBool("baselineAdminNetworkPolicies", &k.BaselineAdminNetworkPolicies),
		decode.OptionalBool("dnsCaching", &k.DNSCaching),
		decode.OptionalBool("nat64", &k.NAT64),
		decode.Number("fastPathThreshold", &k.FastPathThreshold, 0, 1<<31-1),
		decode.Number("logLevel", &k.LogLevel, 0, 10),
		decode.Into("masquerade", func() []decode.Field {
			m := allocate(&k.Masquerade)
			return []decode.Field{
				decode.OptionalBool("enabled", &m.Enabled),
				decode.Ranges("nonMasqueradeCIDRs", &m.NonMasqueradeCIDRs),
			}
		}),
	}
}
