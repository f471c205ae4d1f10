package config

import (
	"io/fs"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/secret"
)

// Select names the node whose configuration is wanted. Group may be empty when the node's own document names it
// (spec.nodeGroup). Node may have no document: then only cluster and node group speak.
type Select struct {
	Group string
	Node  string
}

// Node is the configuration of one node: cluster, node group and node merged, defaults filled in, valid as a whole. It is read-only after Load.
//
// Paths for [Node.Origin] are those that a person would write: "spec.networking.bridge.mtu". Elements of a list that merges by a
// key carry the key: "spec.sysctlParameters[net.ipv4.ip_forward]", "spec.fileAssets[/etc/hello]", "spec.assets[cni-plugins]", "spec.hooks[fix.service]".
type Node struct {
	Cluster   string `json:"cluster"`   // metadata.name of the Cluster
	NodeGroup string `json:"nodeGroup"` // metadata.name of the NodeGroup; "" when none was selected
	Name      string `json:"name"`      // the node's name in Kubernetes; "" when none was selected
	Role      string `json:"role"`      // RoleNode, RoleControlPlane, RoleAPIServer or RoleBastion; spec.role of the node group

	KubernetesVersion Version `json:"kubernetesVersion"`
	CloudProvider     string  `json:"cloudProvider,omitempty"` // "aws", "gce", "metal" …; "" when not said
	// ContainerRuntime is "containerd", or "docker" (kOps' default below Kubernetes 1.20, impossible from 1.24): only with it kubelet does CNI itself.
	ContainerRuntime string   `json:"containerRuntime"`
	Topology         Topology `json:"topology"`

	Networking Networking `json:"networking"`
	// CNI is where plugins and confs live. The values are defaults unless Origin("spec.networking.cni.binDir") says otherwise:
	// a default gives way to the directories that the runtime really uses.
	CNI CNI `json:"cni"`

	PodCIDR               CIDRs     `json:"podCIDR"`               // of the whole cluster; at most one per family
	NetworkCIDR           CIDRs     `json:"networkCIDR,omitempty"` // where the nodes' own addresses lie (a VPC); empty: not said
	NonMasqueradeCIDR     CIDRs     `json:"nonMasqueradeCIDR"`     // traffic to it keeps its pod address; a family without a range is not masqueraded at all
	ServiceClusterIPRange CIDRs     `json:"serviceClusterIPRange"` // at most one per family
	NodePortRange         PortRange `json:"serviceNodePortRange"`  // default 30000-32767

	// Address is how other nodes reach this one; empty when no document says it.
	Address Addresses `json:"address,omitempty"`
	// PodCIDRs of this node, from its document, else from the network's own nodes list; empty: ask the API's Node.
	PodCIDRs CIDRs `json:"podCIDRs,omitempty"`
	// Peers are the other nodes, by name, from the network's nodes list and from nodes/*.yaml (a node's document wins).
	// Filled only for networks that route by themselves (bridge).
	Peers []Peer `json:"peers,omitempty"`
	Size  Size   `json:"size,omitzero"`

	SysctlParameters []Sysctl    `json:"sysctlParameters,omitempty"` // in document order, one entry per key
	Assets           []Asset     `json:"assets,omitempty"`           // by first appearance, one entry per name
	AssetsMirror     string      `json:"assetsMirror,omitempty"`     // base URL that replaces scheme and host of every asset URL
	Kubelet          Kubelet     `json:"kubelet"`
	KubeProxy        *bool       `json:"kubeProxy,omitempty"` // whether it runs (spec.kubeProxy.enabled); nil: not said
	Containerd       Containerd  `json:"containerd"`
	FileAssets       []FileAsset `json:"fileAssets,omitempty"` // those meant for this role and node group, one entry per path
	Hooks            []Hook      `json:"hooks,omitempty"`      // those meant for this role, one entry per name
	// Certificates are by first appearance, one entry per name, each complete: the request of an issued one has its defaults and variables filled in.
	Certificates []Certificate `json:"certificates,omitempty"`
	Prune        Prune         `json:"prune"`
	Update       Update        `json:"update"`
	Drift        Drift         `json:"drift,omitzero"`
	AWS          AWS           `json:"aws,omitzero"`

	origins origins
}

// Prune says what becomes of things of ours that no document wants any more.
type Prune struct {
	// Changed is what becomes of one that somebody changed since we wrote it: Keep (the default; it is reported, and theirs from
	// then on) or Remove.
	Changed string `json:"changed"`
}

// The policies of [Prune].
const (
	Keep   = "keep"
	Remove = "remove"
)

