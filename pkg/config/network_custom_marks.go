package config

import (
	"strconv"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

const maxTable = 1<<31 - 1

func (l *CustomLeftovers) fields() []decode.Field {
	return []decode.Field{
		{Name: "units", Set: decode.Names(&l.Units, decode.ValidUnit)},
		{Name: "moved", Set: decode.Entries(&l.Moved, (*CustomMoved).fields, "link")},
		{Name: "programs", Set: decode.Entries(&l.Programs, (*CustomProgram).fields, "hook", "name")},
		{Name: "rules", Set: decode.Entries(&l.Rules, (*CustomRule).fields)},
		{Name: "routes", Set: decode.Entries(&l.Routes, (*CustomRoute).fields)},
		{Name: "ipvs", Set: decode.Entries(&l.IPVS, (*CustomIPVS).fields)},
		{Name: "chains", Set: decode.Entries(&l.Chains, (*CustomChain).fields)},
		{Name: "tables", Set: decode.Entries(&l.Tables, (*CustomTable).fields, "family", "name")},
		{Name: "portmap", Set: decode.Names(&l.Portmap, validPattern), Newer: true},
		{Name: "ipsets", Set: decode.Names(&l.IPSets, validPattern)},
		{Name: "xfrm", Set: decode.Entries(&l.XFRM, (*CustomXFRM).fields)},
		{Name: "ovs", Set: decode.Entries(&l.OVS, (*CustomOVS).fields)},
		{Name: "links", Set: decode.Entries(&l.Links, (*CustomLink).fields, "name", "kind")},
		{Name: "pins", Set: decode.Names(&l.Pins, validPathPattern)},
		{Name: "sysctls", Set: decode.Entries(&l.Sysctls, (*CustomValue).fields, "key", "wrote", "default")},
		{Name: "lines", Set: decode.Entries(&l.Lines, (*CustomLine).fields, "file", "line")},
		{Name: "files", Set: decode.Names(&l.Files, validPathPattern)},
		{Name: "localRule", Set: decode.Bool(&l.LocalRule)},
		{Name: "others", Set: decode.Texts(&l.Others, decode.NotEmpty)},
	}
}

func (r *CustomRule) fields() []decode.Field {
	return []decode.Field{
		{Name: "priority", Set: decode.Number(&r.Priority, 1, 1<<31-1)},
		{Name: "mark", Set: mark(&r.Mark)},
		{Name: "mask", Set: mark(&r.Mask)},
		{Name: "table", Set: decode.Number(&r.Table, 1, maxTable)},
		{Name: "last", Set: decode.Number(&r.Last, 1, maxTable)},
		{Name: "iif", Set: decode.Text(&r.IIF, validPattern)},
		{Name: "protocol", Set: decode.Number(&r.Protocol, 1, 255), Newer: true},
		{Name: "pods", Set: decode.Bool(&r.Pods)},
	}
}

func (r *CustomRoute) fields() []decode.Field {
	return []decode.Field{
		{Name: "table", Set: decode.Number(&r.Table, 1, maxTable)},
		{Name: "last", Set: decode.Number(&r.Last, 1, maxTable)},
		{Name: "protocol", Set: decode.Number(&r.Protocol, 1, 255)},
		{Name: "link", Set: decode.Text(&r.Link, validPattern)},
		{Name: "pods", Set: decode.Bool(&r.Pods)},
		{Name: "type", Set: decode.Choice(&r.Type, "unicast", "blackhole", "unreachable", "prohibit")},
	}
}

func (c *CustomChain) fields() []decode.Field {
	return []decode.Field{
		{Name: "table", Set: decode.Choice(&c.Table, "filter", "nat", "mangle", "raw", "security")},
		{Name: "chain", Set: decode.Text(&c.Chain, validPattern)},
		{Name: "comment", Set: decode.Text(&c.Comment, validPattern)},
		{Name: "target", Set: decode.Text(&c.Target, validPattern)},
		{Name: "in", Set: decode.Text(&c.In, validPattern)},
		{Name: "out", Set: decode.Text(&c.Out, validPattern)},
		{Name: "set", Set: decode.Text(&c.Set, validPattern)},
	}
}

func (t *CustomTable) fields() []decode.Field {
	return []decode.Field{
		{Name: "family", Set: decode.Choice(&t.Family, "ip", "ip6", "inet", "arp", "bridge", "netdev")},
		{Name: "name", Set: decode.Text(&t.Name, validPattern)},
	}
}

func (l *CustomLink) fields() []decode.Field {
	return []decode.Field{
		{Name: "name", Set: decode.Text(&l.Name, validPattern)},
		{Name: "kind", Set: decode.Text(&l.Kind, validModule)},
		{Name: "master", Set: decode.Text(&l.Master, validModule)},
		{Name: "mac", Set: decode.Text(&l.MAC, validPattern)},
		{Name: "alias", Set: decode.Text(&l.Alias, validPattern)},
		{Name: "pods", Set: decode.Bool(&l.Pods)},
	}
}

// mark takes a mark of packets, as iproute2 prints it or in decimal.
func mark(to *uint32) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		n, err := strconv.ParseUint(v.Text, 0, 32)
		if v.Kind != document.KindInt && v.Kind != document.KindString || err != nil || n == 0 {
			d.Bad(v, at, "a packet mark such as 0x80", "")
			return
		}
		*to = uint32(n)
	}
}

