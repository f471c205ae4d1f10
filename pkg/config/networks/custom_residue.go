package networks

import (
	"strconv"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// CustomResidue is what the network leaves on a node, each thing by its exact name and mark. The
// model knows which marks are refused because they could belong to somebody else. The types here
// have the same fields as the marks in package tasks, which explain them.
type CustomResidue struct {
	Units []string `json:"units,omitempty"` // systemd units that would make it again
	// links to which it moved the machine's addresses; those go back to their device
	Uplinks  []CustomUplink  `json:"moved,omitempty"`
	Programs []CustomProgram `json:"programs,omitempty"` // eBPF programs that are attached without a pin
	Rules    []CustomRule    `json:"rules,omitempty"`    // policy rules (ip rule)
	Routes   []CustomRoute   `json:"routes,omitempty"`   // routes, of any table
	IPVS     []CustomIPVS    `json:"ipvs,omitempty"`     // services of IPVS
	Chains   []CustomChain   `json:"chains,omitempty"`   // chains and rules of iptables
	Tables   []CustomTable   `json:"tables,omitempty"`   // tables of nft
	// names of its confs (`name`) by which plugin portmap publishes ports
	Portmap []string     `json:"portmap,omitempty"`
	IPSets  []string     `json:"ipsets,omitempty"` // names or patterns of ipsets
	XFRM    []CustomXFRM `json:"xfrm,omitempty"`   // policies and states of IPsec
	OVS     []CustomOVS  `json:"ovs,omitempty"`    // what it has in Open vSwitch
	Links   []CustomLink `json:"links,omitempty"`  // virtual links
	// eBPF objects below /sys/fs/bpf, paths or patterns; /**/ is any depth
	Pins    []string      `json:"pins,omitempty"`
	Sysctls []CustomValue `json:"sysctls,omitempty"` // kernel parameters that it writes at run time, without a file
	Lines   []CustomLine  `json:"lines,omitempty"`   // lines in files of others
	// paths or patterns; a slash at the end is a directory with all that is in it
	Files     []string `json:"files,omitempty"`
	LocalRule bool     `json:"localRule,omitempty"` // it moves the rule for local addresses from priority 0
	Others    []string `json:"others,omitempty"`    // in words: what no agent takes away
}

// CustomRule identifies policy rules.
type CustomRule struct {
	Priority int    `json:"priority,omitempty"` // of the rule. All that is set in one entry must hold
	Mark     uint32 `json:"mark,omitempty"`     // of packets (fwmark)
	Mask     uint32 `json:"mask,omitempty"`     // of that mark
	Table    int    `json:"table,omitempty"`    // the table that it leads to; alone it is no mark
	// Last: with `table`: tables from that to this one. Their routes go with the rule, if no rule
	// of others leads there
	Last int    `json:"last,omitempty"`
	IIF  string `json:"iif,omitempty"` // the link that packets come from; may be a pattern
	// Protocol: rtnetlink's number of who made it
	Protocol int  `json:"protocol,omitempty"`
	From     bool `json:"from,omitempty"`
	To       bool `json:"to,omitempty"`
	Marked   bool `json:"marked,omitempty"`
	All      bool `json:"all,omitempty"`
	Pods     bool `json:"pods,omitempty"` // it is from or to an address of the pods
}

// CustomRoute identifies routes.
type CustomRoute struct {
	Table    int    `json:"table,omitempty"`    // the table that it is in; not said: main; another alone is no mark
	Last     int    `json:"last,omitempty"`     // with `table`: tables from that to this one
	Protocol int    `json:"protocol,omitempty"` // rtnetlink's number of who made it: 12 bird, 17 kube-router, 80 felix
	Link     string `json:"link,omitempty"`     // the link that it goes through; may be a pattern
	Pods     bool   `json:"pods,omitempty"`     // its destination is within the pods' addresses
	Via      bool   `json:"via,omitempty"`
	Type     string `json:"type,omitempty"` // of the route
}

// CustomChain identifies chains of iptables, or rules in chains of others.
type CustomChain struct {
	Table string `json:"table,omitempty"` // of iptables; not said: any
	// Chain: name or pattern. Alone: the chains of that name, all that is in them, and every rule
	// that leads there
	Chain   string `json:"chain,omitempty"`
	Comment string `json:"comment,omitempty"` // of a rule; may be a pattern
	Target  string `json:"target,omitempty"`  // of a rule (-j); may be a pattern
	// a rule's incoming link as iptables prints it: eth0, cali+, "! lo"; may be a pattern
	In  string `json:"in,omitempty"`
	Out string `json:"out,omitempty"` // a rule's outgoing link, likewise
	Set string `json:"set,omitempty"` // an ipset that a rule asks; may be a pattern
}

// CustomTable identifies tables of nft.
type CustomTable struct {
	Family string `json:"family"` // of the table
	Name   string `json:"name"`   // name or pattern
}

// CustomLink identifies links.
type CustomLink struct {
	// Name: name or pattern. One with a device behind it, or that a default route goes through, is
	// never meant
	Name   string `json:"name"`
	Kind   string `json:"kind,omitempty"`   // veth, vxlan, bridge …; required
	Master string `json:"master,omitempty"` // the bridge that it is a port of; not said: any or none
	MAC    string `json:"mac,omitempty"`    // its MAC address; may be a pattern such as 00:53:*
	Alias  string `json:"alias,omitempty"`  // what `ip link` shows as its alias; may be a pattern
	Pods   bool   `json:"pods,omitempty"`   // a route through it, or an address of it, is within the pods' addresses
}

// CustomUplink identifies a link to which the network moves the machine's addresses.
type CustomUplink struct {
	Link string `json:"link"`           // name or pattern
	Kind string `json:"kind,omitempty"` // bridge, openvswitch …
}

// CustomProgram identifies eBPF programs that are attached without a pin.
type CustomProgram struct {
	Hook string `json:"hook"` // where it is attached
	Name string `json:"name"` // name or pattern; the kernel keeps 15 characters of a name, tc all
}

// CustomIPVS identifies services of IPVS.
type CustomIPVS struct {
	Link   string `json:"link,omitempty"`   // its address is one of this link's
	Pods   bool   `json:"pods,omitempty"`   // it has servers, and the addresses of all are pods'
	Unless string `json:"unless,omitempty"` // a link that says that IPVS is somebody else's: kube-ipvs0 of kube-proxy
}

// CustomXFRM identifies policies and states of IPsec.
type CustomXFRM struct {
	Mark     uint32 `json:"mark,omitempty"`     // of these bits; others may be asked for as well
	Mask     uint32 `json:"mask,omitempty"`     // of that mark
	ReqID    int    `json:"reqID,omitempty"`    // the reqid of policies and states
	IfID     int    `json:"ifID,omitempty"`     // the number of their xfrm interface (if_id)
	Priority int    `json:"priority,omitempty"` // of a policy; states have none
	// the states to which its policies lead go too: by their number (spi) and address, or without a
	// number by both addresses and their reqid
	States bool `json:"states,omitempty"`
	Pods   bool `json:"pods,omitempty"` // a policy from addresses of the pods to addresses of the pods
}

// CustomOVS identifies what the network has in Open vSwitch.
type CustomOVS struct {
	Socket  string   `json:"socket,omitempty"`  // of ovsdb-server; not said: /run/openvswitch/db.sock
	Bridges []string `json:"bridges,omitempty"` // names or patterns
	// ports of its bridges that are no pod's, such as antrea-gw0; names or patterns
	Ports    []string `json:"ports,omitempty"`
	Keys     []string `json:"keys,omitempty"`     // of external_ids and other_config in the table Open_vSwitch
	Tunnels  []string `json:"tunnels,omitempty"`  // tunnel devices, such as genev_sys_6081
	Datapath string   `json:"datapath,omitempty"` // such as ovs-system
}

// CustomValue identifies a kernel parameter that the network writes at run time.
type CustomValue struct {
	Key     string `json:"key"`     // as sysctl(8) has it
	Wrote   string `json:"wrote"`   // the value that it writes: another one is somebody else's, and stays
	Default string `json:"default"` // the kernel's own, where no file of the host sets another
}

// CustomLine identifies a line in a file of others.
type CustomLine struct {
	File string `json:"file"` // the file of others
	Line string `json:"line"` // word by word; how much white space is between them does not count
}

const maxTable = 1<<31 - 1

func (l *CustomResidue) fields() []decode.Field {
	return []decode.Field{
		decode.Names("units", &l.Units, decode.ValidUnit),
		decode.Entries("moved", &l.Uplinks, (*CustomUplink).fields, "link"),
		decode.Entries("programs", &l.Programs, (*CustomProgram).fields, "hook", "name"),
		decode.Entries("rules", &l.Rules, (*CustomRule).fields),
		decode.Entries("routes", &l.Routes, (*CustomRoute).fields),
		decode.Entries("ipvs", &l.IPVS, (*CustomIPVS).fields),
		decode.Entries("chains", &l.Chains, (*CustomChain).fields),
		decode.Entries("tables", &l.Tables, (*CustomTable).fields, "family", "name"),
		decode.Names("portmap", &l.Portmap, validPattern).Newer(),
		decode.Names("ipsets", &l.IPSets, validPattern),
		decode.Entries("xfrm", &l.XFRM, (*CustomXFRM).fields),
		decode.Entries("ovs", &l.OVS, (*CustomOVS).fields),
		decode.Entries("links", &l.Links, (*CustomLink).fields, "name", "kind"),
		decode.Names("pins", &l.Pins, validPathPattern),
		decode.Entries("sysctls", &l.Sysctls, (*CustomValue).fields, "key", "wrote", "default"),
		decode.Entries("lines", &l.Lines, (*CustomLine).fields, "file", "line"),
		decode.Names("files", &l.Files, validPathPattern),
		decode.Bool("localRule", &l.LocalRule),
		decode.Texts("others", &l.Others, decode.NotEmpty),
	}
}

func (r *CustomRule) fields() []decode.Field {
	return []decode.Field{
		decode.Number("priority", &r.Priority, 1, 1<<31-1),
		mark("mark", &r.Mark),
		mark("mask", &r.Mask),
		decode.Number("table", &r.Table, 1, maxTable),
		decode.Number("last", &r.Last, 1, maxTable),
		decode.Text("iif", &r.IIF, validPattern),
		decode.Number("protocol", &r.Protocol, 1, 255).Newer(),
		decode.Bool("pods", &r.Pods),
	}
}

func (r *CustomRoute) fields() []decode.Field {
	return []decode.Field{
		decode.Number("table", &r.Table, 1, maxTable),
		decode.Number("last", &r.Last, 1, maxTable),
		decode.Number("protocol", &r.Protocol, 1, 255),
		decode.Text("link", &r.Link, validPattern),
		decode.Bool("pods", &r.Pods),
		decode.Choice("type", &r.Type, "unicast", "blackhole", "unreachable", "prohibit"),
	}
}

func (c *CustomChain) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("table", &c.Table, "filter", "nat", "mangle", "raw", "security"),
		decode.Text("chain", &c.Chain, validPattern),
		decode.Text("comment", &c.Comment, validPattern),
		decode.Text("target", &c.Target, validPattern),
		decode.Text("in", &c.In, validPattern),
		decode.Text("out", &c.Out, validPattern),
		decode.Text("set", &c.Set, validPattern),
	}
}

