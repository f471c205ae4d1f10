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
	// GroupFrom and NodeFrom say what gave the names, for errors: a flag, the place in agent.yaml,
	// or the host's name. "": not known.
	GroupFrom, NodeFrom string
}

// Node is the configuration of one node: cluster, node group and node merged, with defaults, and
// valid as a whole. It is read-only after Load.
type Node struct {
	Cluster string `json:"cluster"` // metadata.name of the Cluster
	// NodeGroup: Names the NodeGroup that the node belongs to.
	NodeGroup string `json:"nodeGroup"`
	Name      string `json:"name"` // the node's name in Kubernetes; "" when none was selected
	// Role: Sets what the nodes of the node group are for.
	Role string `json:"role"`

	// KubernetesVersion: Sets the release of kubelet on the nodes. It is required. It decides which
	// flags, plugins and confs the nodes take.
	KubernetesVersion values.Version `json:"kubernetesVersion"`
	// CloudProvider: Names the cloud where the nodes run: aws, gce, azure, metal and others. Some
	// networks need a certain cloud. Without it, the agent assumes none.
	CloudProvider string `json:"cloudProvider,omitempty"`
	// ContainerRuntime: Names the program that runs containers. docker is kOps' default below
	// Kubernetes 1.20, and is impossible from 1.24. Only with docker, kubelet calls the CNI plugins
	// itself.
	ContainerRuntime string `json:"containerRuntime"`
	// Topology: Says whether nodes have public addresses.
	Topology Topology `json:"topology"`

	// Networking: Chooses the one network of the cluster by its name. It also has the settings that
	// belong to every network.
	Networking networks.Networking `json:"networking"`
	// CNI is where plugins and confs live. The values are defaults unless
	// Origin("spec.networking.cni.binDir") says otherwise: a default gives way to the directories
	// that the runtime really uses.
	CNI networks.CNI `json:"cni"`

	// PodCIDR: Sets the range of all pods of the cluster, at most one per family. Each node's part
	// of it is in the Node's `podCIDRs`.
	PodCIDR values.CIDRs `json:"podCIDR"`
	// NetworkCIDR: Sets the range of the nodes' own addresses, such as a VPC. The ranges of pods
	// and services must not overlap it, unless the network gives pods such addresses.
	NetworkCIDR values.CIDRs `json:"networkCIDR,omitempty"`
	// NonMasqueradeCIDR: Sets the range to which pods' packets keep the pod's address. All other
	// packets get the node's address. A family without a range is not masqueraded at all.
	NonMasqueradeCIDR values.CIDRs `json:"nonMasqueradeCIDR"`
	// ServiceClusterIPRange: Sets the range of the services' addresses, at most one per family.
	ServiceClusterIPRange values.CIDRs `json:"serviceClusterIPRange"`
	// NodePortRange: Sets the ports that services of type NodePort take on every node. The agent
	// keeps them out of the range of ports for outgoing connections.
	NodePortRange values.PortRange `json:"serviceNodePortRange"`

	// Address: Sets the address by which other nodes reach this node. It is the next hop of their
	// routes. Without it, the agent takes the address that the host has.
	Address values.Addresses `json:"address,omitempty"`
	// PodCIDRs: Lists the ranges of this node's pods, one per family. Without it, the agent takes
	// the network's own `nodes` list, or else the Node in the Kubernetes API.
	PodCIDRs values.CIDRs `json:"podCIDRs,omitempty"`
	// Peers are the other nodes, by name, from the network's nodes list and from nodes/*.yaml (a
	// node's document wins). Filled only for networks that route by themselves (bridge).
	Peers []networks.Peer `json:"peers,omitempty"`
	Size  Size            `json:"size,omitzero"`

	// SysctlParameters: Lists kernel parameters as KEY=VALUE. Lists merge by key. If a name has
	// dots, write slashes between the names: net/ipv4/conf/eth0.100/rp_filter=2.
	SysctlParameters []extras.Sysctl `json:"sysctlParameters,omitempty"`
	// Assets: Lists downloads, each with the hash that it must have. Lists merge by name. Without
	// an entry cni-plugins, the agent uses its own table.
	Assets []extras.Asset `json:"assets,omitempty"`
	// AssetsMirror: Replaces the scheme and host in the URL of every asset, for nodes that reach
	// only the mirror. "assets" means the copies in the store, made by `agent store vendor`.
	AssetsMirror string `json:"assetsMirror,omitempty"`
	// Kubelet: Has the settings of kubelet that concern the network, by kOps' names.
	Kubelet Kubelet `json:"kubelet"`
	// KubeProxy: Says whether kube-proxy serves the services.
	KubeProxy *bool  `json:"kubeProxy,omitempty"`
	ProxyMode string `json:"proxyMode,omitempty"` // the mode that it is to run in; "": documents leave it open
	// Containerd: Says where the runtime is. The agent does not own the runtime's configuration.
	Containerd Containerd `json:"containerd"`
	// FileAssets: Lists files that the node gets, as kOps' fileAssets do. Lists merge by path.
	FileAssets []extras.FileAsset `json:"fileAssets,omitempty"`
	// FollowLinks: Lists the symbolic links, such as `/opt/cni`, that the agent follows when it
	// writes, besides those of the operating system. A list replaces that of a more general
	// document.
	FollowLinks []string `json:"followLinks,omitempty"`
	// Hooks: Lists systemd units that the node gets, as kOps' hooks do. Lists merge by name.
	Hooks []extras.Hook `json:"hooks,omitempty"`
	// Certificates: Lists certificates: where the node gets each one, and where it puts it. Lists
	// merge by name.
	Certificates []extras.Certificate `json:"certificates,omitempty"`
	// Prune: Says what happens to things that no document wants any more.
	Prune policy.Prune `json:"prune"`
	// Update: Says when a running node takes a changed configuration.
	Update policy.Update `json:"update"`
	// Drift: Says what happens to things that somebody else has changed.
	Drift policy.Drift `json:"drift,omitzero"`
	// AWS: Says what the agent may ask EC2's API for. Each request needs a permission.
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
	// Nodes: public means that nodes have public addresses. private means that they reach the
	// outside through a gateway. The networks kubenet and external refuse private.
	Nodes string `json:"nodes,omitempty"`
	// ControlPlane: Says the same as `nodes` for the control plane, which kOps calls masters.
	ControlPlane string `json:"controlPlane,omitempty"`
}

