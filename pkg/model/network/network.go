package network

import (
	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/values"
)

// Network describes one way to give pods a network. `agent networks NAME -o json` prints its JSON
// form.
type Network struct {
	Name  string `json:"name"`  // the key under spec.networking
	Title string `json:"title"` // one line, for lists
	Docs  string `json:"docs"`  // the upstream documentation
	// Chosen is the part of the documents that selects the network; "": its name under
	// spec.networking.
	Chosen string `json:"chosen,omitempty"`

	Lifecycle Lifecycle `json:"lifecycle"`
	Conf      Conf      `json:"conf"`
	// Kubelet is the value of --network-plugin if kubelet itself calls the plugins (docker, below
	// Kubernetes 1.24). A row without a value gets cni.
	Kubelet      string          `json:"kubelet,omitempty"`
	Plugins      []Plugin        `json:"plugins,omitempty"`
	Modules      []Module        `json:"modules,omitempty"`
	Sysctls      []Sysctl        `json:"sysctls,omitempty"`
	Mounts       []Mount         `json:"mounts,omitempty"`
	Packages     []Package       `json:"packages,omitempty"`
	Certificates []Certificate   `json:"certificates,omitempty"`
	Kubeconfig   string          `json:"kubeconfig,omitempty"` // the path, and who writes it
	Ports        []Port          `json:"ports,omitempty"`      // open between nodes
	MTU          string          `json:"mtu"`                  // the rule, in one line
	IPv6         bool            `json:"ipv6"`                 // pods may have IPv6 addresses
	IPv6When     string          `json:"ipv6When,omitempty"`   // the variants in which they may; "": all
	Requires     Requires        `json:"requires"`             // what the host itself must have
	SharedHost   SharedHost      `json:"sharedHost"`
	HealthChecks []HealthCheck   `json:"signs,omitempty"`
	Untestable   []Untestable    `json:"unjudged,omitempty"`
	Residue      cleanup.Residue `json:"leftovers"` // includes that of all Modes
	// Modes are the modes that the documents choose among. A mode is listed only if it leaves
	// something of its own on the node.
	Modes []DataplaneMode `json:"modes,omitempty"`
	// ModeURL is where the network's program on this host reports its mode; "": it reports it
	// nowhere.
	ModeURL  string  `json:"modeURL,omitempty"`
	TestedBy []Proof `json:"proved,omitempty"`   // by tests other than golden plans
	Untested string  `json:"unproved,omitempty"` // what no test shows, and why
	// Agents are the names of containers in its pods that restore what a cleanup removes, at once
	// or when they start again.
	Agents []string `json:"agents,omitempty"`
	// SafeToReplace says why another network can replace it without disruption; "": none can.
	SafeToReplace string `json:"yields,omitempty"`

	// IPv6If reports whether the chosen variant gives pods IPv6 addresses; nil: IPv6 decides.
	IPv6If func(Input) bool `json:"-"`

	// Nodes returns which data of the API's Node objects the network needs, because no document has
	// it. Nil: none.
	Nodes func(*config.Node) NodesWanted `json:"-"`

	// Build adds to the node what data cannot express, and returns an error for what the network
	// cannot do. It is pure. Nil: data is enough.
	Build func(Input, *Built) error `json:"-"`
}

// Make returns what the network adds to the node: the check of the conf that the node waits for,
// and the result of Build.
func (n Network) Make(in Input) (Built, error) {
	var b Built
	if n.Conf.Awaited != "" {
		b.KubeletPlugin, b.Wait = "cni", in.waitConf(n.Conf.File, n.Conf.Awaited)
	}
	if n.Build == nil {
		return b, nil
	}
	err := n.Build(in, &b)
	return b, err
}

// NodesWanted says which data of the API's Node objects a network needs.
type NodesWanted struct {
	Own   bool // the pod CIDRs of this node
	Peers bool // the pod CIDRs and addresses of the other nodes
}

// Proof is a claim about a network that a test proves with real programs.
type Proof struct {
	Claim string `json:"what"` // "pods of two nodes reach each other"
	Test  string `json:"test"` // "test/e2e TestPodsTalk"
}

// The writers of a CNI conf.
const (
	WriterNetwright  = "netwright"  // the agent, as the last step
	WriterDaemonSet  = "DaemonSet"  // the network's own, when it is ready
	WriterContainerd = "containerd" // from conf_template, when kubelet tells it the pod CIDR
	WriterUser       = "user"       // the person who brings the network
	WriterNone       = "nobody"     // there is no conf, because there is no CNI
)

// Conf says who writes the CNI conf and what is in it.
type Conf struct {
	Writer string   `json:"writer"`
	File   string   `json:"file,omitempty"`  // base name in the conf directory; "": any
	Chain  []string `json:"chain,omitempty"` // plugin types, in order
	// Awaited says for messages who writes the conf that a node waits for; "": Build decides
	// whether the node waits.
	Awaited string `json:"-"`
}

// Case is the condition under which a part of a network applies, as text and as a function. The
// zero value means always.
type Case struct {
	When string `json:"when,omitempty"`

	If func(Input) bool `json:"-"` // nil: always
}

// Applies reports whether the condition holds.
func (c Case) Applies(in Input) bool { return c.If == nil || c.If(in) }

// and returns the condition that both conditions hold. Both must have an If function.
func (c Case) and(o Case) Case {
	return Case{c.When + ", " + o.When, func(in Input) bool { return c.If(in) && o.If(in) }}
}

