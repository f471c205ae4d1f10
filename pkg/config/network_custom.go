package config

// Custom is a network that this agent does not know, declared in the terms in which it knows the others: what it needs of a node, who writes its
// conf, how one sees that it works, what it leaves. Lists of a later document replace those of an earlier one.
type Custom struct {
	Name         string              `json:"name,omitempty"` // tells it from the next declared network of this node; "": the name of its conf does
	Title        string              `json:"title"`          // one line for a list
	Docs         string              `json:"docs,omitempty"` // where it is documented
	First        Version             `json:"first"`          // first Kubernetes release that it runs with; zero: any
	Last         Version             `json:"last"`           // and the last
	Conf         CustomConf          `json:"conf"`
	Plugins      []CustomPlugin      `json:"plugins,omitempty"`
	Modules      []CustomModule      `json:"modules,omitempty"`
	Sysctls      []CustomSysctl      `json:"sysctls,omitempty"` // beside forwarding, which every network has as a default
	Mounts       []CustomMount       `json:"mounts,omitempty"`
	Packages     []CustomPackage     `json:"packages,omitempty"`
	Certificates []CustomCertificate `json:"certificates,omitempty"`
	Kubeconfig   string              `json:"kubeconfig,omitempty"` // in words: path, and who writes it
	Ports        []CustomPort        `json:"ports,omitempty"`
	MTU          int                 `json:"mtu,omitempty"`      // of the pods; 0: that of the links less Overhead
	Overhead     int                 `json:"overhead,omitempty"` // bytes of the encapsulation
	IPv6         bool                `json:"ipv6,omitempty"`     // pods may have IPv6 addresses
	Requires     CustomRequires      `json:"requires"`
	SharedHost   CustomShared        `json:"sharedHost"`
	Signs        []CustomSign        `json:"signs,omitempty"`
	Agents       []string            `json:"agents,omitempty"` // containers of its pods that put back what is taken away: while one runs here, the node does not leave it
	Leftovers    CustomLeftovers     `json:"leftovers"`
}

// CustomConf says who writes the CNI conf.
type CustomConf struct {
	Writer   string   `json:"writer"`             // "netwright", "containerd", "DaemonSet" or "user"
	File     string   `json:"file,omitempty"`     // base name in the conf directory
	Template string   `json:"template,omitempty"` // ours with variables of [ConfVariables], or containerd's own (conf_template)
	Chain    []string `json:"chain,omitempty"`    // plugin types of the template, or as the document lists them
}

// CustomPlugin names members of an asset.
type CustomPlugin struct {
	Asset   string   `json:"asset"`
	Members []string `json:"members"`
	Minimum string   `json:"minimum,omitempty"`
}

// CustomModule is a kernel module.
type CustomModule struct {
	Name     string `json:"name"`
	Why      string `json:"why"`
	When     string `json:"when,omitempty"` // "ipv4", "ipv6": only where pods have that family
	Optional bool   `json:"optional,omitempty"`
}

// CustomSysctl is a kernel parameter.
type CustomSysctl struct {
	Key      string `json:"key"`
	Value    string `json:"value"`
	Why      string `json:"why"`
	When     string `json:"when,omitempty"`
	Required bool   `json:"required,omitempty"` // a user's other value is an error
	Optional bool   `json:"optional,omitempty"` // a kernel without the key is fine
}

// CustomMount is a file system that its pods expect.
type CustomMount struct {
	What  string `json:"what"`
	Where string `json:"where"`
	Type  string `json:"type"`
}

// CustomPackage is a distribution's package. It is named, not installed.
type CustomPackage struct {
	Name string `json:"name"`
	On   string `json:"on"` // ID of os-release
}