// Private reports whether nodes or the control plane have no public addresses.
func (t Topology) Private() bool { return t.Nodes == "private" || t.ControlPlane == "private" }

// Kubelet has the fields of kOps' spec.kubelet that concern the network, by kOps' names. A nil or
// zero value means that the field is not set. The model knows which release of kubelet takes which
// flag.
type Kubelet struct {
	// NetworkPluginName: Names the plugin that makes the pods' network: kubenet, cni or an exec
	// plugin. It is an error from Kubernetes 1.24, because kubelet has no such flag there.
	NetworkPluginName string `json:"networkPluginName,omitempty"`
	// NetworkPluginMTU: Sets the MTU of kubenet in bytes. It is --network-plugin-mtu of Kubernetes
	// 1.4 to 1.23.
	NetworkPluginMTU int `json:"networkPluginMTU,omitempty"`
	// NetworkPluginDir: Names the directory of exec plugins. It is --network-plugin-dir up to
	// Kubernetes 1.8.
	NetworkPluginDir string `json:"networkPluginDir,omitempty"`
	// CNIBinDir: Names the directory where kubelet looks for plugins. It is --cni-bin-dir of
	// Kubernetes 1.4 to 1.23.
	CNIBinDir string `json:"cniBinDir,omitempty"`
	// CNIConfDir: Names the directory where kubelet looks for confs. It is --cni-conf-dir of
	// Kubernetes 1.4 to 1.23.
	CNIConfDir string `json:"cniConfDir,omitempty"`
	// NonMasqueradeCIDR: Sets --non-masquerade-cidr up to Kubernetes 1.23. Only kubenet reads it,
	// and it knows one IPv4 range.
	NonMasqueradeCIDR values.CIDRs `json:"nonMasqueradeCIDR,omitempty"`
	// HairpinMode: Sets how a pod reaches itself through its service. It is --hairpin-mode, or
	// hairpinMode of kubelet's configuration.
	HairpinMode string `json:"hairpinMode,omitempty"`
	// PodCIDR: Sets the pods' range of a kubelet without an API server. It is --pod-cidr, or
	// podCIDR of kubelet's configuration.
	PodCIDR values.CIDRs `json:"podCIDR,omitempty"`
	// ReconcileCIDR: Says whether kubelet takes the pods' range from the Node in the Kubernetes
	// API. It is --reconcile-cidr up to Kubernetes 1.5.
	ReconcileCIDR *bool `json:"reconcileCIDR,omitempty"`
	// ConfigureCBR0: Says whether kubelet makes the bridge cbr0. It is --configure-cbr0 up to
	// Kubernetes 1.4.
	ConfigureCBR0 *bool `json:"configureCbr0,omitempty"`
	// MaxPods: Sets how many pods the node takes. It is --max-pods, or maxPods of kubelet's
	// configuration.
	MaxPods int `json:"maxPods,omitempty"`
	// NodeIP: Sets the address by which the node is known, --node-ip: an address, a range that has
	// an address of the node, or a link. Write a comma between two families.
	NodeIP string `json:"nodeIP,omitempty"`
	// ResolvConf: Names the file by which pods resolve names outside the cluster (--resolv-conf
	// or resolvConf). auto means the host's file, or the file with the servers of the host's stub
	// resolver.
	ResolvConf string `json:"resolvConf,omitempty"`
}

// ResolvConfAuto is the value of [Kubelet.ResolvConf] that leaves the choice to the host.
const ResolvConfAuto = "auto"

// Containerd says where the runtime is. Netwright does not own the runtime's configuration.
type Containerd struct {
	// Address: Names the socket on which the runtime answers.
	Address string `json:"address"`
	// ConfigPath: Names the file of the runtime's configuration. The agent changes as few settings
	// in it as possible.
	ConfigPath string `json:"configPath"`
}
