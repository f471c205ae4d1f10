package network

import (
	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/values"
)

// Network is one way to give pods a network. Its JSON form is what `agent networks NAME -o json`
// prints.
type Network struct {
	Name  string `json:"name"`  // the key under spec.networking
	Title string `json:"title"` // one line for a list
	Docs  string `json:"docs"`  // where upstream documents it
	// Chosen is the part of the documents that chooses it; "": its name under spec.networking.
	Chosen string `json:"chosen,omitempty"`

	Lifecycle Lifecycle `json:"lifecycle"`
	Conf      Conf      `json:"conf"`
	// --network-plugin, where kubelet itself calls the plugins (docker, below 1.24); cni, where a
	// row does not say it
	Kubelet      string          `json:"kubelet,omitempty"`
	Plugins      []Plugin        `json:"plugins,omitempty"`
	Modules      []Module        `json:"modules,omitempty"`
	Sysctls      []Sysctl        `json:"sysctls,omitempty"`
	Mounts       []Mount         `json:"mounts,omitempty"`
	Packages     []Package       `json:"packages,omitempty"`
	Certificates []Certificate   `json:"certificates,omitempty"`
	Kubeconfig   string          `json:"kubeconfig,omitempty"` // path, and who writes it
	Ports        []Port          `json:"ports,omitempty"`      // between nodes
	MTU          string          `json:"mtu"`                  // the rule, in one line
	IPv6         bool            `json:"ipv6"`                 // pods may have IPv6 addresses
	IPv6When     string          `json:"ipv6When,omitempty"`   // which of its variants give them; "": all
	Requires     Requires        `json:"requires"`             // what no agent can add to a host
	SharedHost   SharedHost      `json:"sharedHost"`
	HealthChecks []HealthCheck   `json:"signs,omitempty"`
	Untestable   []Untestable    `json:"unjudged,omitempty"`
	Residue      cleanup.Residue `json:"leftovers"` // of all its modes
	// Modes are what of it the documents choose among, as far as each leaves something of its own.
	Modes []DataplaneMode `json:"modes,omitempty"`
	// ModeURL is where its program says on this host in which mode it runs; "": it says it nowhere
	ModeURL  string  `json:"modeURL,omitempty"`
	TestedBy []Proof `json:"proved,omitempty"`   // by tests, golden plans apart
	Untested string  `json:"unproved,omitempty"` // what no test shows, and why
	// containers of its pods, by name, that put back what is taken away, at once or when they start
	// again
	Agents []string `json:"agents,omitempty"`
	// why it may give way to another network without disruption; "": it may not
	SafeToReplace string `json:"yields,omitempty"`

	IPv6If func(Input) bool `json:"-"` // whether the variant gives pods IPv6 addresses; nil: as IPv6 says

	// Nodes says what the network wants to know of the Nodes of the API, because no document says
	// it. Nil: nothing.
	Nodes func(*config.Node) NodesWanted `json:"-"`

	// Build adds what data cannot say to what the node gets, and refuses what the network cannot
	// do. It is pure. Nil: data says all.
	Build func(Input, *Built) error `json:"-"`
}

// Make is what the network adds to the node: the check of a conf that is awaited, and what its
// Build adds.
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

// NodesWanted is what of the API's Nodes a network needs.
type NodesWanted struct {
	Own   bool // the pod CIDRs of this one
	Peers bool // those of the others, and their addresses
}

// Proof is what a test shows of a network, with real parts.
type Proof struct {
	Claim string `json:"what"` // "pods of two nodes reach each other"
	Test  string `json:"test"` // "test/e2e TestPodsTalk"
}

// The writers of a CNI conf.
const (
	WriterNetwright  = "netwright"  // we, last of all
	WriterDaemonSet  = "DaemonSet"  // the network's own; its readiness signal
	WriterContainerd = "containerd" // from conf_template, when kubelet tells the pod CIDR
	WriterUser       = "user"       // whoever brings the network
	WriterNone       = "nobody"     // there is none: no CNI
)

// Conf says who writes the CNI conf and what is in it.
type Conf struct {
	Writer string   `json:"writer"`
	File   string   `json:"file,omitempty"`  // base name in the conf directory; "" is any
	Chain  []string `json:"chain,omitempty"` // plugin types in order
	// Awaited says in words who writes it, where a node waits for it; "": Build says if one does
	Awaited string `json:"-"`
}

// Case says when a part of a network counts, in words and by the input. The zero value is:
// always.
type Case struct {
	When string `json:"when,omitempty"`

	If func(Input) bool `json:"-"` // nil where it counts always
}

// Applies says that the part counts.
func (c Case) Applies(in Input) bool { return c.If == nil || c.If(in) }

// and is a condition with another one besides.
func (c Case) and(o Case) Case {
	return Case{c.When + ", " + o.When, func(in Input) bool { return c.If(in) && o.If(in) }}
}

