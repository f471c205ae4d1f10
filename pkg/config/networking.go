package config

import "path"

// Networking holds the one network of the cluster: after Load exactly one pointer is set.
type Networking struct {
	// BridgeNetfilter: who decides whether bridged packets go through iptables: 1 and 0 are written
	// to net.bridge.bridge-nf-call-iptables and -ip6tables, unmanaged leaves them alone. Not said:
	// the network decides
	BridgeNetfilter string `json:"bridgeNetfilter,omitempty"`

	ACI       *ACI      `json:"aci,omitempty"`
	Classic   *Bare     `json:"classic,omitempty"`
	CNIGenie  *Bare     `json:"cniGenie,omitempty"`
	ContivVPP *Bare     `json:"contivVPP,omitempty"`
	Contrail  *Contrail `json:"contrail,omitempty"`
	DANM      *Bare     `json:"danm,omitempty"`
	Jaguar    *Bare     `json:"jaguar,omitempty"`
	KVSwitch  *KVSwitch `json:"kVSwitch,omitempty"`
	Knitter   *Bare     `json:"knitter,omitempty"`
	NSXT      *Bare     `json:"nsxT,omitempty"`
	OVN4NFV   *Bare     `json:"ovn4nfv,omitempty"`

	Antrea        *Antrea        `json:"antrea,omitempty"`
	Azure         *Azure         `json:"azure,omitempty"`
	Coil          *Coil          `json:"coil,omitempty"`
	Hybridnet     *Hybridnet     `json:"hybridnet,omitempty"`
	KubeOVN       *KubeOVN       `json:"kubeOVN,omitempty"`
	OVNKubernetes *OVNKubernetes `json:"ovnKubernetes,omitempty"`

	AmazonVPC  *AmazonVPC  `json:"amazonVPC,omitempty"`
	Bridge     *Bridge     `json:"bridge,omitempty"`
	Calico     *Calico     `json:"calico,omitempty"`
	Canal      *Canal      `json:"canal,omitempty"`
	Cilium     *Cilium     `json:"cilium,omitempty"`
	CNI        *CNI        `json:"cni,omitempty"` // bring your own
	Custom     *Custom     `json:"custom,omitempty"`
	External   *Bare       `json:"external,omitempty"`
	Flannel    *Flannel    `json:"flannel,omitempty"`
	GCP        *GCP        `json:"gcp,omitempty"`
	Kindnet    *Kindnet    `json:"kindnet,omitempty"`
	Kopeio     *Bare       `json:"kopeio,omitempty"`
	KubeRouter *KubeRouter `json:"kubeRouter,omitempty"`
	Kubenet    *Kubenet    `json:"kubenet,omitempty"`
	LyftVPC    *LyftVPC    `json:"lyftvpc,omitempty"`
	Romana     *Romana     `json:"romana,omitempty"`
	Weave      *Weave      `json:"weave,omitempty"`

	Multus *Multus `json:"multus,omitempty"` // beside the one network, not counted as one

	Switch *Switch `json:"switch,omitempty"` // how to leave the network that a node has for another one
}

// Unmanaged is the bridgeNetfilter that is not ours.
const Unmanaged = "unmanaged"

// Name is the key under spec.networking that selects the network, "bridge" or "cni" for example; ""
// when none is set.
func (n *Networking) Name() string {
	for _, c := range choices() {
		if c.name != byoNetwork && c.set(n) {
			return c.name
		}
	}
	if n.CNI != nil {
		return byoNetwork
	}
	return ""
}

// CNI is spec.networking.cni. It plays two parts: alone it selects "bring your own"; beside another
// network it only carries the directories.
type CNI struct {
	BinDir  string `json:"binDir"`  // where plugins go. A default gives way to the directory that the runtime uses
	ConfDir string `json:"confDir"` // where confs go. A default gives way to the directory that the runtime uses
	// UsesSecondaryIP: pods take secondary addresses of the node's interfaces: kubelet needs
	// --node-ip where it is started, as a warning says. Bring your own only
	UsesSecondaryIP bool `json:"usesSecondaryIP,omitempty"`
}

