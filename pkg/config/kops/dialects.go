// Package kops has what differs in kOps' own documents: their versions and kinds, the names in
// kOps' state store, the spelling of fields, and what kOps' nodeup does beside the agent.
package kops

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
)

// earlyGroup is the former name of kOps' API [group]. kOps still reads both.
// https://github.com/kubernetes/kops/blob/master/pkg/kopscodecs/codecs.go
const (
	earlyGroup = "kops/"
	group      = "kops.k8s.io/"
)

// V1Alpha2 is the API version that kOps has always served to users. The spellings are those of kOps
// 1.4 to 1.37. https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/v1alpha2/networking.go
var V1Alpha2 = decode.Dialect{
	APIVersion: group + "v1alpha2",
	Kinds:      map[string]string{"Cluster": decode.KindCluster, "InstanceGroup": decode.KindNodeGroup},
	Spelling: map[string]string{
		"spec.topology.masters":      "controlPlane",
		"spec.networking.amazonvpc":  "amazonVPC",
		"spec.networking.kuberouter": "kubeRouter",
		"spec.networking.gce":        "gcp",
		"spec.kubelet.configureCBR0": "configureCbr0",
	},
	Lenient: true,
	Skips:   skips,
}

// V1Alpha3 is kOps' next API version. The fields of the cluster's network are under
// spec.networking, the names are the agent's, and the cloud is a mapping whose key is its name.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/v1alpha3/networking.go
var V1Alpha3 = decode.Dialect{
	APIVersion: group + "v1alpha3",
	Kinds:      V1Alpha2.Kinds,
	Spelling: map[string]string{
		"spec.kubelet.configureCBR0":                          "configureCbr0",
		"spec.networking.cilium.toFQDNsDNSRejectResponseCode": "toFqdnsDnsRejectResponseCode",
		"spec.networking.cilium.toFQDNsEnablePoller":          "toFqdnsEnablePoller",
	},
	Lenient: true,
	Skips:   skips,
	Nested:  true,
}

// NodeupDialect is the dialect of a NodeupConfig. Its Networking is a part of the cluster's, and is
// not read.
var NodeupDialect = decode.Dialect{
	APIVersion: "nodeup.kops.k8s.io",
	Spelling: map[string]string{
		"spec.KubeletConfig":         "kubelet",
		"spec.KubernetesVersion":     "kubernetesVersion",
		"spec.SysctlParameters":      "sysctlParameters",
		"spec.FileAssets":            "fileAssets",
		"spec.containerdConfig":      "containerd",
		"spec.ContainerdConfig":      "containerd",
		"spec.kubelet.configureCBR0": "configureCbr0",
		"spec.ServiceNodePortRange":  "serviceNodePortRange",
	},
	Lenient: true,
	Skips:   skips,
}

// skips reports whether an unknown field under at is ignored in a document of kOps. The agent reads
// only the fields that concern the network, and knows all of those.
func skips(at string) bool {
	return at == "spec.networking.topology" || at != "spec.networking" && !strings.HasPrefix(at, "spec.networking.")
}

// KindNodeup is the part of a node group's configuration that kOps' nodeup reads (from 1.22). It
// has no header.
const KindNodeup = "NodeupConfig"

// Current returns an apiVersion as kOps writes it now. It does not change those of others.
func Current(apiVersion string) string {
	if rest, early := strings.CutPrefix(apiVersion, earlyGroup); early {
		return group + rest
	}
	return apiVersion
}