// The roles of kOps' instance groups.
const (
	RoleNode         = "Node"
	RoleControlPlane = "ControlPlane" // "Master" in kOps before 1.26 means the same
	RoleAPIServer    = "APIServer"
	RoleBastion      = "Bastion"
)

// ControlPlane tells that an API server runs here: such a node may have the keys of the cluster's CAs, as in kOps, and no other.
func (n *Node) ControlPlane() bool { return n.Role == RoleControlPlane || n.Role == RoleAPIServer }

// Topology is kOps' spec.topology: "public" or "private"; "" when not said.
type Topology struct {
	Nodes        string `json:"nodes,omitempty"`
	ControlPlane string `json:"controlPlane,omitempty"` // spec.topology.masters in kOps
}

// Peer is another node of the cluster, as a network without a controller needs to know it.
type Peer struct {
	Name     string    `json:"name"`
	Address  Addresses `json:"address"` // the next hops of the routes to PodCIDRs, each for its own family
	PodCIDRs CIDRs     `json:"podCIDRs"`
	Origin   Origin    `json:"origin"`
}

// Sysctl is one kernel parameter that the user asks for.
type Sysctl struct {
	// Key in the dotted form of sysctl(8): a dot inside a name is a slash ("net.ipv4.conf.eth0/100.rp_filter").
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin Origin `json:"origin"`
}

// Asset is a download that a network may name, and the hash that it must have.
type Asset struct {
	Name    string               `json:"name"`
	Version string               `json:"version,omitempty"`
	Members []string             `json:"members,omitempty"` // of the archive; empty: those that the network names
	Arch    map[string]AssetFile `json:"arch"`              // by GOARCH: "amd64", "arm64"
	Origin  Origin               `json:"origin"`
}

// AssetFile is an asset for one architecture.
type AssetFile struct {
	// One of the two is set: lower-case hex digits, of the file as downloaded.
	SHA256 string   `json:"sha256,omitempty"`
	SHA512 string   `json:"sha512,omitempty"`
	URLs   []string `json:"urls"` // tried in order; without a scheme: relative to the store
}

// Kubelet holds the fields of kOps' spec.kubelet that concern the network, spelled as kOps does. A nil or zero value means: not said.
// Which release of kubelet takes which flag is the model's to know.
type Kubelet struct {
	NetworkPluginName string `json:"networkPluginName,omitempty"` // "kubenet", "cni", or an exec plugin; forbidden from Kubernetes 1.24 as in kOps
	NetworkPluginMTU  int    `json:"networkPluginMTU,omitempty"`
	NetworkPluginDir  string `json:"networkPluginDir,omitempty"`
	CNIBinDir         string `json:"cniBinDir,omitempty"`
	CNIConfDir        string `json:"cniConfDir,omitempty"`
	NonMasqueradeCIDR CIDRs  `json:"nonMasqueradeCIDR,omitempty"`
	HairpinMode       string `json:"hairpinMode,omitempty"` // "promiscuous-bridge", "hairpin-veth", "none"
	PodCIDR           CIDRs  `json:"podCIDR,omitempty"`
	ReconcileCIDR     *bool  `json:"reconcileCIDR,omitempty"`
	ConfigureCBR0     *bool  `json:"configureCbr0,omitempty"`
	MaxPods           int    `json:"maxPods,omitempty"`
}

// Containerd says where the runtime is. Netwright does not own its configuration.
type Containerd struct {
	Address    string `json:"address"`    // the CRI socket; default /run/containerd/containerd.sock
	ConfigPath string `json:"configPath"` // default /etc/containerd/config.toml
}

// FileAsset is a file that the user wants on the node (kOps' fileAssets). Its JSON shows everything but the content.
type FileAsset struct {
	Name    string
	Path    string       // absolute and clean; default /srv/kubernetes/assets/<name>
	Content host.Content // decoded when isBase64, or in the store; never printed
	Mode    fs.FileMode  // permission bits; default 0440
	Owner   string       // "user" or "user:group", by name or number; "" is root
	// Secret keeps the content out of plans and diffs: `secret: true`, or a mode that others cannot read.
	Secret bool
	Origin Origin
}

// Hook is a systemd unit that the user wants on the node (kOps' hooks).
type Hook struct {
	Name           string      `json:"name"` // with a unit suffix: ".service" is added when there is none
	Enabled        bool        `json:"enabled"`
	Manifest       secret.Text `json:"-"` // it may hold secrets: Environment=
	UseRawManifest bool        `json:"useRawManifest,omitempty"`
	Before         []string    `json:"before,omitempty"`
	Requires       []string    `json:"requires,omitempty"`
	Origin         Origin      `json:"origin"`
}
