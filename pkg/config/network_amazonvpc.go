package config

// AmazonVPC is kOps' amazonVPC (amazonvpc in v1alpha2). All of it is for its DaemonSet, and only recorded here.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go, AmazonVPCNetworkingSpec
type AmazonVPC struct {
	Image              string            `json:"image,omitempty"`
	InitImage          string            `json:"initImage,omitempty"`
	NetworkPolicyAgent string            `json:"networkPolicyAgentImage,omitempty"`
	Env                map[string]string `json:"env,omitempty"` // of the container aws-node
}

func (d *decoder) amazonVPC(a *AmazonVPC) []field {
	return []field{
		{name: "image", set: d.text(&a.Image, nil)},
		{name: "imageName", set: d.text(&a.Image, nil), unlisted: true}, // v1alpha2
		{name: "initImage", set: d.text(&a.InitImage, nil)},
		{name: "initImageName", set: d.text(&a.InitImage, nil), unlisted: true}, // v1alpha2
		{name: "networkPolicyAgentImage", set: d.text(&a.NetworkPolicyAgent, nil)},
		{name: "env", set: d.env(&a.Env)},
	}
}

// env reads a container's environment, a list of name and value.
func (d *decoder) env(to *map[string]string) set {
	return func(v *value, at string) {
		d.list(func(v *value, at string) {
			var name, value string
			d.mapping(v, at, []field{{name: "name", set: d.text(&name, nil)}, {name: "value", set: d.text(&value, nil)}})
			if !d.required(v, at, "name") {
				return
			}
			if *to == nil {
				*to = map[string]string{}
			}
			(*to)[name] = value
		})(v, at)
	}
}
