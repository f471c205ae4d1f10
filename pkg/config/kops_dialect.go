package config

import "github.com/netwright/netwright/pkg/config/decode"

// kopsEarlyGroup is what kOps called its API group before it was [kopsGroup]. It reads both still.
// https://github.com/kubernetes/kops/blob/master/pkg/kopscodecs/codecs.go
const (
	kopsEarlyGroup = "kops/"
	kopsGroup      = "kops.k8s.io/"
)

// kops is the API version that kOps has always served to users; the spellings are those of its
// releases 1.4 to 1.37.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/v1alpha2/networking.go
var kops = decode.Dialect{
	APIVersion: kopsGroup + "v1alpha2",
	Kinds:      map[string]string{"Cluster": decode.KindCluster, "InstanceGroup": decode.KindNodeGroup},
	Spelling: map[string]string{
		"spec.topology.masters":      "controlPlane",
		"spec.networking.amazonvpc":  "amazonVPC",
		"spec.networking.kuberouter": "kubeRouter",
		"spec.networking.gce":        "gcp",
		"spec.kubelet.configureCBR0": "configureCbr0",
	},
	Lenient: true,
}

// kopsThree is kOps' next version: the fields of the cluster's network are under spec.networking,
// names are ours, and the cloud is a mapping of that name.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/v1alpha3/networking.go
var kopsThree = decode.Dialect{
	APIVersion: kopsGroup + "v1alpha3",
	Kinds:      kops.Kinds,
	Spelling:   map[string]string{"spec.kubelet.configureCBR0": "configureCbr0"},
	Lenient:    true,
	Nested:     true,
}

// dialects we read, in the order in which a diagnostic lists them.
var dialects = [...]*decode.Dialect{&decode.Strict, &kops, &kopsThree}
