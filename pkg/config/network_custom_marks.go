package config

import (
	"fmt"
	"strconv"

	"github.com/netwright/netwright/pkg/config/document"
)

const maxTable = 1<<31 - 1

func (d *decoder) customLeftovers(l *CustomLeftovers) []field {
	return []field{
		{name: "units", set: d.names(&l.Units, validUnit)},
		{name: "moved", set: entries(d, &l.Moved, d.customMoved, "link")},
		{name: "programs", set: entries(d, &l.Programs, d.customProgram, "hook", "name")},
		{name: "rules", set: entries(d, &l.Rules, d.customRule)},
		{name: "routes", set: entries(d, &l.Routes, d.customRoute)},
		{name: "ipvs", set: entries(d, &l.IPVS, d.customIPVS)},
		{name: "chains", set: entries(d, &l.Chains, d.customChain)},
		{name: "tables", set: entries(d, &l.Tables, d.customTable, "family", "name")},
		{name: "portmap", set: d.names(&l.Portmap, validPattern), newer: true},
		{name: "ipsets", set: d.names(&l.IPSets, validPattern)},
		{name: "xfrm", set: entries(d, &l.XFRM, d.customXFRM)},
		{name: "ovs", set: entries(d, &l.OVS, d.customOVS)},
		{name: "links", set: entries(d, &l.Links, d.customLink, "name", "kind")},
		{name: "pins", set: d.names(&l.Pins, validPathPattern)},
		{name: "sysctls", set: entries(d, &l.Sysctls, d.customValue, "key", "wrote", "default")},
		{name: "lines", set: entries(d, &l.Lines, d.customLine, "file", "line")},
		{name: "files", set: d.names(&l.Files, validPathPattern)},
		{name: "localRule", set: d.boolean(&l.LocalRule)},
		{name: "others", set: d.texts(&l.Others, notEmpty)},
	}
}

func (d *decoder) customRule(r *CustomRule) []field {
	return []field{
		{name: "priority", set: d.number(&r.Priority, 1, 1<<31-1)},
		{name: "mark", set: d.bits(&r.Mark)},
		{name: "mask", set: d.bits(&r.Mask)},
		{name: "table", set: d.number(&r.Table, 1, maxTable)},
		{name: "last", set: d.number(&r.Last, 1, maxTable)},
		{name: "iif", set: d.text(&r.IIF, validPattern)},
		{name: "protocol", set: d.number(&r.Protocol, 1, 255), newer: true},
		{name: "pods", set: d.boolean(&r.Pods)},
	}
}

func (d *decoder) customRoute(r *CustomRoute) []field {
	return []field{
		{name: "table", set: d.number(&r.Table, 1, maxTable)},
		{name: "last", set: d.number(&r.Last, 1, maxTable)},
		{name: "protocol", set: d.number(&r.Protocol, 1, 255)},
		{name: "link", set: d.text(&r.Link, validPattern)},
		{name: "pods", set: d.boolean(&r.Pods)},
		{name: "type", set: d.choice(&r.Type, "unicast", "blackhole", "unreachable", "prohibit")},
	}
}

func (d *decoder) customChain(c *CustomChain) []field {
	return []field{
		{name: "table", set: d.choice(&c.Table, "filter", "nat", "mangle", "raw", "security")},
		{name: "chain", set: d.text(&c.Chain, validPattern)},
		{name: "comment", set: d.text(&c.Comment, validPattern)},
		{name: "target", set: d.text(&c.Target, validPattern)},
		{name: "in", set: d.text(&c.In, validPattern)},
		{name: "out", set: d.text(&c.Out, validPattern)},
		{name: "set", set: d.text(&c.Set, validPattern)},
	}
}

func (d *decoder) customTable(t *CustomTable) []field {
	return []field{
		{name: "family", set: d.choice(&t.Family, "ip", "ip6", "inet", "arp", "bridge", "netdev")},
		{name: "name", set: d.text(&t.Name, validPattern)},
	}
}

func (d *decoder) customLink(l *CustomLink) []field {
	return []field{
		{name: "name", set: d.text(&l.Name, validPattern)},
		{name: "kind", set: d.text(&l.Kind, validModule)},
		{name: "master", set: d.text(&l.Master, validModule)},
		{name: "mac", set: d.text(&l.MAC, validPattern)},
		{name: "alias", set: d.text(&l.Alias, validPattern)},
		{name: "pods", set: d.boolean(&l.Pods)},
	}
}

// bits takes a mark of packets, as iproute2 prints it or in decimal.
func (d *decoder) bits(to *uint32) set {
	return func(v *document.Value, at string) {
		n, err := strconv.ParseUint(v.Text, 0, 32)
		if v.Kind != document.KindInt && v.Kind != document.KindString || err != nil || n == 0 {
			d.bad(v, at, "a packet mark such as 0x80", "")
			return
		}
		*to = uint32(n)
	}
}

// index is the path of a list's entry.
func index(at string, i int) string { return fmt.Sprintf("%s[%d]", at, i) }

func (d *decoder) customMoved(m *CustomMoved) []field {
	return []field{{name: "link", set: d.text(&m.Link, validPattern)}, {name: "kind", set: d.text(&m.Kind, validModule)}}
}

func (d *decoder) customProgram(p *CustomProgram) []field {
	return []field{{name: "hook", set: d.choice(&p.Hook, "tc", "xdp", "cgroup")}, {name: "name", set: d.text(&p.Name, validPattern)}}
}

func (d *decoder) customIPVS(s *CustomIPVS) []field {
	return []field{
		{name: "link", set: d.text(&s.Link, validModule)},
		{name: "pods", set: d.boolean(&s.Pods)},
		{name: "unless", set: d.text(&s.Unless, validModule)},
	}
}

func (d *decoder) customXFRM(x *CustomXFRM) []field {
	return []field{
		{name: "mark", set: d.bits(&x.Mark)},
		{name: "mask", set: d.bits(&x.Mask)},
		{name: "reqID", set: d.number(&x.ReqID, 1, 1<<31-1)},
		{name: "ifID", set: d.number(&x.IfID, 1, 1<<31-1)},
		{name: "priority", set: d.number(&x.Priority, 1, 1<<31-1)},
		{name: "states", set: d.boolean(&x.States)},
	}
}

func (d *decoder) customOVS(o *CustomOVS) []field {
	return []field{
		{name: "socket", set: d.absolutePath(&o.Socket)},
		{name: "bridges", set: d.texts(&o.Bridges, validPattern)},
		{name: "ports", set: d.texts(&o.Ports, validPattern)},
		{name: "keys", set: d.texts(&o.Keys, notEmpty)},
		{name: "tunnels", set: d.texts(&o.Tunnels, validModule)},
		{name: "datapath", set: d.text(&o.Datapath, validModule)},
	}
}

func (d *decoder) customValue(s *CustomValue) []field {
	return []field{
		{name: "key", set: d.sysctlName(&s.Key)},
		{name: "wrote", set: d.sysctlValue(&s.Wrote)},
		{name: "default", set: d.sysctlValue(&s.Default)},
	}
}

func (d *decoder) customLine(l *CustomLine) []field {
	return []field{{name: "file", set: d.absolutePath(&l.File)}, {name: "line", set: d.text(&l.Line, notEmpty)}}
}
