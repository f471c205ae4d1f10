package config

import "path"

// Networking holds the one network of the cluster: after Load exactly one pointer is set.
type Networking struct {
	// BridgeNetfilter is who decides whether bridged packets go through iptables: "" is the network's own value, "1" and "0" are written
	// (net.bridge.bridge-nf-call-iptables and -ip6tables), [Unmanaged] leaves both keys to somebody else.
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

	Switch *Switch `json:"switch,omitempty"` // no network: how to leave the one that the node has
}

// Unmanaged is the bridgeNetfilter that is not ours.
const Unmanaged = "unmanaged"

// Name is the key under spec.networking that selects the network, "bridge" or "cni" for example; "" when none is set.
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

// CNI is spec.networking.cni. It plays two parts: alone it selects "bring your own"; beside another network it only carries the directories.
type CNI struct {
	BinDir  string `json:"binDir"`  // default /opt/cni/bin
	ConfDir string `json:"confDir"` // default /etc/cni/net.d
	// UsesSecondaryIP: pods take secondary addresses of the node's interfaces, so kubelet is told its --node-ip (kOps). Bring your own only.
	UsesSecondaryIP bool `json:"usesSecondaryIP,omitempty"`
}

// Kubenet is kOps' kubenet: the legacy kubelet plugin below Kubernetes 1.24, containerd's conf_template from there on.
type Kubenet struct {
	MTU int `json:"mtu,omitempty"` // 0: the rule of kubenet (smallest MTU of the normal interfaces)
}

// Bridge is a Linux bridge with host-local IPAM and static routes between the nodes; no DaemonSet, no controller.
type Bridge struct {
	MTU     int  `json:"mtu,omitempty"` // 0: the rule of kubenet
	Hairpin bool `json:"hairpin"`       // a pod reaches itself through its service; default true
	// Nodes are the members as the network's own list names them, this node included; [Node.Peers] is what routes are made of.
	Nodes []Peer `json:"nodes,omitempty"`
}

// Flannel is kOps' flannel; the DaemonSet writes the conf.
type Flannel struct {
	Backend                     string `json:"backend"`               // "udp", "vxlan", "host-gw" or "wireguard"; required
	IptablesResyncSeconds       int    `json:"iptablesResyncSeconds"` // default 5
	DisableTxChecksumOffloading bool   `json:"disableTxChecksumOffloading,omitempty"`
}

// Calico holds kOps' fields, plus the datastore that kOps 1.19 and older chose by itself. Most fields are for the DaemonSet and only
// recorded here; the node acts on MTU, encapsulation, BPF, WireGuard, the datastore and its certificates. "" and 0 mean: Calico's default.
type Calico struct {
	Registry                           string `json:"registry,omitempty"`
	Version                            string `json:"version,omitempty"`
	MajorVersion                       string `json:"majorVersion,omitempty"` // "v2" or "v3"; kOps 1.11 to 1.22
	AllowIPForwarding                  bool   `json:"allowIPForwarding,omitempty"`
	AWSSrcDstCheck                     string `json:"awsSrcDstCheck,omitempty"` // what calico's own agents do; ours acts on spec.aws.sourceDestCheck alone
	BPFEnabled                         bool   `json:"bpfEnabled,omitempty"`
	BPFExternalServiceMode             string `json:"bpfExternalServiceMode,omitempty"` // "Tunnel", "DSR"
	BPFKubeProxyIptablesCleanupEnabled bool   `json:"bpfKubeProxyIptablesCleanupEnabled,omitempty"`
	BPFLogLevel                        string `json:"bpfLogLevel,omitempty"`     // "Off", "Info", "Debug"
	ChainInsertMode                    string `json:"chainInsertMode,omitempty"` // "insert", "append"
	CPURequest                         string `json:"cpuRequest,omitempty"`
	CrossSubnet                        bool   `json:"crossSubnet,omitempty"`       // deprecated by kOps 1.22
	EncapsulationMode                  string `json:"encapsulationMode,omitempty"` // "ipip", "vxlan", "none"; default ipip, vxlan on Azure
	IPIPMode                           string `json:"ipipMode,omitempty"`          // "CrossSubnet", "Always", "Never"
	IPv4AutoDetectionMethod            string `json:"ipv4AutoDetectionMethod,omitempty"`
	IPv6AutoDetectionMethod            string `json:"ipv6AutoDetectionMethod,omitempty"`
	IptablesBackend                    string `json:"iptablesBackend,omitempty"` // "Auto", "Legacy", "NFT"
	LogSeverityScreen                  string `json:"logSeverityScreen,omitempty"`
	LogSeveritySys                     string `json:"logSeveritySys,omitempty"`
	MTU                                int    `json:"mtu,omitempty"`          // 0: Calico detects it
	NFTablesMode                       string `json:"nftablesMode,omitempty"` // "Enabled", "Disabled", "Auto"
	PrometheusMetricsEnabled           bool   `json:"prometheusMetricsEnabled,omitempty"`
	PrometheusMetricsPort              int    `json:"prometheusMetricsPort,omitempty"`
	PrometheusGoMetricsEnabled         bool   `json:"prometheusGoMetricsEnabled,omitempty"`
	PrometheusProcessMetricsEnabled    bool   `json:"prometheusProcessMetricsEnabled,omitempty"`
	TyphaPrometheusMetricsEnabled      bool   `json:"typhaPrometheusMetricsEnabled,omitempty"`
	TyphaPrometheusMetricsPort         int    `json:"typhaPrometheusMetricsPort,omitempty"`
	TyphaReplicas                      int    `json:"typhaReplicas,omitempty"`
	VXLANMode                          string `json:"vxlanMode,omitempty"`        // "CrossSubnet", "Always", "Never"
	WireguardEnabled                   *bool  `json:"wireguardEnabled,omitempty"` // nil: kOps installs the package all the same

	Datastore string      `json:"datastore"`      // "kubernetes" (default) or "etcd"
	Etcd      *CalicoEtcd `json:"etcd,omitempty"` // set exactly when Datastore is "etcd"
}

// CalicoEtcd says how the node's Calico parts reach their etcd.
type CalicoEtcd struct {
	Endpoints    []string     `json:"endpoints"`    // at least one, all http or all https
	TLS          bool         `json:"tls"`          // the endpoints are https: certificates are wanted
	Certificates Certificates `json:"certificates"` // with defaults, also when TLS is false
}

// Certificates is a client certificate set: which keypair of the store's pki, signed by which CA, and where its files go.
type Certificates struct {
	Dir     string `json:"dir"`     // default /srv/kubernetes/calico
	CA      string `json:"ca"`      // keyset of the store's pki whose certificates are trusted; default "ca"
	Keypair string `json:"keypair"` // keyset that holds certificate and key; default "calico-client" (as kOps, CN=calico-client)
}

// calicoOwnDir is the base name of the directory that Calico's own installer fills (Secret calico-etcd-secrets → /etc/cni/net.d/calico-tls):
// there its file names are used, elsewhere those of kOps.
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