// Kubenet is kOps' kubenet: the legacy kubelet plugin below Kubernetes 1.24, containerd's
// conf_template from there on.
type Kubenet struct {
	MTU int `json:"mtu,omitempty"` // of the pods' links; not said: the smallest MTU of the links that are up
}

// Bridge is a Linux bridge with host-local IPAM and static routes between the nodes; no DaemonSet,
// no controller.
type Bridge struct {
	MTU     int  `json:"mtu,omitempty"` // of the pods' links; not said: the smallest MTU of the links that are up
	Hairpin bool `json:"hairpin"`       // a pod reaches itself through its service
	// Nodes: the members, this node included; the routes between nodes are made of them. A document
	// below nodes/ wins over an entry of the same name
	Nodes []Peer `json:"nodes,omitempty"`
}

// Flannel is kOps' flannel; the DaemonSet writes the conf.
type Flannel struct {
	// Backend: what carries packets between nodes; required. kOps knows udp and vxlan, netwright's
	// documents all four
	Backend                     string `json:"backend"`
	IptablesResyncSeconds       int    `json:"iptablesResyncSeconds"`                 // how often flanneld looks after its iptables rules
	DisableTxChecksumOffloading bool   `json:"disableTxChecksumOffloading,omitempty"` // of the VXLAN link, for kernels that compute wrong checksums; set by its DaemonSet
}

// Calico holds kOps' fields, plus the datastore that kOps 1.19 and older chose by itself. Most
// fields are for the DaemonSet and only recorded here; the node acts on MTU, encapsulation, BPF,
// WireGuard, the datastore and its certificates. "" and 0 mean: Calico's default.
type Calico struct {
	Registry          string `json:"registry,omitempty"`          // where its images come from; for its DaemonSet
	Version           string `json:"version,omitempty"`           // of Calico; from v3.32 on eBPF needs a newer kernel. The rest is for its DaemonSet
	MajorVersion      string `json:"majorVersion,omitempty"`      // v2 or v3, of kOps 1.11 to 1.22; for its DaemonSet
	AllowIPForwarding bool   `json:"allowIPForwarding,omitempty"` // pods may forward packets (their ip_forward is 1); for its DaemonSet
	// AWSSrcDstCheck: what Calico's own agents do with EC2's check; ours acts on
	// `spec.aws.sourceDestCheck` alone
	AWSSrcDstCheck string `json:"awsSrcDstCheck,omitempty"`
	BPFEnabled     bool   `json:"bpfEnabled,omitempty"` // eBPF in the place of iptables; the node mounts bpffs for it
	// BPFExternalServiceMode: whether answers to outside clients go back by the first node (Tunnel)
	// or straight (DSR); for its DaemonSet
	BPFExternalServiceMode             string `json:"bpfExternalServiceMode,omitempty"`
	BPFKubeProxyIptablesCleanupEnabled bool   `json:"bpfKubeProxyIptablesCleanupEnabled,omitempty"` // Felix removes kube-proxy's iptables rules; for its DaemonSet
	BPFLogLevel                        string `json:"bpfLogLevel,omitempty"`                        // of the eBPF programs; for its DaemonSet
	ChainInsertMode                    string `json:"chainInsertMode,omitempty"`                    // whether Felix puts its rules before those of others or after; for its DaemonSet
	CPURequest                         string `json:"cpuRequest,omitempty"`                         // of calico-node, such as 100m; for its DaemonSet
	CrossSubnet                        bool   `json:"crossSubnet,omitempty"`                        // encapsulate between subnets only; deprecated by kOps 1.22, use ipipMode or vxlanMode
	EncapsulationMode                  string `json:"encapsulationMode,omitempty"`                  // what carries packets between nodes; vxlan on Azure, none with pods of IPv6 only
	IPIPMode                           string `json:"ipipMode,omitempty"`                           // when IPIP encapsulates; kOps' default is CrossSubnet
	// IPv4AutoDetectionMethod: how calico-node finds the node's IPv4 address, such as
	// can-reach=10.0.0.1; for its DaemonSet
	IPv4AutoDetectionMethod         string `json:"ipv4AutoDetectionMethod,omitempty"`
	IPv6AutoDetectionMethod         string `json:"ipv6AutoDetectionMethod,omitempty"`         // the same of the IPv6 address; for its DaemonSet
	IptablesBackend                 string `json:"iptablesBackend,omitempty"`                 // which iptables Felix writes; for its DaemonSet
	LogSeverityScreen               string `json:"logSeverityScreen,omitempty"`               // what calico-node logs to stdout; for its DaemonSet
	LogSeveritySys                  string `json:"logSeveritySys,omitempty"`                  // what Felix logs to syslog; for its DaemonSet
	MTU                             int    `json:"mtu,omitempty"`                             // of the pods' links; not said: Calico detects it
	NFTablesMode                    string `json:"nftablesMode,omitempty"`                    // nftables in the place of iptables; Enabled needs a kernel from 5.13
	PrometheusMetricsEnabled        bool   `json:"prometheusMetricsEnabled,omitempty"`        // Felix serves metrics; for its DaemonSet
	PrometheusMetricsPort           int    `json:"prometheusMetricsPort,omitempty"`           // where Felix serves metrics; for its DaemonSet
	PrometheusGoMetricsEnabled      bool   `json:"prometheusGoMetricsEnabled,omitempty"`      // with those of Go's runtime; for its DaemonSet
	PrometheusProcessMetricsEnabled bool   `json:"prometheusProcessMetricsEnabled,omitempty"` // with those of the process; for its DaemonSet
	TyphaPrometheusMetricsEnabled   bool   `json:"typhaPrometheusMetricsEnabled,omitempty"`   // Typha serves metrics; for its Deployment
	TyphaPrometheusMetricsPort      int    `json:"typhaPrometheusMetricsPort,omitempty"`      // where Typha serves metrics; for its Deployment
	TyphaReplicas                   int    `json:"typhaReplicas,omitempty"`                   // how many Typhas there are; 0 is none
	VXLANMode                       string `json:"vxlanMode,omitempty"`                       // when VXLAN encapsulates; kOps' default is CrossSubnet
	WireguardEnabled                *bool  `json:"wireguardEnabled,omitempty"`                // encrypts between nodes; the node loads the module wireguard

	Datastore string      `json:"datastore"`      // where Calico keeps its own data. kOps chose etcd up to 1.19
	Etcd      *CalicoEtcd `json:"etcd,omitempty"` // how the node's Calico parts reach their etcd; only with `datastore: etcd`
}

