package config

import (
	"strconv"

	"github.com/netwright/netwright/pkg/config/document"
)

const maxTable = 1<<31 - 1

func (l *CustomLeftovers) fields() []field {
	return []field{
		{name: "units", set: Names(&l.Units, validUnit)},
		{name: "moved", set: entries(&l.Moved, (*CustomMoved).fields, "link")},
		{name: "programs", set: entries(&l.Programs, (*CustomProgram).fields, "hook", "name")},
		{name: "rules", set: entries(&l.Rules, (*CustomRule).fields)},
		{name: "routes", set: entries(&l.Routes, (*CustomRoute).fields)},
		{name: "ipvs", set: entries(&l.IPVS, (*CustomIPVS).fields)},
		{name: "chains", set: entries(&l.Chains, (*CustomChain).fields)},
		{name: "tables", set: entries(&l.Tables, (*CustomTable).fields, "family", "name")},
		{name: "portmap", set: Names(&l.Portmap, validPattern), newer: true},
		{name: "ipsets", set: Names(&l.IPSets, validPattern)},
		{name: "xfrm", set: entries(&l.XFRM, (*CustomXFRM).fields)},
		{name: "ovs", set: entries(&l.OVS, (*CustomOVS).fields)},
		{name: "links", set: entries(&l.Links, (*CustomLink).fields, "name", "kind")},
		{name: "pins", set: Names(&l.Pins, validPathPattern)},
		{name: "sysctls", set: entries(&l.Sysctls, (*CustomValue).fields, "key", "wrote", "default")},
		{name: "lines", set: entries(&l.Lines, (*CustomLine).fields, "file", "line")},
		{name: "files", set: Names(&l.Files, validPathPattern)},
		{name: "localRule", set: Bool(&l.LocalRule)},
		{name: "others", set: Texts(&l.Others, notEmpty)},
	}
}

func (r *CustomRule) fields() []field {
	return []field{
		{name: "priority", set: Number(&r.Priority, 1, 1<<31-1)},
		{name: "mark", set: Mark(&r.Mark)},
		{name: "mask", set: Mark(&r.Mask)},
		{name: "table", set: Number(&r.Table, 1, maxTable)},
		{name: "last", set: Number(&r.Last, 1, maxTable)},
		{name: "iif", set: Text(&r.IIF, validPattern)},
		{name: "protocol", set: Number(&r.Protocol, 1, 255), newer: true},
		{name: "pods", set: Bool(&r.Pods)},
	}
}

func (r *CustomRoute) fields() []field {
	return []field{
		{name: "table", set: Number(&r.Table, 1, maxTable)},
		{name: "last", set: Number(&r.Last, 1, maxTable)},
		{name: "protocol", set: Number(&r.Protocol, 1, 255)},
		{name: "link", set: Text(&r.Link, validPattern)},
		{name: "pods", set: Bool(&r.Pods)},
		{name: "type", set: Choice(&r.Type, "unicast", "blackhole", "unreachable", "prohibit")},
	}
}

func (c *CustomChain) fields() []field {
	return []field{
		{name: "table", set: Choice(&c.Table, "filter", "nat", "mangle", "raw", "security")},
		{name: "chain", set: Text(&c.Chain, validPattern)},
		{name: "comment", set: Text(&c.Comment, validPattern)},
		{name: "target", set: Text(&c.Target, validPattern)},
		{name: "in", set: Text(&c.In, validPattern)},
		{name: "out", set: Text(&c.Out, validPattern)},
		{name: "set", set: Text(&c.Set, validPattern)},
	}
}

func (t *CustomTable) fields() []field {
	return []field{
		{name: "family", set: Choice(&t.Family, "ip", "ip6", "inet", "arp", "bridge", "netdev")},
		{name: "name", set: Text(&t.Name, validPattern)},
	}
}

func (l *CustomLink) fields() []field {
	return []field{
		{name: "name", set: Text(&l.Name, validPattern)},
		{name: "kind", set: Text(&l.Kind, validModule)},
		{name: "master", set: Text(&l.Master, validModule)},
		{name: "mac", set: Text(&l.MAC, validPattern)},
		{name: "alias", set: Text(&l.Alias, validPattern)},
		{name: "pods", set: Bool(&l.Pods)},
	}
}

// bits takes a mark of packets, as iproute2 prints it or in decimal.
func Mark(to *uint32) set {
	return func(d *decoder, v *document.Value, at string) {
		n, err := strconv.ParseUint(v.Text, 0, 32)
		if v.Kind != document.KindInt && v.Kind != document.KindString || err != nil || n == 0 {
			d.bad(v, at, "a packet mark such as 0x80", "")
			return
		}
		*to = uint32(n)
	}
}

func (m *CustomMoved) fields() []field {
	return []field{{name: "link", set: Text(&m.Link, validPattern)}, {name: "kind", set: Text(&m.Kind, validModule)}}
}

func (p *CustomProgram) fields() []field {
	return []field{{name: "hook", set: Choice(&p.Hook, "tc", "xdp", "cgroup")}, {name: "name", set: Text(&p.Name, validPattern)}}
}

func (s *CustomIPVS) fields() []field {
	return []field{
		{name: "link", set: Text(&s.Link, validModule)},
		{name: "pods", set: Bool(&s.Pods)},
		{name: "unless", set: Text(&s.Unless, validModule)},
	}
}

func (x *CustomXFRM) fields() []field {
	return []field{
		{name: "mark", set: Mark(&x.Mark)},
		{name: "mask", set: Mark(&x.Mask)},
		{name: "reqID", set: Number(&x.ReqID, 1, 1<<31-1)},
		{name: "ifID", set: Number(&x.IfID, 1, 1<<31-1)},
		{name: "priority", set: Number(&x.Priority, 1, 1<<31-1)},
		{name: "states", set: Bool(&x.States)},
	}
}

func (o *CustomOVS) fields() []field {
	return []field{
		{name: "socket", set: AbsolutePath(&o.Socket)},
		{name: "bridges", set: Texts(&o.Bridges, validPattern)},
		{name: "ports", set: Texts(&o.Ports, validPattern)},
		{name: "keys", set: Texts(&o.Keys, notEmpty)},
		{name: "tunnels", set: Texts(&o.Tunnels, validModule)},
		{name: "datapath", set: Text(&o.Datapath, validModule)},
	}
}

func (s *CustomValue) fields() []field {
	return []field{
		{name: "key", set: SysctlName(&s.Key)},
		{name: "wrote", set: SysctlValue(&s.Wrote)},
		{name: "default", set: SysctlValue(&s.Default)},
	}
}

func (l *CustomLine) fields() []field {
	return []field{{name: "file", set: AbsolutePath(&l.File)}, {name: "line", set: Text(&l.Line, notEmpty)}}
}
