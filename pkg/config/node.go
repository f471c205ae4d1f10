package config

import (
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/kops"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/config/values"
)

// Select names the node whose configuration is wanted. Group may be empty if the node's own
// document names the group (spec.nodeGroup). Node may have no document of its own: then only the
// cluster and the node group count.
type Select struct {
	Group string
	Node  string
}

// Node is the configuration of one node: cluster, node group and node merged, with defaults, and
// valid as a whole. It is read-only after Load.
type Node struct {
	Cluster   string `json:"cluster"`   // metadata.name of the Cluster
	NodeGroup string `json:"nodeGroup"` // the name of the NodeGroup that the node belongs to
	Name      string `json:"name"`      // the node's name in Kubernetes; "" when none was selected
	Role      string `json:"role"`      // what the node is for: spec.role of its node group

	// KubernetesVersion: the release of kubelet on the nodes; required. It decides which flags,
	// plugins and confs they take
	KubernetesVersion values.Version `json:"kubernetesVersion"`
	// CloudProvider: where the nodes run: aws, gce, azure, metal … Some networks need a certain
	// one; not said: none is assumed
	CloudProvider string `json:"cloudProvider,omitempty"`
	// ContainerRuntime: who runs containers. docker is kOps' default below Kubernetes 1.20 and
	// impossible from 1.24; only with it kubelet does CNI itself
	ContainerRuntime string   `json:"containerRuntime"`
	Topology         Topology `json:"topology"` // whether nodes have public addresses

	// the one network of the cluster, by its name, and what belongs to every network
	Networking networks.Networking `json:"networking"`
	// CNI is where plugins and confs live. The values are defaults unless
	// Origin("spec.networking.cni.binDir") says otherwise: a default gives way to the directories
	// that the runtime really uses.
	CNI networks.CNI `json:"cni"`

	// PodCIDR: the range of all pods of the cluster; at most one per family. Each node's share is
	// the Node's `podCIDRs`
	PodCIDR values.CIDRs `json:"podCIDR"`
	// where the nodes' own addresses lie (a VPC). Pods and services must not overlap it
	NetworkCIDR values.CIDRs `json:"networkCIDR,omitempty"`
	// NonMasqueradeCIDR: traffic of pods to this range keeps the pod's address; all else gets the
	// node's. A family without a range is not masqueraded at all
	NonMasqueradeCIDR values.CIDRs `json:"nonMasqueradeCIDR"`
	// the range of the services' addresses; at most one per family
	ServiceClusterIPRange values.CIDRs `json:"serviceClusterIPRange"`
	// NodePortRange: the ports that services of type NodePort take on every node; they are kept out
	// of the range of ports for outgoing connections
	NodePortRange values.PortRange `json:"serviceNodePortRange"`

	// Address: how other nodes reach this one, the next hop of their routes; without it the agent
	// takes the address that the host has
	Address values.Addresses `json:"address,omitempty"`
	// PodCIDRs: the range of this node's pods, one per family. Without it: the network's own
	// `nodes` list, else the Node in the Kubernetes API
	PodCIDRs values.CIDRs `json:"podCIDRs,omitempty"`
	// Peers are the other nodes, by name, from the network's nodes list and from nodes/*.yaml (a
	// node's document wins). Filled only for networks that route by themselves (bridge).
	Peers []networks.Peer `json:"peers,omitempty"`
	Size  Size            `json:"size,omitzero"`

	// SysctlParameters: kernel parameters, KEY=VALUE; lists merge by key. Write slashes where a
	// name has dots: net/ipv4/conf/eth0.100/rp_filter=2
	SysctlParameters []extras.Sysctl `json:"sysctlParameters,omitempty"`
	// Assets: what is downloaded, and the hash that it must have. Lists merge by name; without
	// cni-plugins the table of the agent is used
	Assets []extras.Asset `json:"assets,omitempty"`
	// AssetsMirror: takes the place of scheme and host in the URL of every asset: for nodes that
	// reach only this. "assets": the store has the copies that `agent store vendor` made
	AssetsMirror string  `json:"assetsMirror,omitempty"`
	Kubelet      Kubelet `json:"kubelet"`             // settings of kubelet that concern the network, in kOps' words
	KubeProxy    *bool   `json:"kubeProxy,omitempty"` // whether services are kube-proxy's
	ProxyMode    string  `json:"proxyMode,omitempty"` // the mode that it is to run in; "": documents leave it open
	// where the runtime is. Its own configuration stays its owner's
	Containerd Containerd `json:"containerd"`
	// files that the node gets, as kOps' fileAssets; lists merge by path
	FileAssets []extras.FileAsset `json:"fileAssets,omitempty"`
	// FollowLinks: symbolic links of the host on the way to what the agent writes, by their paths
	// (`/opt/cni`). Besides those that the operating system ships, no other is followed; the more
	// special document's list takes the place of the other
	FollowLinks []string `json:"followLinks,omitempty"`
	// systemd units that the node gets, as kOps' hooks; lists merge by name
	Hooks []extras.Hook `json:"hooks,omitempty"`
	// where the node gets certificates, and where it puts them; lists merge by name
	Certificates []extras.Certificate `json:"certificates,omitempty"`
	Prune        policy.Prune         `json:"prune"`          // what becomes of things that no document wants any more
	Update       policy.Update        `json:"update"`         // when a running node takes a changed configuration
	Drift        policy.Drift         `json:"drift,omitzero"` // what becomes of things that somebody else has changed
	// what the agent may ask EC2's API for; each needs a permission
	AWS AWS `json:"aws,omitzero"`

	origins decode.Origins
	kops    kopsSays
}