func (m *CustomMoved) fields() []decode.Field {
	return []decode.Field{{Name: "link", Set: decode.Text(&m.Link, validPattern)}, {Name: "kind", Set: decode.Text(&m.Kind, validModule)}}
}

func (p *CustomProgram) fields() []decode.Field {
	return []decode.Field{{Name: "hook", Set: decode.Choice(&p.Hook, "tc", "xdp", "cgroup")}, {Name: "name", Set: decode.Text(&p.Name, validPattern)}}
}

func (s *CustomIPVS) fields() []decode.Field {
	return []decode.Field{
		{Name: "link", Set: decode.Text(&s.Link, validModule)},
		{Name: "pods", Set: decode.Bool(&s.Pods)},
		{Name: "unless", Set: decode.Text(&s.Unless, validModule)},
	}
}

func (x *CustomXFRM) fields() []decode.Field {
	return []decode.Field{
		{Name: "mark", Set: mark(&x.Mark)},
		{Name: "mask", Set: mark(&x.Mask)},
		{Name: "reqID", Set: decode.Number(&x.ReqID, 1, 1<<31-1)},
		{Name: "ifID", Set: decode.Number(&x.IfID, 1, 1<<31-1)},
		{Name: "priority", Set: decode.Number(&x.Priority, 1, 1<<31-1)},
		{Name: "states", Set: decode.Bool(&x.States)},
	}
}

func (o *CustomOVS) fields() []decode.Field {
	return []decode.Field{
		{Name: "socket", Set: decode.AbsolutePath(&o.Socket)},
		{Name: "bridges", Set: decode.Texts(&o.Bridges, validPattern)},
		{Name: "ports", Set: decode.Texts(&o.Ports, validPattern)},
		{Name: "keys", Set: decode.Texts(&o.Keys, decode.NotEmpty)},
		{Name: "tunnels", Set: decode.Texts(&o.Tunnels, validModule)},
		{Name: "datapath", Set: decode.Text(&o.Datapath, validModule)},
	}
}

func (s *CustomValue) fields() []decode.Field {
	return []decode.Field{
		{Name: "key", Set: decode.SysctlName(&s.Key)},
		{Name: "wrote", Set: decode.SysctlValue(&s.Wrote)},
		{Name: "default", Set: decode.SysctlValue(&s.Default)},
	}
}

func (l *CustomLine) fields() []decode.Field {
	return []decode.Field{{Name: "file", Set: decode.AbsolutePath(&l.File)}, {Name: "line", Set: decode.Text(&l.Line, decode.NotEmpty)}}
}