// Plugin names members of an asset that a network needs in the CNI binary directory.
type Plugin struct {
	Asset   string   `json:"asset"`
	Members []string `json:"members"`
	Minimum string   `json:"minimum,omitempty"` // oldest version of the asset that will do
	Default bool     `json:"default,omitempty"` // members that a document's own list replaces; else they must be in it
	Case
	Source string `json:"source,omitempty"`
	// the file at Source that has the members, where no release of it is known here
	Archive string `json:"archive,omitempty"`
}

// Module is a kernel module.
type Module struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	Case
	Optional bool `json:"optional,omitempty"` // its absence is a warning
}

// Sysctl is a kernel parameter that a network needs or prefers.
type Sysctl struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Why   string `json:"why"`
	Case
	// a user's other value is an error; else it is a default that a user's value overrides
	Required bool `json:"required"`
	Optional bool `json:"optional,omitempty"` // a kernel without the key is fine
}

// Mount is a file system that the network's pods expect.
type Mount struct {
	What  string `json:"what"`
	Where string `json:"where"`
	Type  string `json:"type"`
	Case
}

// Package is a distribution's package. Nothing installs it yet: a note names it.
type Package struct {
	Name string `json:"name"`
	On   string `json:"on"` // ID of os-release
	Case
}

// Certificate is a client certificate set that the node installs.
type Certificate struct {
	Keypair string   `json:"keypair"` // its name in the store's pki
	Dir     string   `json:"dir"`
	Files   []string `json:"files"`
	Mode    string   `json:"mode"`
	When    string   `json:"when"`
}

// Port is what nodes must let through to each other.
type Port struct {
	Proto string `json:"proto"` // tcp, udp, or "ip" for a protocol number
	Port  int    `json:"port"`
	Use   string `json:"what"`
}

// Requires is what a host has or has not. A host without it is refused before anything is touched;
// what is not known of a host is not held against it. Needed modules are among [Network.Modules].
type Requires struct {
	Kernel values.Version `json:"kernel"` // oldest release of Linux; zero: any that runs the kubelet
	// older ones that carry what is needed all the same: patterns (path.Match) of `uname -r`
	Backports []string `json:"backports,omitempty"`
	// Backported is in words what Backports are; "": the patterns say it.
	Backported string   `json:"backported,omitempty"`
	Clouds     []string `json:"clouds,omitempty"`    // spec.cloudProvider; none: any
	Hugepages  string   `json:"hugepages,omitempty"` // "2M" or "1G": at least one page of that size
	Case                // which variant or release of the network asks for it
	Why        string   `json:"why,omitempty"`
	Source     string   `json:"source,omitempty"`

	Variants []Requires `json:"variants,omitempty"` // what variants and releases of the network ask for besides
}

// SharedHost is what other services of the host must leave alone, by what suffers and not by the
// distribution.
type SharedHost struct {
	Links []string `json:"links,omitempty"` // patterns of the network's own links
	// it adds routes or rules by itself: systemd-networkd takes foreign ones away at its restart
	Routes bool     `json:"routes,omitempty"`
	MAC    []string `json:"mac,omitempty"` // links whose address udev must not choose (MACAddressPolicy=none)
	// the cloud's further interfaces are the network's: nobody else configures them
	ENIs     bool   `json:"enis,omitempty"`
	ENIsWhen string `json:"enisWhen,omitempty"` // only then
	// alias addresses of the node's interface are pods': nobody gives them to the node
	Aliases  bool     `json:"aliases,omitempty"`
	Firewall bool     `json:"firewall,omitempty"` // pods' packets are forwarded: firewalld drops what no zone allows
	Others   []Shared `json:"others,omitempty"`

	ENIsIf func(Input) bool `json:"-"` // nil: always
}

// Shared says in words what one more service must leave alone.
type Shared struct {
	Service string `json:"service"`
	Ignores string `json:"leaves"`
}

// HealthCheck is something that is there while the network works on this node; `agent verify` looks
// for it. What it names must be there, all of it.
type HealthCheck struct {
	Text string `json:"what"`           // "flanneld has its lease"
	Path string `json:"path,omitempty"` // a file, directory or socket; a pattern of [path.Match]
	Link string `json:"link,omitempty"` // a link that is up; a pattern
	Kind string `json:"kind,omitempty"` // of the link, as `ip -d link` says it
	// whose port the link is: one that is not, of a bridge that somebody deleted, carries nothing
	Master string `json:"master,omitempty"`
	// a link, and the variable in the file at Path with the only IPv4 address that it may have
	Lease string `json:"lease,omitempty"`
	Table string `json:"table,omitempty"` // an nft table: "inet kindnet-ipmasq"
	URL   string `json:"url,omitempty"`   // on this host only: it answers 2xx while the network's own agent is well
	// as many of Link as pods with an address live here; with Path alone: it is there while one
	// does
	Pods bool `json:"pods,omitempty"`
	// what its absence means, and what to do; "": look at the network's pod on this node
	Missing string `json:"missing,omitempty"`
	Case
}
