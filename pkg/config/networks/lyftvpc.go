package networks

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// LyftVPC has the fields of kOps' lyftvpc (1.11 to 1.22), and two fields of the plugin itself,
// whose values kOps got from EC2 or fixed.
// https://github.com/kubernetes/kops/blob/v1.22.0/pkg/apis/kops/networking.go,
// LyftVPCNetworkingSpec
type LyftVPC struct {
	// SubnetTags: Sets tags that choose the subnets of the pods' interfaces. The default is
	// KubernetesCluster with the cluster's name, and Type: pod below Kubernetes 1.18.
	SubnetTags map[string]string `json:"subnetTags"`
	// SecGroupIDs: Lists security groups of the pods' interfaces. The default is the groups of the
	// node's first interface in the instance's metadata.
	SecGroupIDs []string `json:"secGroupIds,omitempty"`
	// InterfaceIndex: Sets the first interface whose addresses are for pods. 0 is the primary
	// interface.
	InterfaceIndex int `json:"interfaceIndex"`
}

func (l *LyftVPC) fields() []decode.Field {
	return []decode.Field{
		{Name: "subnetTags", Set: tags(&l.SubnetTags)},
		decode.Texts("secGroupIds", &l.SecGroupIDs, validSecurityGroup),
		decode.Number("interfaceIndex", &l.InterfaceIndex, 0, 14),
	}
}

// tags reads a mapping of strings to strings. It replaces the earlier mapping.
func tags(to *map[string]string) decode.Set {
	return func(v decode.Reading) {
		if v.Kind != document.KindMap {
			v.WrongKind("a mapping of tags to values")
			return
		}
		*to = make(map[string]string, len(v.Entries))
		for i := range v.Entries {
			var text string
			decode.Text("", &text, nil).Set(v.At(v.Entries[i].Value, decode.Join(v.Path, v.Entries[i].Key)))
			(*to)[v.Entries[i].Key] = text
		}
	}
}

func validSecurityGroup(s string) string {
	if strings.HasPrefix(s, "sg-") && len(s) > len("sg-") && strings.Trim(s[len("sg-"):], "0123456789abcdef") == "" {
		return ""
	}
	return "a security group such as sg-0a1b2c3d4e5f60718"
}

func (l *LyftVPC) fill(s *ClusterSettings, o decode.Origins) {
	tags := map[string]string{"KubernetesCluster": s.Cluster}
	if !s.Kubernetes.AtLeast(1, 18) {
		tags = map[string]string{"Type": "pod"}
	}
	decode.Fill(o, "spec.networking.lyftvpc.subnetTags", document.KopsDefault, &l.SubnetTags, tags)
	decode.Fill(o, "spec.networking.lyftvpc.interfaceIndex", document.KopsDefault, &l.InterfaceIndex, 1)
}
