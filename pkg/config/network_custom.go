package config

import (
	"github.com/netwright/netwright/pkg/config/values"

	"github.com/netwright/netwright/pkg/config/decode"
)

// Custom is a network that this agent does not know, declared in the terms in which it knows the
// others: what it needs of a node, who writes its conf, how one sees that it works, what it leaves.
// Lists of a later document replace those of an earlier one.
type Custom struct {
	// Name: tells it from another declared network: from one to another is a switch. Not said: the
	// file name of its conf
	Name         string              `json:"name,omitempty"`
	Title        string              `json:"title"`                  // one line, for lists
	Docs         string              `json:"docs,omitempty"`         // where it is documented, a URL
	First        values.Version      `json:"first"`                  // the first release that it runs with; not said: any
	Last         values.Version      `json:"last"`                   // the last release that it runs with; not said: any
	Conf         CustomConf          `json:"conf"`                   // who writes the CNI conf, and what is in it
	Plugins      []CustomPlugin      `json:"plugins,omitempty"`      // programs that the node gets before the network comes
	Modules      []CustomModule      `json:"modules,omitempty"`      // kernel modules that are loaded, now and at each boot
	Sysctls      []CustomSysctl      `json:"sysctls,omitempty"`      // kernel parameters, besides forwarding, which every network has as a default
	Mounts       []CustomMount       `json:"mounts,omitempty"`       // file systems that its pods expect
	Packages     []CustomPackage     `json:"packages,omitempty"`     // packages of the distribution that it needs; named in a note, not installed
	Certificates []CustomCertificate `json:"certificates,omitempty"` // client identities of the store's pki that the node gets
	Kubeconfig   string              `json:"kubeconfig,omitempty"`   // in words: where its kubeconfig is, and who writes it
	Ports        []CustomPort        `json:"ports,omitempty"`        // what nodes must let through to each other
	MTU          int                 `json:"mtu,omitempty"`          // of the pods' links; not said: that of the node's links less `overhead`
	Overhead     int                 `json:"overhead,omitempty"`     // how many bytes the encapsulation takes of each packet
	IPv6         bool                `json:"ipv6,omitempty"`         // pods may have IPv6 addresses; a range of IPv6 is an error without
	Requires     CustomRequires      `json:"requires"`               // what a host must have; one without is refused before anything is touched
	SharedHost   CustomShared        `json:"sharedHost"`             // what other services of the host must leave alone
	Signs        []CustomSign        `json:"signs,omitempty"`        // what is there while the network works; the status and `agent verify` look for it
	// Agents: containers of its pods that put back what is taken away: while one runs here, the
	// node does not leave the network
	Agents []string `json:"agents,omitempty"`
	// Leftovers: what it leaves when the node leaves it, by exact name and mark. Kept on the node,
	// for when no document says it any more
	Leftovers CustomLeftovers `json:"leftovers"`
}

// CustomConf says who writes the CNI conf.
type CustomConf struct {
	// Writer: netwright (from `template`), containerd (`template` is its conf_template), DaemonSet
	// (`file` is awaited) or user
	Writer   string   `json:"writer"`
	File     string   `json:"file,omitempty"`     // its name in the conf directory
	Template string   `json:"template,omitempty"` // the conf, as text with variables such as ${PodCIDR}
	Chain    []string `json:"chain,omitempty"`    // the types of its plugins, in order; read from `template` where there is one
}

// CustomPlugin names members of an asset.
type CustomPlugin struct {
	Asset   string   `json:"asset"`             // an entry of spec.assets, or cni-plugins
	Members []string `json:"members"`           // the programs of it
	Minimum string   `json:"minimum,omitempty"` // the oldest version that will do, such as v1.2.0
}

// CustomModule is a kernel module.
type CustomModule struct {
	Name     string `json:"name"`               // as modprobe has it
	Why      string `json:"why"`                // what it is for, as plans and errors say
	When     string `json:"when,omitempty"`     // only where pods have addresses of this family
	Optional bool   `json:"optional,omitempty"` // its absence is only a warning
}

// CustomSysctl is a kernel parameter.
type CustomSysctl struct {
	Key      string `json:"key"`                // as sysctl(8) has it
	Value    string `json:"value"`              // what it is set to
	Why      string `json:"why"`                // what it is for, as plans and errors say
	When     string `json:"when,omitempty"`     // only where pods have addresses of this family
	Required bool   `json:"required,omitempty"` // another value in sysctlParameters is an error; else it wins
	Optional bool   `json:"optional,omitempty"` // a kernel without the key is fine
}

// CustomMount is a file system that its pods expect.
type CustomMount struct {
	What  string `json:"what"`  // the device, or the file system's own name such as bpffs
	Where string `json:"where"` // the directory
	Type  string `json:"type"`  // of the file system, such as bpf
}

// CustomPackage is a distribution's package. It is named, not installed.
type CustomPackage struct {
	Name string `json:"name"` // of the package
	On   string `json:"on"`   // the distribution: ID of /etc/os-release
}

