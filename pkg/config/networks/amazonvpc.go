package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
)

// AmazonVPC has the fields of kOps' amazonVPC (amazonvpc in v1alpha2). All of them are for its
// DaemonSet, and are only recorded here.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go,
// AmazonVPCNetworkingSpec
type AmazonVPC struct {
	Image     string `json:"image,omitempty"`     // of aws-node; for its DaemonSet
	InitImage string `json:"initImage,omitempty"` // of aws-node's init container; for its DaemonSet
	// of the container that keeps network policy; for its DaemonSet
	NetworkPolicyAgent string `json:"networkPolicyAgentImage,omitempty"`
	// Env: environment of the container aws-node, such as ENABLE_PREFIX_DELEGATION; entries merge
	// by name
	Env map[string]string `json:"env,omitempty"`
}

func (a *AmazonVPC) fields() []decode.Field {
	return []decode.Field{
		decode.Text("image", &a.Image, nil),
		decode.Text("imageName", &a.Image, nil).Unlisted(), // v1alpha2
		decode.Text("initImage", &a.InitImage, nil),
		decode.Text("initImageName", &a.InitImage, nil).Unlisted(), // v1alpha2
		decode.Text("networkPolicyAgentImage", &a.NetworkPolicyAgent, nil),
		{Name: "env", Set: env(&a.Env)},
	}
}

// env reads a container's environment, which is a list of names and values.
func env(to *map[string]string) decode.Set {
	return func(v decode.Reading) {
		v.List(func(item decode.Reading) {
			var name, value string
			item.Mapping([]decode.Field{
				decode.Text("name", &name, nil).About("of the variable"),
				decode.Text("value", &value, nil).About("of the variable; without it empty"),
			})
			if !item.Required("name") {
				return
			}
			if *to == nil {
				*to = map[string]string{}
			}
			(*to)[name] = value
		})
	}
}
