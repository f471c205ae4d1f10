package cleanup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Describe says each selector in a line, for people and for the pages on networks.
func (l Residue) Describe() []string {
	var out []string
	add := func(what, words string) { out = append(out, what+" "+words) }
	for _, name := range l.Units {
		add("unit", name)
	}
	for _, m := range l.Uplinks {
		add("address", m.describe())
	}
	for _, m := range l.Added {
		add("address", "within "+m.String()+" there, of the network: not back to the device")
	}
	if l.LocalRule {
		add("rule", "for local addresses, moved from priority 0")
	}
	for _, m := range l.Programs {
		add("eBPF program", m.describe())
	}
	for _, m := range l.Rules {
		add("rule", m.describe())
	}
	for _, m := range l.Routes {
		add("route", m.describe())
	}
	for _, m := range l.IPVS {
		add("IPVS service", m.describe())
	}
	for _, m := range l.Chains {
		if m.ofRules() {
			add("iptables rule", m.describe())
		} else {
			add("iptables chain", m.describe())
		}
	}
	for _, m := range l.Tables {
		add("nft table", m.Family+" "+m.Name)
	}
	for _, name := range l.Portmap {
		add("published port", "of network "+name+", by plugin portmap")
	}
	for _, name := range l.IPSets {
		add("ipset", name)
	}
	for _, m := range l.XFRM {
		add("IPsec", m.describe())
	}
	for _, m := range l.OVS {
		for _, words := range m.describe() {
			add("Open vSwitch", words)
		}
	}
	for _, m := range l.Links {
		add("link", m.describe())
	}
	for _, name := range l.Pins {
		add("eBPF pin", name)
	}
	for _, m := range l.Sysctls {
		add("sysctl", fmt.Sprintf("%s = %s, back to what the host's files say or %s", m.Key, m.Wrote, m.Default))
	}
	for _, m := range l.Lines {
		add("line", fmt.Sprintf("%q of %s", m.Line, m.File))
	}
	for _, m := range l.Renamed {
		add("renamed file", m.Path+", back to its own name where another conf goes before it")
	}
	for _, name := range l.Files {
		add("file", name)
	}
	for _, words := range l.Others {
		add("not removed:", words)
	}
	return out
}

func (m LinkSelector) describe() string {
	return clauses(m.Name, part(m.Kind != "", "(%s)", m.Kind), part(m.Master != "", "port of %s", m.Master),
		part(m.MAC != "", "address %s", m.MAC), part(m.Alias != "", "alias %s", m.Alias),
		part(m.Pods, "with a pod's address"))
}

func (m RouteSelector) describe() string {
	return clauses(m.Type, part(m.Pods, "to the pods' addresses"), part(m.Via, "by a gateway"),
		part(m.Link != "", "dev %s", m.Link), part(m.Protocol != 0, "proto %d", m.Protocol),
		describeTable(m.Table, m.Last))
}

func (m RuleSelector) describe() string {
	return clauses(part(m.Priority != 0, "priority %d", m.Priority),
		part(m.Mark != 0 || m.Mask != 0, "fwmark %#x/%#x", m.Mark, m.Mask),
		part(m.IIF != "", "iif %s", m.IIF),
		part(m.Marked, "for a fwmark"), part(m.From, "from an address"), part(m.To, "to an address"),
		part(m.All, "for every packet"), part(m.Pods, "of the pods' addresses"),
		part(m.Protocol != 0, "proto %d", m.Protocol), describeTable(m.Table, m.Last))
}

func (m ChainSelector) describe() string {
	table := cmp.Or(m.Table, "*")
	return clauses(table+"/"+part(m.Chain == "", "*")+m.Chain, part(m.In != "", "-i %s", m.In),
		part(m.Out != "", "-o %s", m.Out),
		part(m.Set != "", "--match-set %s", m.Set), part(m.Comment != "", "--comment %q", m.Comment),
		part(m.Target != "", "-j %s", m.Target))
}

func (m UplinkSelector) describe() string {
	return clauses("of the machine on", m.Link,
		part(m.Kind != "", "(%s)", m.Kind)+": back to the device with its routes")
}

func (m ProgramSelector) describe() string { return m.Name + " (" + m.Hook + ")" }

func (m IPVSSelector) describe() string {
	return clauses(part(m.Link != "", "at an address of %s", m.Link), part(m.Pods, "to pods alone"),
		part(m.Unless != "", "where there is no %s", m.Unless))
}

func (m XFRMSelector) describe() string {
	return clauses(part(m.Mask != 0, "mark %#x/%#x", m.Mark, m.Mask), part(m.ReqID != 0, "reqid %d", m.ReqID),
		part(m.IfID != 0, "if_id %d", m.IfID),
		part(m.Priority != 0, "priority %d", m.Priority), part(m.Pods, "between the pods' addresses"),
		part(m.States, "with the states that its policies lead to"))
}

func (m OVSSelector) describe() []string {
	var out []string
	for _, name := range m.Bridges {
		out = append(out, "bridge "+name)
	}
	for _, name := range m.Ports {
		out = append(out, "port "+name)
	}
	for _, name := range m.Keys {
		out = append(out, "setting "+name)
	}
	for _, name := range m.Tunnels {
		out = append(out, "tunnel device "+name)
	}
	if m.Datapath != "" {
		out = append(out, "datapath "+m.Datapath+", where nothing of others is in it")
	}
	return out
}

func describeTable(table, last int) string {
	switch {
	case table == 0:
		return ""
	case table == rtnl.AllTables:
		return "in any table"
	case last != 0:
		return fmt.Sprintf("tables %d to %d", table, last)
	}
	return fmt.Sprintf("table %d", table)
}

func part(is bool, format string, args ...any) string {
	if !is {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

func clauses(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}
