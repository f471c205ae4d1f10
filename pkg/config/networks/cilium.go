package networks

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/problem"
)

// Cilium has the fields of kOps' cilium that matter to the node. The other fields are for Cilium's
// DaemonSet. They are accepted and ignored. "" means kOps' or Cilium's default.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/networking.go, CiliumNetworkingSpec
type Cilium struct {
	// Version: Sets the version of Cilium, such as v1.16.4. It decides what Cilium needs of the
	// kernel.
	Version string `json:"version,omitempty"`
	// Tunnel: Sets what carries packets between nodes. The default is disabled with ipam eni and
	// with pods of IPv6 only.
	Tunnel string `json:"tunnel"`
	// IPAM: Sets how pods get their addresses.
	IPAM string `json:"ipam"`
	// EnableEncryption: true encrypts packets between nodes.
	EnableEncryption bool `json:"enableEncryption,omitempty"`
	// EncryptionType: Sets what encrypts packets between nodes.
	EncryptionType string `json:"encryptionType,omitempty"`
	// EnableNodePort: true means that Cilium serves services in place of kube-proxy.
	EnableNodePort bool `json:"enableNodePort,omitempty"`
	// EtcdManaged: true gives Cilium an etcd of its own, on port 4003 of the control plane.
	EtcdManaged bool `json:"etcdManaged,omitempty"`
	// IdentityAllocationMode: Sets where identities are kept: in the Kubernetes API (crd), or in
	// etcd (kvstore), which needs `etcdManaged`.
	IdentityAllocationMode string `json:"identityAllocationMode,omitempty"`
	// ChainingMode: Names the plugin after which Cilium is chained. none means that it is not
	// chained.
	ChainingMode string `json:"chainingMode,omitempty"`
	// CNIExclusive: true lets Cilium rename every other conf, and is the default. multus needs
	// false.
	CNIExclusive *bool `json:"cniExclusive,omitempty"`
	// MTU: Says the MTU of the node's links in bytes. Without it, Cilium finds it. Only the
	// DaemonSet sets it.
	MTU int `json:"mtu,omitempty"`
}

// ENI reports whether pods have addresses of the instance's interfaces.
func (c *Cilium) ENI() bool { return c.IPAM == "eni" }

// WireGuard reports whether Cilium's nodes talk to each other through WireGuard.
func (c *Cilium) WireGuard() bool { return c.EnableEncryption && c.EncryptionType == "wireguard" }

// IPsec reports whether Cilium's nodes talk to each other through IPsec.
func (c *Cilium) IPsec() bool { return c.EnableEncryption && c.EncryptionType != "wireguard" }

func (c *Cilium) fields() []decode.Field {
	fields := []decode.Field{
		decode.Text("version", &c.Version, nil),
		decode.Choice("tunnel", &c.Tunnel, "vxlan", "geneve", "disabled"),
		decode.Choice("ipam", &c.IPAM, "kubernetes", "eni", "crd", "hostscope", "cluster-pool", "multi-pool").
			KopsDefault("kubernetes"),
		decode.Bool("enableEncryption", &c.EnableEncryption),
		decode.Choice("encryptionType", &c.EncryptionType, "ipsec", "wireguard").KopsDefault("ipsec"),
		decode.Bool("enableNodePort", &c.EnableNodePort),
		decode.Bool("etcdManaged", &c.EtcdManaged),
		decode.Choice("identityAllocationMode", &c.IdentityAllocationMode, "crd", "kvstore").KopsDefault("crd"),
		decode.Choice("chainingMode", &c.ChainingMode, "none", "portmap", "flannel", "aws-cni", "generic-veth").
			KopsDefault("none"),
		decode.OptionalBool("cniExclusive", &c.CNIExclusive),
		decode.MTU("mtu", &c.MTU),
	}
	for _, name := range slices.Concat(ciliumFields[:], ciliumUnused[:]) {
		fields = append(fields, decode.Unread(name).Unlisted())
	}
	return fields
}

// ciliumFields are the fields for Cilium's DaemonSet and operator.
var ciliumFields = [...]string{
	"registry", "memoryRequest", "cpuRequest", "agentPrometheusPort", "agentPodAnnotations", "operatorPodAnnotations",
	"debug", "disableEndpointCRD", "enablePolicy",
	"enableL7Proxy", "enableLocalRedirectPolicy", "enableBPFMasquerade", "enableEndpointHealthChecking",
	"enablePrometheusMetrics", "enableServiceTopology",
	"enableUnreachableRoutes", "identityChangeGracePeriod", "ingress", "gatewayAPI", "masquerade", "disableMasquerade",
	"monitorAggregation", "bpfCTGlobalTCPMax",
	"bpfCTGlobalAnyMax", "bpfLBAlgorithm", "bpfLBMaglevTableSize", "bpfLBMapMax", "bpfLBSockHostNSOnly",
	"bpfNATGlobalMax", "bpfNeighGlobalMax", "bpfPolicyMapMax",
	"preallocateBPFMaps", "sidecarIstioProxyImage", "clusterName", "clusterID", "toFqdnsDnsRejectResponseCode",
	"toFqdnsEnablePoller", "installIptablesRules", "metrics", "enableHostFirewall", "nodeEncryption", "bpfLBSock",
	"disableCNPStatusUpdates", "extraConfig",
	"IPTablesRulesNoinstall", "autoDirectNodeRoutes", "enableHostReachableServices", "enableRemoteNodeIdentity",
	"hubble",
}