// CustomCertificate is a client identity of the store's pki that the node installs.
type CustomCertificate struct {
	Keypair    string `json:"keypair"`              // the keyset that holds certificate and key
	CA         string `json:"ca,omitempty"`         // the keyset of the trusted CA; not said: the one that signed the keypair
	Dir        string `json:"dir"`                  // where its files go
	CAFile     string `json:"caFile"`               // name of the CA's certificates; without it ca.crt
	CertFile   string `json:"certFile"`             // name of the certificate; without it <keypair>.crt
	KeyFile    string `json:"keyFile"`              // name of the key, mode 0600; without it <keypair>.key
	CommonName string `json:"commonName,omitempty"` // the subject's CN that the certificate must have
}

// CustomPort is what nodes must let through to each other.
type CustomPort struct {
	Proto string `json:"proto"` // tcp, udp, sctp, or ip for the number of a protocol
	Port  int    `json:"port"`  // the port, or the protocol's number
	What  string `json:"what"`  // what uses it
}

// CustomRequires is what a host has or has not.
type CustomRequires struct {
	Kernel    values.Version `json:"kernel"`              // the oldest release of Linux that will do, such as 5.10
	Backports []string       `json:"backports,omitempty"` // patterns of `uname -r`: older kernels that will do, such as *.el8*
	Clouds    []string       `json:"clouds,omitempty"`    // where it can run, by cloudProvider
	Hugepages string         `json:"hugepages,omitempty"` // the size of pages that must be reserved
	Why       string         `json:"why,omitempty"`       // said where a host is refused
}

// CustomShared is what other services of the host must leave alone.
type CustomShared struct {
	Links    []string        `json:"links,omitempty"`    // names or patterns of links that networkd and NetworkManager must not touch
	Routes   bool            `json:"routes,omitempty"`   // networkd must leave routes and rules alone that it did not make
	MAC      []string        `json:"mac,omitempty"`      // names or patterns of links whose MAC address udev must not change
	ENIs     bool            `json:"enis,omitempty"`     // further interfaces of the cloud are the network's
	Firewall bool            `json:"firewall,omitempty"` // firewalld drops what pods need: a warning says what to allow
	Others   []CustomService `json:"others,omitempty"`   // further services, in words: a note says them
}

// CustomService says in words what one more service must leave alone.
type CustomService struct {
	Service string `json:"service"` // its name
	Leaves  string `json:"leaves"`  // what it must leave alone
}

// CustomSign is something that is there while the network works.
type CustomSign struct {
	What string `json:"what"`           // what it shows, such as: its tunnel is up
	Path string `json:"path,omitempty"` // a file that is there; may be a pattern
	Link string `json:"link,omitempty"` // a link that is up; may be a pattern
	Kind string `json:"kind,omitempty"` // of that link, such as vxlan
	Pods bool   `json:"pods,omitempty"` // there are as many such links as pods with an address
	When string `json:"when,omitempty"` // only where pods have addresses of this family
}

func (c *Custom) fields() []decode.Field {
	return []decode.Field{
		{Name: "name", Set: decode.Text(&c.Name, decode.ValidName)},
		{Name: "title", Set: decode.Text(&c.Title, decode.NotEmpty)},
		{Name: "docs", Set: decode.Text(&c.Docs, nil)},
		{Name: "kubernetes", Set: decode.Into(func() []decode.Field {
			return []decode.Field{{Name: "first", Set: decode.Version(&c.First)}, {Name: "last", Set: decode.Version(&c.Last)}}
		}), About: "which releases of Kubernetes it runs with"},
		{Name: "conf", Set: decode.Into(func() []decode.Field { return c.Conf.fields() })},
		{Name: "plugins", Set: decode.Entries(&c.Plugins, (*CustomPlugin).fields, "asset", "members")},
		{Name: "modules", Set: decode.Entries(&c.Modules, (*CustomModule).fields, "name", "why")},
		{Name: "sysctls", Set: decode.Entries(&c.Sysctls, (*CustomSysctl).fields, "key", "value", "why")},
		{Name: "mounts", Set: decode.Entries(&c.Mounts, (*CustomMount).fields, "what", "where", "type")},
		{Name: "packages", Set: decode.Entries(&c.Packages, (*CustomPackage).fields, "name", "on")},
		{Name: "certificates", Set: decode.Entries(&c.Certificates, (*CustomCertificate).fields, "keypair", "dir")},
		{Name: "kubeconfig", Set: decode.Text(&c.Kubeconfig, decode.NotEmpty)},
		{Name: "ports", Set: decode.Entries(&c.Ports, (*CustomPort).fields, "proto", "port", "what")},
		{Name: "mtu", Set: decode.MTU(&c.MTU)},
		{Name: "overhead", Set: decode.Number(&c.Overhead, 0, 200)},
		{Name: "ipv6", Set: decode.Bool(&c.IPv6)},
		{Name: "requires", Set: decode.Into(func() []decode.Field { return c.Requires.fields() })},
		{Name: "sharedHost", Set: decode.Into(func() []decode.Field { return c.SharedHost.fields() })},
		{Name: "signs", Set: decode.Entries(&c.Signs, (*CustomSign).fields, "what")},
		{Name: "agents", Set: decode.Texts(&c.Agents, decode.NotEmpty)},
		{Name: "leftovers", Set: decode.Into(func() []decode.Field { return c.Leftovers.fields() })},
	}
}
