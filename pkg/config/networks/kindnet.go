package networks

import (
	"net/netip"

	"github.com/netwright/netwright/pkg/config/decode"
)

// Kindnet has the fields of kOps' kindnet (1.32 and later). All but fastPathThreshold are for its
// DaemonSet, and are only recorded here.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go, KindnetNetworkingSpec
type Kindnet struct {
	// Version: Sets the version of kindnet. Only the DaemonSet uses it.
	Version string `json:"version,omitempty"`
	// NetworkPolicies: true means that kindnet enforces NetworkPolicy. Only the DaemonSet uses it.
	NetworkPolicies *bool `json:"networkPolicies,omitempty"`
	// AdminNetworkPolicies: true means that kindnet enforces AdminNetworkPolicy. Only the DaemonSet
	// uses it.
	AdminNetworkPolicies *bool `json:"adminNetworkPolicies,omitempty"`
	// BaselineAdminNetworkPolicies: true means that kindnet enforces BaselineAdminNetworkPolicy.
	// Only the DaemonSet uses it.
	BaselineAdminNetworkPolicies *bool `json:"baselineAdminNetworkPolicies,omitempty"`
	// DNSCaching: true means that kindnet caches DNS on the node. Only the DaemonSet uses it.
	DNSCaching *bool `json:"dnsCaching,omitempty"`
	// NAT64: true lets pods of IPv6 reach IPv4 by translation. Only the DaemonSet uses it.
	NAT64 *bool `json:"nat64,omitempty"`
	// FastPathThreshold: Sets after how many packets a flow uses the kernel's flow table. 0 means
	// that there is no flow table.
	FastPathThreshold int `json:"fastPathThreshold,omitempty"`
	// Masquerade: Says which packets leave with the node's address. Only the DaemonSet uses it.
	Masquerade *KindnetMasquerade `json:"masquerade,omitempty"`
	// LogLevel: Sets the log level of klog. Only the DaemonSet uses it.
	LogLevel int `json:"logLevel,omitempty"`
}

// KindnetMasquerade says which traffic leaves with the node's address.
type KindnetMasquerade struct {
	// Enabled: Says whether any packets leave with the node's address.
	Enabled *bool `json:"enabled,omitempty"`
	// NonMasqueradeCIDRs: Lists ranges that pods reach with their own address.
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
