package networks

import (
	"github.com/netwright/netwright/pkg/config/decode"
)

// AmazonVPC has the fields of kOps' amazonVPC (amazonvpc in v1alpha2). All of them are for its
// DaemonSet, and are only recorded here.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go,
// AmazonVPCNetworkingSpec
type AmazonVPC struct {
	// Image: Names the image of aws-node. Only the DaemonSet uses it.
	Image string `json:"image,omitempty"`
	// InitImage: Names the image of aws-node's init container. Only the DaemonSet uses it.
	InitImage string `json:"initImage,omitempty"`
	// NetworkPolicyAgent: Names the image of the container that enforces network policy. Only the
	// DaemonSet uses it.
	NetworkPolicyAgent string `json:"networkPolicyAgentImage,omitempty"`
	// Env: Sets environment variables of the container aws-node, such as ENABLE_PREFIX_DELEGATION.
	// Entries merge by name.
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
				decode.Text("name", &name, nil).About("Names the variable"),
				decode.Text("value", &value, nil).About("Sets the value of the variable. The default is empty"),
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