func (t *CustomTable) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("family", &t.Family, "ip", "ip6", "inet", "arp", "bridge", "netdev"),
		decode.Text("name", &t.Name, validPattern),
	}
}

func (l *CustomLink) fields() []decode.Field {
	return []decode.Field{
		decode.Text("name", &l.Name, validPattern),
		decode.Text("kind", &l.Kind, validModule),
		decode.Text("master", &l.Master, validModule),
		decode.Text("mac", &l.MAC, validPattern),
		decode.Text("alias", &l.Alias, validPattern),
		decode.Bool("pods", &l.Pods),
	}
}

// mark reads a packet mark, in the hexadecimal form of iproute2 or in decimal.
func mark(name string, to *uint32) decode.Field {
	return decode.Field{Name: name, Set: func(v decode.Reading) {
		n, err := strconv.ParseUint(v.Text, 0, 32)
		if v.Kind != document.KindInt && v.Kind != document.KindString || err != nil || n == 0 {
			v.Bad("a packet mark such as 0x80", "")
			return
		}
		*to = uint32(n)
	}}
}

func (m *CustomUplink) fields() []decode.Field {
	return []decode.Field{decode.Text("link", &m.Link, validPattern),
		decode.Text("kind", &m.Kind, validModule)}
}

func (p *CustomProgram) fields() []decode.Field {
	return []decode.Field{decode.Choice("hook", &p.Hook, "tc", "xdp", "cgroup"),
		decode.Text("name", &p.Name, validPattern)}
}

