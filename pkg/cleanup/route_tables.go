package cleanup

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostpath"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/tasks"
)

// OwnProtocol reports whether a route protocol identifies the program that set the route. The
// shared protocols of linux/rtnetlink.h do not: redirects (1), the kernel (2), programs that set
// none (3), people (4), router advertisements (9) and DHCP (16).
func OwnProtocol(protocol int) bool {
	return protocol != 0 && !slices.Contains([]int{1, 2, 3, 4, 9, 16}, protocol)
}

// Bare reports whether a selector has only a table number and nothing that proves who owns a route
// there, because any program may use a table. Such a selector matches no route.
func (m RouteSelector) Bare() bool { return m.weak() && !m.Pods }

// weak reports whether every program that uses the table may have such a route: link, type and
// protocol do not identify the owner.
func (m RouteSelector) weak() bool {
	return m.Link == "" && (m.Type == "" || m.Type == "unicast") && !OwnProtocol(m.Protocol)
}

// Bare reports whether a selector has only a table number, which does not prove who owns a rule.
// Such a selector matches no rule.
func (m RuleSelector) Bare() bool { return m.weak() && m.Priority == 0 && !m.All }

// weak reports whether every program that uses the table may have such a rule.
func (m RuleSelector) weak() bool {
	own := m.Protocol == 2 || OwnProtocol(m.Protocol) // the kernel has no rules for tables of other owners
	return m.Mark == 0 && m.Mask == 0 && m.IIF == "" && !own && !m.Pods && !m.Numbered()
}

// Numbered reports whether priority, the main table and a destination are all set. Together they
// identify a network, because a person who writes such rules uses another table.
func (m RuleSelector) Numbered() bool {
	return m.Priority != 0 && m.To && m.Table == rtnl.MainTable
}

// ownRules returns the policy rules of the network, and the tables that another owner uses: those
// to which a rule of another owner leads, and those to which iproute2's files give another name. A
// table to which these files give the network's own name belongs to the network. A rule for every
// packet whose priority is not specific belongs to the network if its table does so by name, or if
// the table contains only routes of the network.
func (l Residue) ownRules(ctx context.Context, v host.View, s Scope) (own []rtnl.Rule,
	others map[int]bool, err error) {
	rules, err := v.Net.Rules(ctx)
	if err != nil {
		return nil, nil, err
	}
	routes, err := v.Net.Routes(ctx, rtnl.AllTables)
	if err != nil {
		return nil, nil, err
	}
	named, err := l.namedTables(v)
	if err != nil {
		return nil, nil, err
	}
	strange := map[int]bool{} // tables with routes that no selector matches
	for _, r := range routes {
		known := slices.ContainsFunc(l.Routes, func(m RouteSelector) bool { return m.matches(r, s) })
		strange[r.Table] = strange[r.Table] || !known && !r.OfMachine()
	}
	others = map[int]bool{}
	for table, theirs := range named {
		others[table] = !theirs
	}
	for _, r := range rules {
		theirs, has := named[r.Table]
		free := theirs || !has
		is := slices.ContainsFunc(l.Rules, func(m RuleSelector) bool {
			sure := !m.weak() || free && (theirs || m.Priority != 0 || !strange[r.Table])
			return sure && m.matches(r, s)
		})
		if is && !r.OfMachine() && !s.retains(tasks.RuleKey(r)) {
			own = append(own, r)
		} else if !theirs {
			others[r.Table] = true
		}
	}
	return own, others, nil
}

// tableNames are the files that give tables names. Later files add to earlier ones (ip-route(8)).
var tableNames = []string{"/etc/iproute2/rt_tables", "/etc/iproute2/rt_tables.d/*.conf",
	"/usr/share/iproute2/rt_tables", "/usr/share/iproute2/rt_tables.d/*.conf",
	"/usr/lib/iproute2/rt_tables", "/usr/lib/iproute2/rt_tables.d/*.conf"}

// namedTables returns the tables that have a name. The value is true if the name is the network's,
// according to its line selectors.
func (l Residue) namedTables(v host.View) (map[int]bool, error) {
	out := map[int]bool{}
	for _, pattern := range tableNames {
		files, err := Expand(v, pattern)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := v.Files.ReadFile(file)
			if hostpath.IsMissing(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			for line := range strings.Lines(string(content)) {
				words := strings.Fields(line)
				if len(words) < 2 {
					continue
				}
				table, err := strconv.ParseInt(words[0], 0, 64)
				if err != nil {
					continue // a comment
				}
				theirs, known := out[int(table)]
				out[int(table)] = l.namesTable(line) && (theirs || !known)
			}
		}
	}
	return out, nil
}

func (l Residue) namesTable(line string) bool {
	return slices.ContainsFunc(slices.Concat(l.Lines, l.Names), func(m LineSelector) bool {
		return path.Base(m.File) == "rt_tables" && m.matches(line)
	})
}
