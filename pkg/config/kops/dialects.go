// Package kops has what kOps' own documents say otherwise than ours: their versions and kinds, the
// names in its state store, its spellings of fields, and what its nodeup does beside the agent.
package kops

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
)

// earlyGroup is what kOps called its API group before it was [group]. It reads both still.
// https://github.com/kubernetes/kops/blob/master/pkg/kopscodecs/codecs.go
const (
	earlyGroup = "kops/"
	group      = "kops.k8s.io/"
)

// V1Alpha2 is the API version that kOps has always served to users; the spellings are those of its
// releases 1.4 to 1.37.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/v1alpha2/networking.go
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

// V1Alpha3 is kOps' next version: the fields of the cluster's network are under spec.networking,
// names are ours, and the cloud is a mapping of that name.
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

// NodeupDialect is how a NodeupConfig is written. Its Networking is a part of the cluster's, and
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

// skips: of kOps' documents we read what concerns the network, and know all of that.
func skips(at string) bool {
	return at == "spec.networking.topology" || at != "spec.networking" && !strings.HasPrefix(at, "spec.networking.")
}

// KindNodeup is a node group's part as kOps' nodeup reads it (from 1.22). It has no header.
const KindNodeup = "NodeupConfig"

// Current is an apiVersion as kOps writes it now. Others than kOps' stay as they are.
func Current(apiVersion string) string {
	if rest, early := strings.CutPrefix(apiVersion, earlyGroup); early {
		return group + rest
	}
	return apiVersion
}