// ciliumUnused are the fields that kOps itself does not use.
var ciliumUnused = [...]string{
	"accessLog", "agentLabels", "allowLocalhost", "autoIpv6NodeRoutes", "bpfRoot", "cniBinPath", "containerRuntime",
	"containerRuntimeEndpoint", "containerRuntimeLabels",
	"debugVerbose", "device", "disableConntrack", "disableIpv4", "disableK8sServices", "enableTracing", "enableipv4",
	"enableipv6", "envoyLog", "ipv4ClusterCidrMaskSize",
	"ipv4Node", "ipv4Range", "ipv4ServiceRange", "ipv6ClusterAllocCidr", "ipv6Node", "ipv6Range", "ipv6ServiceRange",
	"k8sApiServer", "k8sKubeconfigPath",
	"keepBpfTemplates", "keepConfig", "labelPrefixFile", "labels", "lb", "libDir", "logDriver", "logOpt", "logstash",
	"logstashAgent", "logstashProbeTimer", "nat46Range",
	"nodeInitBootstrapFile", "pprof", "prefilterDevice", "prometheusServeAddr", "reconfigureKubelet", "removeCbrBridge",
	"restartPods", "restore", "singleClusterRoute",
	"socketPath", "stateDir", "tracePayloadlen",
}

func (c *Cilium) fill(s *ClusterSettings, o decode.Origins) {
	tunnel := "vxlan"
	if c.ENI() || s.sixOnly() {
		tunnel = "disabled"
	}
	decode.Fill(o, "spec.networking.cilium.tunnel", document.KopsDefault, &c.Tunnel, tunnel)
}

func (c *Cilium) check(s *ClusterSettings, r *decode.Reporter) {
	c.checkRelease(s, r)
	inside := 0
	if c.Tunnel != "disabled" {
		inside = 50 // the MTU is that of the links, and pods have less
	}
	s.checkMTU(r, "spec.networking.cilium.mtu", c.MTU, inside)
	c.checkAddresses(s, r)
	if c.EnableNodePort {
		s.noKubeProxy(r, "spec.networking.cilium.enableNodePort", "cilium")
	}
	c.checkOptions(s, r)
}

// checkAddresses refuses what kOps refuses (pkg/apis/kops/validation/validation.go,
// validateNetworkingCilium).
func (c *Cilium) checkAddresses(s *ClusterSettings, r *decode.Reporter) {
	const at = "spec.networking.cilium"
	switch {
	case c.ENI() && c.Tunnel != "disabled":
		r.ErrorAt(at+".tunnel", document.Diagnostic{Summary: "with ipam eni pods have addresses of the VPC, and the " +
			"tunnel is " + c.Tunnel, Expected: "tunnel: disabled"})
	case c.ENI() && s.Cloud != "" && s.Cloud != "aws":
		r.ErrorAt(at+".ipam",
			document.Diagnostic{Summary: "ipam eni is for AWS, and the cloud is " + s.Cloud, Expected: "kubernetes"})
	case c.IdentityAllocationMode == "kvstore" && !c.EtcdManaged:
		r.ErrorAt(at+".identityAllocationMode",
			document.Diagnostic{Summary: "identities in a kvstore need an etcd",
				Expected: "etcdManaged: true, or identityAllocationMode: crd"})
	}
}

// checkRelease refuses a version that is no release, and a release that cannot register its
// objects: up to 1.8, Cilium knows only an API that Kubernetes 1.22 removed.
// https://github.com/cilium/cilium/pull/11477
func (c *Cilium) checkRelease(s *ClusterSettings, r *decode.Reporter) {
	if c.Version == "" {
		return
	}
	const at = "spec.networking.cilium.version"
	release, err := values.ParseVersion(c.Version)
	switch {
	case err != nil:
		r.Checked(at, document.Diagnostic{ID: problem.FieldValue,
			Summary:  fmt.Sprintf("the version of cilium is %q", document.Clip(c.Version)),
			Expected: "a release such as v1.16.4"})
	case !release.AtLeast(1, 9) && s.Kubernetes.AtLeast(1, 22):
		r.Checked(at, document.Diagnostic{ID: problem.NetworkUnfit,
			Summary: fmt.Sprintf("cilium %s cannot register its objects with Kubernetes %s, which has no "+
				"apiextensions.k8s.io/v1beta1", release, s.Kubernetes),
			Expected: "v1.9.0 or later", Hint: "take a release that is tested with this Kubernetes: " +
				"https://docs.cilium.io/en/stable/network/kubernetes/compatibility/"})
	}
}

// checkOptions reports options that have no effect or that exclude each other.
func (c *Cilium) checkOptions(s *ClusterSettings, r *decode.Reporter) {
	const at = "spec.networking.cilium"
	switch {
	case c.EncryptionType != "" && !r.Origin(at+".encryptionType").IsDefault() && !c.EnableEncryption:
		r.WarnAt(at+".encryptionType",
			document.Diagnostic{Summary: "encryptionType is " + c.EncryptionType +
				", and encryption is off: nothing is encrypted", Expected: "enableEncryption: true"})
	case c.ENI() && s.PodCIDR.V6().IsValid():
		r.ErrorAt(at+".ipam", document.Diagnostic{Summary: fmt.Sprintf("ipam eni has no IPv6, and podCIDR is %s (%s)",
			s.PodCIDR, r.Origin("spec.podCIDR")), Expected: "kubernetes"})
	}
}
