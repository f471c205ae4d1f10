package config

import "slices"

// Cilium holds the fields of kOps' cilium that matter to the node. The others are its DaemonSet's; they are accepted and not looked at. "" means: kOps' or Cilium's default.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go, CiliumNetworkingSpec
type Cilium struct {
	Version                string `json:"version,omitempty"`
	Tunnel                 string `json:"tunnel"`                           // "vxlan" (default), "geneve", "disabled"; with ENI "disabled"
	IPAM                   string `json:"ipam"`                             // "kubernetes" (default), "eni", "crd", "cluster-pool" …
	EnableEncryption       bool   `json:"enableEncryption,omitempty"`       // between nodes
	EncryptionType         string `json:"encryptionType,omitempty"`         // "ipsec" (default), "wireguard"
	EnableNodePort         bool   `json:"enableNodePort,omitempty"`         // replaces kube-proxy
	EtcdManaged            bool   `json:"etcdManaged,omitempty"`            // an etcd of its own, on port 4003 of the control plane
	IdentityAllocationMode string `json:"identityAllocationMode,omitempty"` // "crd" (default), "kvstore"
	ChainingMode           string `json:"chainingMode,omitempty"`           // "none" (default), "portmap", "aws-cni" …
	CNIExclusive           *bool  `json:"cniExclusive,omitempty"`           // nil: yes, it renames every other conf
	MTU                    int    `json:"mtu,omitempty"`                    // 0: Cilium finds it
}

// ENI says that pods have addresses of the instance's interfaces.
func (c *Cilium) ENI() bool { return c.IPAM == "eni" }

// WireGuard says that Cilium's nodes talk to each other by WireGuard.
func (c *Cilium) WireGuard() bool { return c.EnableEncryption && c.EncryptionType == "wireguard" }

// IPsec says that Cilium's nodes talk to each other by IPsec.
func (c *Cilium) IPsec() bool { return c.EnableEncryption && c.EncryptionType != "wireguard" }

func (d *decoder) cilium(c *Cilium) []field {
	fields := []field{
		{name: "version", set: d.text(&c.Version, nil)},
		{name: "tunnel", set: d.choice(&c.Tunnel, "vxlan", "geneve", "disabled")},
		{name: "ipam", set: d.choice(&c.IPAM, "kubernetes", "eni", "crd", "hostscope", "cluster-pool", "multi-pool")},
		{name: "enableEncryption", set: d.boolean(&c.EnableEncryption)},
		{name: "encryptionType", set: d.choice(&c.EncryptionType, "ipsec", "wireguard")},
		{name: "enableNodePort", set: d.boolean(&c.EnableNodePort)},
		{name: "etcdManaged", set: d.boolean(&c.EtcdManaged)},
		{name: "identityAllocationMode", set: d.choice(&c.IdentityAllocationMode, "crd", "kvstore")},
		{name: "chainingMode", set: d.choice(&c.ChainingMode, "none", "portmap", "flannel", "aws-cni", "generic-veth")},
		{name: "cniExclusive", set: d.optionalBool(&c.CNIExclusive)},
		{name: "mtu", set: d.mtu(&c.MTU)},
	}
	for _, name := range slices.Concat(ciliumFields[:], ciliumUnused[:]) {
		fields = append(fields, field{name: name, set: d.ignore, unlisted: true})
	}
	return fields
}

// ciliumFields are those of its DaemonSet and operator.
var ciliumFields = [...]string{
	"registry", "memoryRequest", "cpuRequest", "agentPrometheusPort", "agentPodAnnotations", "operatorPodAnnotations", "debug", "disableEndpointCRD", "enablePolicy",
	"enableL7Proxy", "enableLocalRedirectPolicy", "enableBPFMasquerade", "enableEndpointHealthChecking", "enablePrometheusMetrics", "enableServiceTopology",
	"enableUnreachableRoutes", "identityChangeGracePeriod", "ingress", "gatewayAPI", "masquerade", "disableMasquerade", "monitorAggregation", "bpfCTGlobalTCPMax",
	"bpfCTGlobalAnyMax", "bpfLBAlgorithm", "bpfLBMaglevTableSize", "bpfLBMapMax", "bpfLBSockHostNSOnly", "bpfNATGlobalMax", "bpfNeighGlobalMax", "bpfPolicyMapMax",
	"preallocateBPFMaps", "sidecarIstioProxyImage", "clusterName", "clusterID", "toFqdnsDnsRejectResponseCode", "toFqdnsEnablePoller", "installIptablesRules", "metrics", "enableHostFirewall", "nodeEncryption", "bpfLBSock", "disableCNPStatusUpdates", "extraConfig",
	"IPTablesRulesNoinstall", "autoDirectNodeRoutes", "enableHostReachableServices", "enableRemoteNodeIdentity", "hubble",
}

// ciliumUnused are those that kOps itself does nothing with.
var ciliumUnused = [...]string{
	"accessLog", "agentLabels", "allowLocalhost", "autoIpv6NodeRoutes", "bpfRoot", "cniBinPath", "containerRuntime", "containerRuntimeEndpoint", "containerRuntimeLabels",
	"debugVerbose", "device", "disableConntrack", "disableIpv4", "disableK8sServices", "enableTracing", "enableipv4", "enableipv6", "envoyLog", "ipv4ClusterCidrMaskSize",
	"ipv4Node", "ipv4Range", "ipv4ServiceRange", "ipv6ClusterAllocCidr", "ipv6Node", "ipv6Range", "ipv6ServiceRange", "k8sApiServer", "k8sKubeconfigPath",
	"keepBpfTemplates", "keepConfig", "labelPrefixFile", "labels", "lb", "libDir", "logDriver", "logOpt", "logstash", "logstashAgent", "logstashProbeTimer", "nat46Range",
	"nodeInitBootstrapFile", "pprof", "prefilterDevice", "prometheusServeAddr", "reconfigureKubelet", "removeCbrBridge", "restartPods", "restore", "singleClusterRoute",
	"socketPath", "stateDir", "tracePayloadlen",
}
