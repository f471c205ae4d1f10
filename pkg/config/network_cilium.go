package config

import (
	"slices"

	"github.com/netwright/netwright/pkg/config/decode"
)

// Cilium holds the fields of kOps' cilium that matter to the node. The others are its DaemonSet's;
// they are accepted and not looked at. "" means: kOps' or Cilium's default.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go, CiliumNetworkingSpec
type Cilium struct {
	Version                string `json:"version,omitempty"`                // of Cilium, such as v1.16.4; what it needs of the kernel depends on it
	Tunnel                 string `json:"tunnel"`                           // what carries packets between nodes; with ipam eni, and with pods of IPv6 only: disabled
	IPAM                   string `json:"ipam"`                             // who gives pods their addresses: kubernetes, eni, crd, cluster-pool, azure, alibabacloud …
	EnableEncryption       bool   `json:"enableEncryption,omitempty"`       // between nodes
	EncryptionType         string `json:"encryptionType,omitempty"`         // what encrypts
	EnableNodePort         bool   `json:"enableNodePort,omitempty"`         // Cilium serves services in the place of kube-proxy
	EtcdManaged            bool   `json:"etcdManaged,omitempty"`            // an etcd of its own, on port 4003 of the control plane
	IdentityAllocationMode string `json:"identityAllocationMode,omitempty"` // where identities are kept: in the Kubernetes API (crd) or in etcd (kvstore)
	ChainingMode           string `json:"chainingMode,omitempty"`           // the plugin that Cilium is chained after: none, portmap, aws-cni, generic-veth …
	CNIExclusive           *bool  `json:"cniExclusive,omitempty"`           // Cilium renames every other conf; not said: yes. multus needs false
	MTU                    int    `json:"mtu,omitempty"`                    // of the node's links; not said: Cilium finds it
}

// ENI says that pods have addresses of the instance's interfaces.
func (c *Cilium) ENI() bool { return c.IPAM == "eni" }

// WireGuard says that Cilium's nodes talk to each other by WireGuard.
func (c *Cilium) WireGuard() bool { return c.EnableEncryption && c.EncryptionType == "wireguard" }

// IPsec says that Cilium's nodes talk to each other by IPsec.
func (c *Cilium) IPsec() bool { return c.EnableEncryption && c.EncryptionType != "wireguard" }

func (c *Cilium) fields() []decode.Field {
	fields := []decode.Field{
		{Name: "version", Set: decode.Text(&c.Version, nil)},
		{Name: "tunnel", Set: decode.Choice(&c.Tunnel, "vxlan", "geneve", "disabled")},
		{Name: "ipam", Set: decode.Choice(&c.IPAM, "kubernetes", "eni", "crd", "hostscope", "cluster-pool", "multi-pool")},
		{Name: "enableEncryption", Set: decode.Bool(&c.EnableEncryption)},
		{Name: "encryptionType", Set: decode.Choice(&c.EncryptionType, "ipsec", "wireguard")},
		{Name: "enableNodePort", Set: decode.Bool(&c.EnableNodePort)},
		{Name: "etcdManaged", Set: decode.Bool(&c.EtcdManaged)},
		{Name: "identityAllocationMode", Set: decode.Choice(&c.IdentityAllocationMode, "crd", "kvstore")},
		{Name: "chainingMode", Set: decode.Choice(&c.ChainingMode, "none", "portmap", "flannel", "aws-cni", "generic-veth")},
		{Name: "cniExclusive", Set: decode.OptionalBool(&c.CNIExclusive)},
		{Name: "mtu", Set: decode.MTU(&c.MTU)},
	}
	for _, name := range slices.Concat(ciliumFields[:], ciliumUnused[:]) {
		fields = append(fields, decode.Field{Name: name, Set: decode.Unread, Unlisted: true})
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