// CalicoEtcd says how the node's Calico parts reach their etcd.
type CalicoEtcd struct {
	Endpoints    []string     `json:"endpoints"`    // of etcd, at least one; all http or all https
	TLS          bool         `json:"tls"`          // the endpoints are https: certificates are wanted
	Certificates Certificates `json:"certificates"` // the client certificate that https endpoints are shown
}

// Certificates is a client certificate set: which keypair of the store's pki, signed by which CA,
// and where its files go.
type Certificates struct {
	Dir     string `json:"dir"`     // where the three files go. In one called calico-tls they get Calico's own names, else kOps'
	CA      string `json:"ca"`      // the keyset of the store's pki whose certificates are trusted
	Keypair string `json:"keypair"` // the keyset that holds certificate and key; kOps' has CN=calico-client
}

// calicoOwnDir is the base name of the directory that Calico's own installer fills (Secret
// calico-etcd-secrets → /etc/cni/net.d/calico-tls): there its file names are used, elsewhere those
// of kOps.
const calicoOwnDir = "calico-tls"

// CAFile is the path of the trusted CA's certificates.
func (c Certificates) CAFile() string { return c.file("etcd-ca", "ca.pem") }

// CertFile is the path of the client certificate.
func (c Certificates) CertFile() string { return c.file("etcd-cert", "calico-client.pem") }

// KeyFile is the path of the client's private key.
func (c Certificates) KeyFile() string { return c.file("etcd-key", "calico-client-key.pem") }

func (c Certificates) file(calico, kops string) string {
	if path.Base(c.Dir) == calicoOwnDir {
		return path.Join(c.Dir, calico)
	}
	return path.Join(c.Dir, kops)
}
