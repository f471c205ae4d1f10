package networks

import (
	"fmt"
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// Calico has kOps' fields, and the datastore, which kOps 1.19 and older chose by itself. Most
// fields are for the DaemonSet, and are only recorded here. The node acts on the MTU, the
// encapsulation, BPF, WireGuard, the datastore and its certificates. "" and 0 mean Calico's
// default.
type Calico struct {
	// Registry: Names the registry of Calico's images. Only the DaemonSet uses it.
	Registry string `json:"registry,omitempty"`
	// Version: Sets the version of Calico. From v3.32 on, eBPF needs a newer kernel. Otherwise only
	// the DaemonSet uses it.
	Version string `json:"version,omitempty"`
	// MajorVersion: Sets the major version of Calico, v2 or v3, for kOps 1.11 to 1.22. Only the
	// DaemonSet uses it.
	MajorVersion string `json:"majorVersion,omitempty"`
	// AllowIPForwarding: true lets pods forward packets: their ip_forward is 1. Only the DaemonSet
	// uses it.
	AllowIPForwarding bool `json:"allowIPForwarding,omitempty"`
	// AWSSrcDstCheck: Says what Calico's own agents do with EC2's source/destination check.
	// Netwright acts only on `spec.aws.sourceDestCheck`.
	AWSSrcDstCheck string `json:"awsSrcDstCheck,omitempty"`
	// BPFEnabled: true uses eBPF in place of iptables. The node mounts bpffs for it.
	BPFEnabled bool `json:"bpfEnabled,omitempty"`
	// BPFExternalServiceMode: Sets whether answers to outside clients go back through the first
	// node (Tunnel) or straight (DSR). Only the DaemonSet uses it.
	BPFExternalServiceMode string `json:"bpfExternalServiceMode,omitempty"`
	// BPFKubeProxyIptablesCleanupEnabled: true lets Felix remove kube-proxy's iptables rules. Only
	// the DaemonSet uses it.
	BPFKubeProxyIptablesCleanupEnabled bool `json:"bpfKubeProxyIptablesCleanupEnabled,omitempty"`
	// BPFLogLevel: Sets the log level of the eBPF programs. Only the DaemonSet uses it.
	BPFLogLevel string `json:"bpfLogLevel,omitempty"`
	// ChainInsertMode: Sets whether Felix puts its rules before the rules of others (insert) or
	// after them (append). Only the DaemonSet uses it.
	ChainInsertMode string `json:"chainInsertMode,omitempty"`
	// CPURequest: Sets the CPU request of calico-node, such as 100m. Only the DaemonSet uses it.
	CPURequest string `json:"cpuRequest,omitempty"`
	// CrossSubnet: true encapsulates only between subnets. kOps 1.22 deprecated it: use `ipipMode`
	// or `vxlanMode`.
	CrossSubnet bool `json:"crossSubnet,omitempty"`
	// EncapsulationMode: Sets what carries packets between nodes. The default is none with pods of
	// IPv6 only, vxlan on Azure, and ipip elsewhere.
	EncapsulationMode string `json:"encapsulationMode,omitempty"`
	// IPIPMode: Sets when IPIP encapsulates. kOps' default is CrossSubnet.
	IPIPMode string `json:"ipipMode,omitempty"`
	// IPv4AutoDetectionMethod: Sets how calico-node finds the node's IPv4 address, such as
	// can-reach=10.0.0.1. Only the DaemonSet uses it.
	IPv4AutoDetectionMethod string `json:"ipv4AutoDetectionMethod,omitempty"`
	// IPv6AutoDetectionMethod: Sets how calico-node finds the node's IPv6 address. Only the
	// DaemonSet uses it.
	IPv6AutoDetectionMethod string `json:"ipv6AutoDetectionMethod,omitempty"`
	// IptablesBackend: Sets which iptables Felix writes. Only the DaemonSet uses it.
	IptablesBackend string `json:"iptablesBackend,omitempty"`
	// LogSeverityScreen: Sets what calico-node logs to stdout. Only the DaemonSet uses it.
	LogSeverityScreen string `json:"logSeverityScreen,omitempty"`
	// LogSeveritySys: Sets what Felix logs to syslog. Only the DaemonSet uses it.
	LogSeveritySys string `json:"logSeveritySys,omitempty"`
	// MTU: Says the MTU of the pods' links in bytes, which Calico's own configuration sets. `agent
	// verify` compares both. Without it or with 0, Calico detects it.
	MTU int `json:"mtu,omitempty"`
	// NFTablesMode: Sets whether Calico uses nftables in place of iptables. Enabled needs a kernel
	// from 5.13.
	NFTablesMode string `json:"nftablesMode,omitempty"`
	// PrometheusMetricsEnabled: true lets Felix serve metrics. Only the DaemonSet uses it.
	PrometheusMetricsEnabled bool `json:"prometheusMetricsEnabled,omitempty"`
	// PrometheusMetricsPort: Sets the port where Felix serves metrics. Only the DaemonSet uses it.
	PrometheusMetricsPort int `json:"prometheusMetricsPort,omitempty"`
	// PrometheusGoMetricsEnabled: true adds metrics of Go's runtime to Felix' metrics. Only the
	// DaemonSet uses it.
	PrometheusGoMetricsEnabled bool `json:"prometheusGoMetricsEnabled,omitempty"`
	// PrometheusProcessMetricsEnabled: true adds metrics of the process to Felix' metrics. Only the
	// DaemonSet uses it.
	PrometheusProcessMetricsEnabled bool `json:"prometheusProcessMetricsEnabled,omitempty"`
	// TyphaPrometheusMetricsEnabled: true lets Typha serve metrics. Only its Deployment uses it.
	TyphaPrometheusMetricsEnabled bool `json:"typhaPrometheusMetricsEnabled,omitempty"`
	// TyphaPrometheusMetricsPort: Sets the port where Typha serves metrics. Only its Deployment
	// uses it.
	TyphaPrometheusMetricsPort int `json:"typhaPrometheusMetricsPort,omitempty"`
	// TyphaReplicas: Sets the number of Typhas. 0 means none.
	TyphaReplicas int `json:"typhaReplicas,omitempty"`
	// VXLANMode: Sets when VXLAN encapsulates. kOps' default is CrossSubnet.
	VXLANMode string `json:"vxlanMode,omitempty"`
	// WireguardEnabled: true encrypts packets between nodes. The node loads the module wireguard.
	WireguardEnabled *bool `json:"wireguardEnabled,omitempty"`

	// Datastore: Sets where Calico keeps its own data. kOps chose etcd up to 1.19.
	Datastore string `json:"datastore"`
	// Etcd: Says how Calico on the node reaches its etcd. It is only for `datastore: etcd`.
	Etcd *CalicoEtcd `json:"etcd,omitempty"`
}

// CalicoEtcd says how the node's parts of Calico reach their etcd.
type CalicoEtcd struct {
	// Endpoints: Lists at least one endpoint of etcd. All are http, or all are https.
	Endpoints []string `json:"endpoints"`
	TLS       bool     `json:"tls"` // the endpoints are https: certificates are wanted
	// Certificates: Sets the client certificate for https endpoints.
	Certificates Certificates `json:"certificates"`
}

// Certificates is a client certificate with its key and CA: which keypair of the store's pki it is,
// which CA signed it, and where its files go.
type Certificates struct {
	// Dir: Names the directory of the three files. In a directory called calico-tls they have
	// Calico's own names, elsewhere kOps' names.
	Dir string `json:"dir"`
	// CA: Names the keyset of the store's pki whose certificates are trusted.
	CA string `json:"ca"`
	// Keypair: Names the keyset that has the certificate and the key. kOps' keyset has
	// CN=calico-client.
	Keypair string `json:"keypair"`
}

// calicoOwnDir is the base name of the directory that Calico's own installer fills (from the Secret
// calico-etcd-secrets into /etc/cni/net.d/calico-tls). In a directory of that name the files have
// Calico's names, elsewhere kOps' names.
const calicoOwnDir = "calico-tls"

// CAFile returns the path of the trusted CA's certificates.
func (c Certificates) CAFile() string { return c.file("etcd-ca", "ca.pem") }

// CertFile returns the path of the client certificate.
func (c Certificates) CertFile() string { return c.file("etcd-cert", "calico-client.pem") }

// KeyFile returns the path of the client's private key.
func (c Certificates) KeyFile() string { return c.file("etcd-key", "calico-client-key.pem") }

func (c Certificates) file(calico, kops string) string {
	if path.Base(c.Dir) == calicoOwnDir {
		return path.Join(c.Dir, calico)
	}
	return path.Join(c.Dir, kops)
}

func (c *Calico) fields() []decode.Field {
	severities := []string{"Debug", "Info", "Warning", "Error", "Fatal", "None", "debug", "info", "warning", "error",
		"fatal", "critical", "none"}
	return []decode.Field{
		decode.Text("registry", &c.Registry, nil),
		decode.Text("version", &c.Version, nil),
		decode.Choice("majorVersion", &c.MajorVersion, "v2", "v3"),
		decode.Bool("allowIPForwarding", &c.AllowIPForwarding),
		decode.Choice("awsSrcDstCheck", &c.AWSSrcDstCheck, "Enable", "Disable", "DoNothing"),
		decode.Bool("bpfEnabled", &c.BPFEnabled),
		decode.Choice("bpfExternalServiceMode", &c.BPFExternalServiceMode, "Tunnel", "DSR"),
		decode.Bool("bpfKubeProxyIptablesCleanupEnabled", &c.BPFKubeProxyIptablesCleanupEnabled),
		decode.Choice("bpfLogLevel", &c.BPFLogLevel, "Off", "Info", "Debug"),
		decode.Choice("chainInsertMode", &c.ChainInsertMode, "insert", "append"),
		decode.Text("cpuRequest", &c.CPURequest, nil),
		decode.Bool("crossSubnet", &c.CrossSubnet),
		decode.Choice("encapsulationMode", &c.EncapsulationMode, "ipip", "vxlan", "none"),
		decode.Choice("ipipMode", &c.IPIPMode, "CrossSubnet", "Always", "Never"),
		decode.Text("ipv4AutoDetectionMethod", &c.IPv4AutoDetectionMethod, validDetection),
		decode.Text("ipv6AutoDetectionMethod", &c.IPv6AutoDetectionMethod, validDetection),
		decode.Choice("iptablesBackend", &c.IptablesBackend, "Auto", "Legacy", "NFT"),
		decode.Choice("logSeverityScreen", &c.LogSeverityScreen, severities...),
		decode.Choice("logSeveritySys", &c.LogSeveritySys, severities...),
		decode.AutoMTU("mtu", &c.MTU),
		decode.Choice("nftablesMode", &c.NFTablesMode, "Enabled", "Disabled", "Auto"),
		decode.Bool("prometheusMetricsEnabled", &c.PrometheusMetricsEnabled),
		decode.Port("prometheusMetricsPort", &c.PrometheusMetricsPort),
		decode.Bool("prometheusGoMetricsEnabled", &c.PrometheusGoMetricsEnabled),
		decode.Bool("prometheusProcessMetricsEnabled", &c.PrometheusProcessMetricsEnabled),
		decode.Bool("typhaPrometheusMetricsEnabled", &c.TyphaPrometheusMetricsEnabled),
		decode.Port("typhaPrometheusMetricsPort", &c.TyphaPrometheusMetricsPort),
		decode.Number("typhaReplicas", &c.TyphaReplicas, 0, 10_000),
		decode.Choice("vxlanMode", &c.VXLANMode, "CrossSubnet", "Always", "Never"),
		decode.OptionalBool("wireguardEnabled", &c.WireguardEnabled),
		decode.Choice("datastore", &c.Datastore, "kubernetes", "etcd").Default("kubernetes"),
		decode.Into("etcd", func() []decode.Field { return allocate(&c.Etcd).fields() }),
	}
}

func (e *CalicoEtcd) fields() []decode.Field {
	return []decode.Field{
		decode.Texts("endpoints", &e.Endpoints, decode.ValidEndpoint),
		decode.Into("certificates", func() []decode.Field {
			return []decode.Field{
				decode.AbsolutePath("dir", &e.Certificates.Dir),
				decode.Text("ca", &e.Certificates.CA, decode.ValidName),
				decode.Text("keypair", &e.Certificates.Keypair, decode.ValidName),
			}
		}),
	}
}

// validDetection accepts Calico's methods to find a node's address.
// https://docs.tigera.io/calico/latest/reference/configure-calico-node
func validDetection(s string) string {
	switch method, argument, has := strings.Cut(s, "="); method {
	case "first-found", "kubernetes-internal-ip":
		if !has {
			return ""
		}
	case "can-reach", "interface", "skip-interface", "cidr":
		if argument != "" {
			return ""
		}
	}
	return "first-found, kubernetes-internal-ip, can-reach=…, interface=…, skip-interface=… or cidr=…"
}

// These are kOps' defaults for the certificates of [CalicoEtcd].
const (
	kopsCertificateDir = "/srv/kubernetes/calico"
	kopsCertificateCA  = "ca"
	kopsCalicoKeypair  = "calico-client"
)

func (c *Calico) fill(s *ClusterSettings, o decode.Origins) {
	encapsulation := "ipip"
	switch {
	case s.sixOnly():
		encapsulation = "none"
	case s.Cloud == "azure":
		encapsulation = "vxlan"
	}
	decode.Fill(o, "spec.networking.calico.encapsulationMode", document.KopsDefault, &c.EncapsulationMode,
		encapsulation)
	if etcd := c.Etcd; etcd != nil {
		const at = "spec.networking.calico.etcd.certificates."
		decode.Fill(o, at+"dir", document.KopsDefault, &etcd.Certificates.Dir, kopsCertificateDir)
		decode.Fill(o, at+"ca", document.KopsDefault, &etcd.Certificates.CA, kopsCertificateCA)
		decode.Fill(o, at+"keypair", document.KopsDefault, &etcd.Certificates.Keypair, kopsCalicoKeypair)
	}
}

func (c *Calico) check(s *ClusterSettings, r *decode.Reporter) {
	s.checkMTU(r, "spec.networking.calico.mtu", c.MTU, 0)
	c.checkEtcd(r)
	if c.BPFEnabled {
		s.noKubeProxy(r, "spec.networking.calico.bpfEnabled", "calico's eBPF")
	}
	c.checkEncapsulation(s, r)
}

// checkEtcd checks that the datastore and its etcd endpoints fit together.
func (c *Calico) checkEtcd(r *decode.Reporter) {
	const at = "spec.networking.calico.etcd"
	switch {
	case c.Datastore == "kubernetes" && c.Etcd != nil:
		r.ErrorAt(at, document.Diagnostic{Summary: "etcd is set, but the datastore is kubernetes",
			Hint: "set datastore: etcd, or take etcd out"})
		return
	case c.Datastore == "etcd" && (c.Etcd == nil || len(c.Etcd.Endpoints) == 0):
		r.ErrorAt(at, document.Diagnostic{Summary: "the datastore is etcd, but it has no endpoints",
			Expected: "etcd: {endpoints: [https://…:2379]}"})
		return
	case c.Etcd == nil:
		return
	}
	for i, e := range c.Etcd.Endpoints {
		tls := strings.HasPrefix(e, "https:")
		if i > 0 && tls != c.Etcd.TLS {
			r.ErrorAt(at+".endpoints", document.Diagnostic{Summary: "some etcd endpoints are https and some are http",
				Expected: "all the same"})
			return
		}
		c.Etcd.TLS = tls
	}
	if !c.Etcd.TLS && r.Origin(at+".certificates").File != "" {
		r.WarnAt(at+".certificates",
			document.Diagnostic{Summary: "certificates are set, but the etcd endpoints are http: none are installed"})
	}
}

// checkEncapsulation refuses encapsulations that contradict each other or that do not work here.
func (c *Calico) checkEncapsulation(s *ClusterSettings, r *decode.Reporter) {
	const at = "spec.networking.calico"
	switch mode := c.EncapsulationMode; {
	case s.sixOnly() && mode == "ipip":
		r.ErrorAt(at+".encapsulationMode",
			document.Diagnostic{Summary: fmt.Sprintf("IPIP carries IPv4 only, and podCIDR is %s (%s)", s.PodCIDR,
				r.Origin("spec.podCIDR")), Expected: "one of none, vxlan"})
	case mode != "ipip" && c.IPIPMode != "" && c.IPIPMode != "Never":
		r.ErrorAt(at+".ipipMode", document.Diagnostic{Summary: fmt.Sprintf("ipipMode is %s, and encapsulationMode is "+
			"%s (%s)", c.IPIPMode, mode, r.Origin(at+".encapsulationMode")),
			Expected: "ipipMode: Never, or encapsulationMode: ipip"})
	case mode != "vxlan" && c.VXLANMode != "" && c.VXLANMode != "Never":
		r.ErrorAt(at+".vxlanMode", document.Diagnostic{Summary: fmt.Sprintf("vxlanMode is %s, and encapsulationMode "+
			"is %s (%s)", c.VXLANMode, mode, r.Origin(at+".encapsulationMode")),
			Expected: "vxlanMode: Never, or encapsulationMode: vxlan"})
	case s.Cloud == "azure" && mode != "vxlan":
		r.ErrorAt(at+".encapsulationMode",
			document.Diagnostic{Summary: fmt.Sprintf("encapsulationMode is %s, and Azure (%s) lets neither IPIP nor "+
				"pods' addresses pass", mode, r.Origin("spec.cloudProvider")),
				Expected: "vxlan"})
	}
}