// CustomCertificate is a client identity of the store's pki that the node installs.
type CustomCertificate struct {
	Keypair    string `json:"keypair"`
	CA         string `json:"ca,omitempty"` // keyset of the trusted CA; "": the one that signed the keypair
	Dir        string `json:"dir"`
	CAFile     string `json:"caFile"`   // default ca.crt
	CertFile   string `json:"certFile"` // default <keypair>.crt
	KeyFile    string `json:"keyFile"`  // default <keypair>.key; always 0600
	CommonName string `json:"commonName,omitempty"`
}

// CustomPort is what nodes must let through to each other.
type CustomPort struct {
	Proto string `json:"proto"` // tcp, udp, sctp, or "ip" for a protocol number
	Port  int    `json:"port"`
	What  string `json:"what"`
}

// CustomRequires is what a host has or has not.
type CustomRequires struct {
	Kernel    Version  `json:"kernel"`
	Backports []string `json:"backports,omitempty"` // patterns of `uname -r`: older kernels that will do
	Clouds    []string `json:"clouds,omitempty"`
	Hugepages string   `json:"hugepages,omitempty"` // "2M" or "1G"
	Why       string   `json:"why,omitempty"`
}

// CustomShared is what other services of the host must leave alone.
type CustomShared struct {
	Links    []string        `json:"links,omitempty"`
	Routes   bool            `json:"routes,omitempty"`
	MAC      []string        `json:"mac,omitempty"`
	ENIs     bool            `json:"enis,omitempty"`
	Firewall bool            `json:"firewall,omitempty"`
	Others   []CustomService `json:"others,omitempty"`
}

// CustomService says in words what one more service must leave alone.
type CustomService struct {
	Service string `json:"service"`
	Leaves  string `json:"leaves"`
}

// CustomSign is something that is there while the network works.
type CustomSign struct {
	What string `json:"what"`
	Path string `json:"path,omitempty"`
	Link string `json:"link,omitempty"`
	Kind string `json:"kind,omitempty"`
	Pods bool   `json:"pods,omitempty"` // as many links as pods with an address
	When string `json:"when,omitempty"`
}

func (d *decoder) custom(c *Custom) []field {
	return []field{
		{name: "name", set: d.text(&c.Name, validName)},
		{name: "title", set: d.text(&c.Title, notEmpty)},
		{name: "docs", set: d.text(&c.Docs, nil)},
		{name: "kubernetes", set: d.into(func() []field {
			return []field{{name: "first", set: d.version(&c.First)}, {name: "last", set: d.version(&c.Last)}}
		})},
		{name: "conf", set: d.into(func() []field { return d.customConf(&c.Conf) })},
		{name: "plugins", set: entries(d, &c.Plugins, d.customPlugin, "asset", "members")},
		{name: "modules", set: entries(d, &c.Modules, d.customModule, "name", "why")},
		{name: "sysctls", set: entries(d, &c.Sysctls, d.customSysctl, "key", "value", "why")},
		{name: "mounts", set: entries(d, &c.Mounts, d.customMount, "what", "where", "type")},
		{name: "packages", set: entries(d, &c.Packages, d.customPackage, "name", "on")},
		{name: "certificates", set: entries(d, &c.Certificates, d.customCertificate, "keypair", "dir")},
		{name: "kubeconfig", set: d.text(&c.Kubeconfig, notEmpty)},
		{name: "ports", set: entries(d, &c.Ports, d.customPort, "proto", "port", "what")},
		{name: "mtu", set: d.mtu(&c.MTU)},
		{name: "overhead", set: d.number(&c.Overhead, 0, 200)},
		{name: "ipv6", set: d.boolean(&c.IPv6)},
		{name: "requires", set: d.into(func() []field { return d.customRequires(&c.Requires) })},
		{name: "sharedHost", set: d.into(func() []field { return d.customShared(&c.SharedHost) })},
		{name: "signs", set: entries(d, &c.Signs, d.customSign, "what")},
		{name: "agents", set: d.texts(&c.Agents, notEmpty)},
		{name: "leftovers", set: d.into(func() []field { return d.customLeftovers(&c.Leftovers) })},
	}
}
