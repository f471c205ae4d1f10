package config

import "github.com/netwright/netwright/pkg/config/document"

// AmazonVPC is kOps' amazonVPC (amazonvpc in v1alpha2). All of it is for its DaemonSet, and only
// recorded here. https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go,
// AmazonVPCNetworkingSpec
type AmazonVPC struct {
	Image              string `json:"image,omitempty"`                   // of aws-node; for its DaemonSet
	InitImage          string `json:"initImage,omitempty"`               // of aws-node's init container; for its DaemonSet
	NetworkPolicyAgent string `json:"networkPolicyAgentImage,omitempty"` // of the container that keeps network policy; for its DaemonSet
	// Env: environment of the container aws-node, such as ENABLE_PREFIX_DELEGATION; entries merge
	// by name
	Env map[string]string `json:"env,omitempty"`
}

func (a *AmazonVPC) fields() []field {
	return []field{
		{name: "image", set: Text(&a.Image, nil)},
		{name: "imageName", set: Text(&a.Image, nil), unlisted: true}, // v1alpha2
		{name: "initImage", set: Text(&a.InitImage, nil)},
		{name: "initImageName", set: Text(&a.InitImage, nil), unlisted: true}, // v1alpha2
		{name: "networkPolicyAgentImage", set: Text(&a.NetworkPolicyAgent, nil)},
		{name: "env", set: Env(&a.Env)},
	}
}

// env reads a container's environment, a list of name and value.
func Env(to *map[string]string) set {
	return func(d *decoder, v *document.Value, at string) {
		List(func(d *decoder, v *document.Value, at string) {
			var name, value string
			d.mapping(v, at, []field{
				{name: "name", set: Text(&name, nil), about: "of the variable"},
				{name: "value", set: Text(&value, nil), about: "of the variable; without it empty"},
			})
			if !d.required(v, at, "name") {
				return
			}
			if *to == nil {
				*to = map[string]string{}
			}
			(*to)[name] = value
		})(d, v, at)
	}
}