// ControlPlane reports whether an API server runs on this node. Only such a node may have the keys
// of the cluster's CAs, as in kOps.
func (n *Node) ControlPlane() bool {
	return n.Role == kops.RoleControlPlane || n.Role == kops.RoleAPIServer
}

// Apart reports whether kOps leaves the machine alone. A bastion of kOps' documents runs neither
// nodeup nor kubelet, and has no pods.
func (n *Node) Apart() bool { return n.Role == kops.RoleBastion && n.kops.role }

// OfKops reports whether kOps made the cluster. Its nodeup may then do things that none of the
// agent's documents asks for.
func (n *Node) OfKops() bool { return n.kops.cluster }

// OwnPlugins reports whether kOps leaves the reference plugins on this node to somebody else.
func (n *Node) OwnPlugins() bool { return n.kops.ownPlugins }

// kopsSays says which documents are in kOps' own API version, and what only kOps' documents say.
type kopsSays struct{ cluster, role, ownPlugins bool }

// Topology is kOps' spec.topology: "public" or "private", or "" if it is not set.
type Topology struct {
	// Nodes: public: nodes have public addresses; private: they leave by a gateway, which kubenet
	// and external refuse
	Nodes        string `json:"nodes,omitempty"`
	ControlPlane string `json:"controlPlane,omitempty"` // the same of the control plane; kOps calls it masters
}

// Kubelet has the fields of kOps' spec.kubelet that concern the network, by kOps' names. A nil or
// zero value means that the field is not set. The model knows which release of kubelet takes which
// flag.
type Kubelet struct {
	// NetworkPluginName: who makes the pods' network: kubenet, cni or an exec plugin; an error from
	// Kubernetes 1.24, which has no such flag
	NetworkPluginName string `json:"networkPluginName,omitempty"`
	// kubenet's MTU, --network-plugin-mtu of Kubernetes 1.4 to 1.23
	NetworkPluginMTU int `json:"networkPluginMTU,omitempty"`
	// where exec plugins are, --network-plugin-dir up to Kubernetes 1.8
	NetworkPluginDir string `json:"networkPluginDir,omitempty"`
	// where kubelet looks for plugins, --cni-bin-dir of Kubernetes 1.4 to 1.23
	CNIBinDir string `json:"cniBinDir,omitempty"`
	// where kubelet looks for confs, --cni-conf-dir of Kubernetes 1.4 to 1.23
	CNIConfDir string `json:"cniConfDir,omitempty"`
	// NonMasqueradeCIDR: --non-masquerade-cidr up to Kubernetes 1.23; only kubenet reads it, and it
	// knows one IPv4 range
	NonMasqueradeCIDR values.CIDRs `json:"nonMasqueradeCIDR,omitempty"`
	// HairpinMode: how a pod reaches itself through its service, --hairpin-mode or hairpinMode of
	// kubelet's configuration
	HairpinMode string `json:"hairpinMode,omitempty"`
	// PodCIDR: the pods' range of a kubelet without an API server, --pod-cidr or podCIDR of
	// kubelet's configuration
	PodCIDR values.CIDRs `json:"podCIDR,omitempty"`
	// ReconcileCIDR: whether kubelet takes the pods' range from the Node in the API,
	// --reconcile-cidr up to Kubernetes 1.5
	ReconcileCIDR *bool `json:"reconcileCIDR,omitempty"`
	// whether kubelet makes the bridge cbr0, --configure-cbr0 up to Kubernetes 1.4
	ConfigureCBR0 *bool `json:"configureCbr0,omitempty"`
	// how many pods the node takes, --max-pods or maxPods of kubelet's configuration
	MaxPods int `json:"maxPods,omitempty"`
	// NodeIP: by which address the node is known, --node-ip: an address, a range that the node has
	// one of, or a link; two families with a comma
	NodeIP string `json:"nodeIP,omitempty"`
	// ResolvConf: what pods resolve names by that are not the cluster's, resolvConf of kubelet's
	// configuration or --resolv-conf: a file, or auto: the host's own, or behind a stub of the
	// host's the one that has the stub's servers
	ResolvConf string `json:"resolvConf,omitempty"`
}

// ResolvConfAuto is the value of [Kubelet.ResolvConf] that leaves the choice to the host.
const ResolvConfAuto = "auto"

// Containerd says where the runtime is. Netwright does not own the runtime's configuration.
type Containerd struct {
	Address string `json:"address"` // the socket on which the runtime answers
	// the file of the runtime's configuration; what must be set in it is set as small as can be
	ConfigPath string `json:"configPath"`
}