// Plugin names files of an asset that a network needs in the CNI binary directory.
type Plugin struct {
	Asset   string   `json:"asset"`
	Members []string `json:"members"`
	Minimum string   `json:"minimum,omitempty"` // the oldest version of the asset that works
	// Default says that a document may list other members instead; else its list must have these.
	Default bool `json:"default,omitempty"`
	Case
	Source string `json:"source,omitempty"`
	// Archive is the file at Source that has the members, for an asset of which this program knows
	// no release.
	Archive string `json:"archive,omitempty"`
}

// Module is a kernel module that a network needs.
type Module struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	Case
	Optional bool `json:"optional,omitempty"` // if it is missing, that is only a warning
}

// Sysctl is a kernel parameter that a network needs or prefers.
type Sysctl struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Why   string `json:"why"`
	Case
	// Required makes another value in a document an error. Without it the value is a default, and a
	// document may set another one.
	Required bool `json:"required"`
	Optional bool `json:"optional,omitempty"` // a kernel without the key is accepted
}

// Mount is a file system that the network's pods need.
type Mount struct {
	What  string `json:"what"`
	Where string `json:"where"`
	Type  string `json:"type"`
	Case
}

// Package is a package of a Linux distribution. The agent does not install it; a note names it.
type Package struct {
	Name string `json:"name"`
	On   string `json:"on"` // the ID in os-release
	Case
}

// Certificate is a set of client certificate, key and CA that the node installs.
type Certificate struct {
	Keypair string   `json:"keypair"` // its name in the store's pki
	Dir     string   `json:"dir"`
	Files   []string `json:"files"`
	Mode    string   `json:"mode"`
	When    string   `json:"when"`
}

// Port is a port or protocol that must be open between the nodes.
type Port struct {
	Proto string `json:"proto"` // tcp, udp, or "ip" for a protocol number
	Port  int    `json:"port"`
	Use   string `json:"what"`
}

// Requires lists what a host must have. Package model refuses a host without it before any change.
// An unknown fact of the host is no reason to refuse. Needed modules are in [Network.Modules].
type Requires struct {
	Kernel values.Version `json:"kernel"` // the oldest Linux release; zero: any that kubelet supports
	// Backports are older kernels that have what is needed: patterns (path.Match) for `uname -r`.
	Backports []string `json:"backports,omitempty"`
	// Backported describes Backports in messages; "": the patterns themselves do.
	Backported string   `json:"backported,omitempty"`
	Clouds     []string `json:"clouds,omitempty"`    // values of spec.cloudProvider; none: any
	Hugepages  string   `json:"hugepages,omitempty"` // "2M" or "1G": at least one page of that size
	Case                // the variant or release of the network that needs it
	Why        string   `json:"why,omitempty"`
	Source     string   `json:"source,omitempty"`

	// Variants are further requirements of variants and releases of the network.
	Variants []Requires `json:"variants,omitempty"`
}

// SharedHost lists what other services of the host must leave alone. It names the thing that would
// suffer, so it is the same for every distribution.
type SharedHost struct {
	Links []string `json:"links,omitempty"` // patterns of the network's own links
	// Routes says that the network itself adds routes or policy rules, which systemd-networkd would
	// remove when it restarts.
	Routes bool     `json:"routes,omitempty"`
	MAC    []string `json:"mac,omitempty"` // links whose MAC address udev must not change (MACAddressPolicy=none)
	// ENIs says that further interfaces of the cloud belong to the network. No other service may
	// configure them.
	ENIs     bool   `json:"enis,omitempty"`
	ENIsWhen string `json:"enisWhen,omitempty"` // ENIsIf in words; "": always
	// Aliases says that alias addresses of the node's interface belong to pods. No service may give
	// them to the node.
	Aliases bool `json:"aliases,omitempty"`
	// Firewall says that the node forwards packets of pods. firewalld drops them if no zone allows
	// them.
	Firewall bool     `json:"firewall,omitempty"`
	Others   []Shared `json:"others,omitempty"`

	ENIsIf func(Input) bool `json:"-"` // nil: always
}

// Shared describes what one more service must leave alone.
type Shared struct {
	Service string `json:"service"`
	Ignores string `json:"leaves"`
}

// HealthCheck describes something that exists while the network works on this node. `agent verify`
// looks for it. Everything that its fields name must exist.
type HealthCheck struct {
	Text string `json:"what"`           // "flanneld has its lease"
	Path string `json:"path,omitempty"` // a file, directory or socket; a [path.Match] pattern
	Link string `json:"link,omitempty"` // a pattern for a link that must be up
	Kind string `json:"kind,omitempty"` // the link's kind, as `ip -d link` prints it
	// Master is the bridge that must have the link as its port. A link without it, for example
	// because somebody deleted the bridge, carries no packets.
	Master string `json:"master,omitempty"`
	// Lease is a link and a variable of the file at Path. The value of the variable is the only
	// IPv4 address that the link may have.
	Lease string `json:"lease,omitempty"`
	Table string `json:"table,omitempty"` // an nft table, such as "inet kindnet-ipmasq"
	// URL is an address on this host that answers 2xx while the network's own agent is healthy.
	URL string `json:"url,omitempty"`
	// Pods limits the check to nodes with pods that have an address. As many links as such pods
	// must match Link; with Path alone, Path must exist if there is at least one such pod.
	Pods bool `json:"pods,omitempty"`
	// Missing says what a failed check means and what to do; "": look at the network's pod on this
	// node.
	Missing string `json:"missing,omitempty"`
	Case
}