func (s *CustomIPVS) fields() []decode.Field {
	return []decode.Field{
		decode.Text("link", &s.Link, validModule),
		decode.Bool("pods", &s.Pods),
		decode.Text("unless", &s.Unless, validModule),
	}
}

func (x *CustomXFRM) fields() []decode.Field {
	return []decode.Field{
		mark("mark", &x.Mark),
		mark("mask", &x.Mask),
		decode.Number("reqID", &x.ReqID, 1, 1<<31-1),
		decode.Number("ifID", &x.IfID, 1, 1<<31-1),
		decode.Number("priority", &x.Priority, 1, 1<<31-1),
		decode.Bool("states", &x.States),
		decode.Bool("pods", &x.Pods).Newer(),
	}
}

func (o *CustomOVS) fields() []decode.Field {
	return []decode.Field{
		decode.AbsolutePath("socket", &o.Socket),
		decode.Texts("bridges", &o.Bridges, validPattern),
		decode.Texts("ports", &o.Ports, validPattern),
		decode.Texts("keys", &o.Keys, decode.NotEmpty),
		decode.Texts("tunnels", &o.Tunnels, validModule),
		decode.Text("datapath", &o.Datapath, validModule),
	}
}

func (s *CustomValue) fields() []decode.Field {
	return []decode.Field{
		decode.SysctlName("key", &s.Key),
		decode.SysctlValue("wrote", &s.Wrote),
		decode.SysctlValue("default", &s.Default),
	}
}

func (l *CustomLine) fields() []decode.Field {
	return []decode.Field{decode.AbsolutePath("file", &l.File),
		decode.Text("line", &l.Line, decode.NotEmpty)}
}
