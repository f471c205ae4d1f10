package cleanup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Describe returns one line for each selector. Plans and the pages on networks show these lines.
func (l Residue) Describe() []string {
	var out []string
	add := func(what string, all ...string) {
		for _, words := range all {
			out = append(out, what+" "+words)
		}
	}
	add("unit", l.Units...)
	add("address", described(l.Uplinks)...)
	for _, m := range l.Added {
		add("address", "within "+m.String()+" there, of the network: not back to the device")
	}
	if l.LocalRule {
		add("rule", "for local addresses, moved from priority 0")
	}
	add("eBPF program", described(l.Programs)...)
	add("rule", described(l.Rules)...)
	add("route", described(l.Routes)...)
	add("IPVS service", described(l.IPVS)...)
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
	add("ipset", l.IPSets...)
	add("IPsec", described(l.XFRM)...)
	for _, m := range l.OVS {
		add("Open vSwitch bridge", m.Bridges...)
		add("Open vSwitch port", m.Ports...)
		add("Open vSwitch setting", m.Keys...)
		add("Open vSwitch tunnel device", m.Tunnels...)
		if m.Datapath != "" {
			add("Open vSwitch datapath", m.Datapath+", where nothing of others is in it")
		}
	}
	add("link", described(l.Links)...)
	add("eBPF pin", l.Pins...)
	for _, m := range l.Sysctls {
		add("sysctl", fmt.Sprintf("%s = %s, back to what the host's files say or %s", m.Key, m.Wrote, m.Default))
	}
	for _, m := range l.Lines {
		add("line", fmt.Sprintf("%q of %s", m.Line, m.File))
	}
	for _, m := range l.Renamed {
		add("renamed file", m.Path+", back to its own name where another conf goes before it")
	}
	add("file", l.Files...)
	add("not removed:", l.Others...)
	return out
}

func described[M interface{ describe() string }](marks []M) []string {
	var out []string
	for _, m := range marks {
		out = append(out, m.describe())
	}
	return out
}

func (m LinkSelector) describe() string {
	return clauses(m.Name, said("(%s)", m.Kind), said("port of %s", m.Master),
		said("address %s", m.MAC), said("alias %s", m.Alias),
		part(m.Pods, "with a pod's address"))
}

func (m RouteSelector) describe() string {
	return clauses(m.Type, part(m.Pods, "to the pods' addresses"), part(m.Via, "by a gateway"),
		said("dev %s", m.Link), said("proto %d", m.Protocol),
		describeTable(m.Table, m.Last))
}

func (m RuleSelector) describe() string {
	return clauses(said("priority %d", m.Priority),
		part(m.Mark != 0 || m.Mask != 0, "fwmark %#x/%#x", m.Mark, m.Mask),
		said("iif %s", m.IIF),
		part(m.Marked, "for a fwmark"), part(m.From, "from an address"), part(m.To, "to an address"),
		part(m.All, "for every packet"), part(m.Pods, "of the pods' addresses"),
		said("proto %d", m.Protocol), describeTable(m.Table, m.Last))
}

func (m ChainSelector) describe() string {
	table := cmp.Or(m.Table, "*")
	return clauses(table+"/"+part(m.Chain == "", "*")+m.Chain, said("-i %s", m.In),
		said("-o %s", m.Out),
		said("--match-set %s", m.Set), said("--comment %q", m.Comment),
		said("-j %s", m.Target))
}

func (m UplinkSelector) describe() string {
	return clauses("of the machine on", m.Link,
		said("(%s)", m.Kind)+": back to the device with its routes")
}

func (m ProgramSelector) describe() string { return m.Name + " (" + m.Hook + ")" }

func (m IPVSSelector) describe() string {
	return clauses(said("at an address of %s", m.Link), part(m.Pods, "to pods alone"),
		said("where there is no %s", m.Unless))
}

func (m XFRMSelector) describe() string {
	return clauses(part(m.Mark != 0 || m.Mask != 0, "mark %#x/%#x", m.Mark, m.Mask), said("reqid %d", m.ReqID),
		said("if_id %d", m.IfID),
		said("priority %d", m.Priority), part(m.Pods, "between the pods' addresses"),
		part(m.States, "with the states that its policies lead to"))
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

// said formats a value, or returns "" for the zero value.
func said[T comparable](format string, value T) string {
	var unsaid T
	return part(value != unsaid, format, value)
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
