package networks

import (
	"strconv"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// CustomResidue is what the network leaves on a node, each thing by its exact name and mark. The
// model knows which marks are refused because they could belong to somebody else. The selectors of
// package cleanup are the types of the entries, also for the networks that the agent knows.
type CustomResidue struct {
	// Units: Lists systemd units that would make the leftovers again.
	Units []string `json:"units,omitempty"`
	// Uplinks: Lists links to which the network moved the machine's addresses. The addresses go
	// back to their device.
	Uplinks []CustomUplink `json:"moved,omitempty"`
	// Programs: Lists eBPF programs that are attached without a pin.
	Programs []CustomProgram `json:"programs,omitempty"`
	// Rules: Lists policy rules (ip rule).
	Rules []CustomRule `json:"rules,omitempty"`
	// Routes: Lists routes of any table.
	Routes []CustomRoute `json:"routes,omitempty"`
	// IPVS: Lists services of IPVS.
	IPVS []CustomIPVS `json:"ipvs,omitempty"`
	// Chains: Lists chains and rules of iptables.
	Chains []CustomChain `json:"chains,omitempty"`
	// Tables: Lists tables of nft.
	Tables []CustomTable `json:"tables,omitempty"`
	// Portmap: Lists the names of the network's confs (`name`) under which the plugin portmap
	// publishes ports.
	Portmap []string `json:"portmap,omitempty"`
	// IPSets: Lists names or patterns of ipsets.
	IPSets []string `json:"ipsets,omitempty"`
	// XFRM: Lists policies and states of IPsec.
	XFRM []CustomXFRM `json:"xfrm,omitempty"`
	// OVS: Lists what the network has in Open vSwitch.
	OVS []CustomOVS `json:"ovs,omitempty"`
	// Links: Lists virtual links.
	Links []CustomLink `json:"links,omitempty"`
	// Pins: Lists paths or patterns of eBPF objects below /sys/fs/bpf. /**/ means any depth.
	Pins []string `json:"pins,omitempty"`
	// Sysctls: Lists kernel parameters that the network writes at run time, without a file.
	Sysctls []CustomValue `json:"sysctls,omitempty"`
	// Lines: Lists lines in files of others.
	Lines []CustomLine `json:"lines,omitempty"`
	// Files: Lists paths or patterns of files. A slash at the end means a directory with everything
	// in it.
	Files []string `json:"files,omitempty"`
	// LocalRule: true means that the network moves the rule for local addresses away from priority
	// 0.
	LocalRule bool `json:"localRule,omitempty"`
	// Others: Describes in words what no agent removes.
	Others []string `json:"others,omitempty"`
}

// CustomRule identifies policy rules.
type CustomRule struct {
	// Priority: Matches the priority of the rule. Everything that one entry sets must be true of
	// the rule.
	Priority int `json:"priority,omitempty"`
	// Mark: Matches the packet mark of the rule (fwmark).
	Mark uint32 `json:"mark,omitempty"`
	// Mask: Sets the mask of `mark`.
	Mask uint32 `json:"mask,omitempty"`
	// Table: Matches the table that the rule leads to. It alone does not identify a rule.
	Table int `json:"table,omitempty"`
	// Last: Extends `table` to all tables up to this one. Their routes go with the rule, unless a
	// rule of others leads there.
	Last int `json:"last,omitempty"`
	// IIF: Matches the link that packets come from. It may be a pattern.
	IIF string `json:"iif,omitempty"`
	// Protocol: Matches rtnetlink's number of the program that made the rule.
	Protocol int `json:"protocol,omitempty"`
	// Documents do not set these four: the rule has any source, it has any destination, it matches
	// a packet mark, it has no condition.
	From   bool `json:"from,omitempty"`
	To     bool `json:"to,omitempty"`
	Marked bool `json:"marked,omitempty"`
	All    bool `json:"all,omitempty"`
	// Pods: true means that the rule is from or to an address of the pods.
	Pods bool `json:"pods,omitempty"`
}

// CustomRoute identifies routes.
type CustomRoute struct {
	// Table: Matches the table of the route. The default is main. Another table alone does not
	// identify a route.
	Table int `json:"table,omitempty"`
	// Last: Extends `table` to all tables up to this one.
	Last int `json:"last,omitempty"`
	// Protocol: Matches rtnetlink's number of the program that made the route: 12 bird, 17
	// kube-router, 80 felix.
	Protocol int `json:"protocol,omitempty"`
	// Link: Matches the link that the route goes through. It may be a pattern.
	Link string `json:"link,omitempty"`
	// Pods: true means that the destination is within the pods' addresses.
	Pods bool `json:"pods,omitempty"`
	// Via, which documents do not set, means that the route has a gateway, so it leads to another
	// node and not to a pod here.
	Via bool `json:"via,omitempty"`
	// Type: Matches the type of the route.
	Type string `json:"type,omitempty"`
}

// CustomChain identifies chains of iptables, or rules in chains of others.
type CustomChain struct {
	// Table: Matches the table of iptables. The default is any table.
	Table string `json:"table,omitempty"`
	// Chain: Matches the name of a chain. It may be a pattern. Alone it means the chains of that
	// name, everything in them, and every rule that leads to them.
	Chain string `json:"chain,omitempty"`
	// Comment: Matches the comment of a rule. It may be a pattern.
	Comment string `json:"comment,omitempty"`
	// Target: Matches the target of a rule (-j). It may be a pattern.
	Target string `json:"target,omitempty"`
	// In: Matches a rule's incoming link as iptables prints it: eth0, cali+, "! lo". It may be a
	// pattern.
	In string `json:"in,omitempty"`
	// Out: Matches a rule's outgoing link as iptables prints it. It may be a pattern.
	Out string `json:"out,omitempty"`
	// Set: Matches an ipset that a rule asks. It may be a pattern.
	Set string `json:"set,omitempty"`
}

// CustomTable identifies tables of nft.
type CustomTable struct {
	// Family: Matches the family of the table.
	Family string `json:"family"`
	// Name: Matches the name of the table. It may be a pattern.
	Name string `json:"name"`
}

// CustomLink identifies links.
type CustomLink struct {
	// Name: Matches the name of a link. It may be a pattern. It never matches a link with a device
	// behind it, or one that a default route goes through.
	Name string `json:"name"`
	// Kind: Matches the kind of the link: veth, vxlan, bridge and others. It is required.
	Kind string `json:"kind,omitempty"`
	// Master: Matches the bridge that the link is a port of. Without it, the link may be a port of
	// any bridge or of none.
	Master string `json:"master,omitempty"`
	// MAC: Matches the MAC address of the link. It may be a pattern such as 00:53:*.
	MAC string `json:"mac,omitempty"`
	// Alias: Matches the alias that `ip link` shows. It may be a pattern.
	Alias string `json:"alias,omitempty"`
	// Pods: true means that a route through the link, or an address of the link, is within the
	// pods' addresses.
	Pods bool `json:"pods,omitempty"`
}

// CustomUplink identifies a link to which the network moves the machine's addresses.
type CustomUplink struct {
	// Link: Matches the name of the link. It may be a pattern.
	Link string `json:"link"`
	// Kind: Matches the kind of the link: bridge, openvswitch and others.
	Kind string `json:"kind,omitempty"`
}

// CustomProgram identifies eBPF programs that are attached without a pin.
type CustomProgram struct {
	// Hook: Says where the program is attached.
	Hook string `json:"hook"`
	// Name: Matches the name of the program. It may be a pattern. The kernel keeps 15 characters of
	// a name, and tc keeps all.
	Name string `json:"name"`
}

// CustomIPVS identifies services of IPVS.
type CustomIPVS struct {
	// Link: Names a link that has the address of the service.
	Link string `json:"link,omitempty"`
	// Pods: true means that the service has servers, and that all their addresses are pods'
	// addresses.
	Pods bool `json:"pods,omitempty"`
	// Unless: Names a link which shows that IPVS belongs to somebody else: kube-ipvs0 of
	// kube-proxy.
	Unless string `json:"unless,omitempty"`
}

// CustomXFRM identifies policies and states of IPsec.
type CustomXFRM struct {
	// Mark: Matches bits of the mark. A policy or state may have other bits as well.
	Mark uint32 `json:"mark,omitempty"`
	// Mask: Sets the mask of `mark`. It must have all bits of the mark.
	Mask uint32 `json:"mask,omitempty"`
	// ReqID: Matches the reqid of policies and states.
	ReqID int `json:"reqID,omitempty"`
	// IfID: Matches the number of the xfrm interface of policies and states (if_id).
	IfID int `json:"ifID,omitempty"`
	// Priority: Matches the priority of a policy. States have none.
	Priority int `json:"priority,omitempty"`
	// States: true removes the states of the policies too. They are found by their number (spi) and
	// address, or without a number by both addresses and their reqid.
	States bool `json:"states,omitempty"`
	// Pods: true means a policy from addresses of pods to addresses of pods.
	Pods bool `json:"pods,omitempty"`
}

// CustomOVS identifies what the network has in Open vSwitch.
type CustomOVS struct {
	// Socket: Names the socket of ovsdb-server. The default is /run/openvswitch/db.sock.
	Socket string `json:"socket,omitempty"`
	// Bridges: Lists names or patterns of bridges.
	Bridges []string `json:"bridges,omitempty"`
	// Ports: Lists names or patterns of ports of the network's bridges that belong to no pod, such
	// as antrea-gw0.
	Ports []string `json:"ports,omitempty"`
	// Keys: Lists keys of external_ids and other_config in the table Open_vSwitch.
	Keys []string `json:"keys,omitempty"`
	// Tunnels: Lists tunnel devices, such as genev_sys_6081.
	Tunnels []string `json:"tunnels,omitempty"`
	// Datapath: Names the datapath, such as ovs-system.
	Datapath string `json:"datapath,omitempty"`
}

// CustomValue identifies a kernel parameter that the network writes at run time.
type CustomValue struct {
	// Key: Names the parameter as sysctl(8) does.
	Key string `json:"key"`
	// Wrote: Sets the value that the network writes. Another value belongs to somebody else, and
	// stays.
	Wrote string `json:"wrote"`
	// Default: Sets the kernel's own value, for hosts on which no file sets another one.
	Default string `json:"default"`
}

// CustomLine identifies a line in a file of others.
type CustomLine struct {
	// File: Names the file.
	File string `json:"file"`
	// Line: Sets the words of the line. The amount of white space between them does not count.
	Line string `json:"line"`
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
