package networks

import (
	"net/netip"

	"github.com/netwright/netwright/pkg/config/decode"
)

// Kindnet is kOps' kindnet (1.32 and up). All but fastPathThreshold is for its DaemonSet, and only
// recorded here. https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go,
// KindnetNetworkingSpec
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

// KindnetMasquerade says what leaves with the node's address.
type KindnetMasquerade struct {
	Enabled *bool `json:"enabled,omitempty"` // whether anything does
	// ranges that pods reach with their own address
	NonMasqueradeCIDRs []netip.Prefix `json:"nonMasqueradeCIDRs,omitempty"`
}

func (k *Kindnet) fields() []decode.Field {
	return []decode.Field{
		{Name: "version", Set: decode.Text(&k.Version, nil)},
		{Name: "networkPolicies", Set: decode.OptionalBool(&k.NetworkPolicies)},
		{Name: "adminNetworkPolicies", Set: decode.OptionalBool(&k.AdminNetworkPolicies)},
		{Name: "baselineAdminNetworkPolicies", Set: decode.OptionalBool(&k.BaselineAdminNetworkPolicies)},
		{Name: "dnsCaching", Set: decode.OptionalBool(&k.DNSCaching)},
		{Name: "nat64", Set: decode.OptionalBool(&k.NAT64)},
		{Name: "fastPathThreshold", Set: decode.Number(&k.FastPathThreshold, 0, 1<<31-1)},
		{Name: "logLevel", Set: decode.Number(&k.LogLevel, 0, 10)},
		{Name: "masquerade", Set: decode.Into(func() []decode.Field {
			m := allocate(&k.Masquerade)
			return []decode.Field{
				{Name: "enabled", Set: decode.OptionalBool(&m.Enabled)},
				{Name: "nonMasqueradeCIDRs", Set: decode.Ranges(&m.NonMasqueradeCIDRs)},
			}
		})},
	}
}
