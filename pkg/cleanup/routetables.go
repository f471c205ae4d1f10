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

// OwnProtocol says that a protocol of routes tells which program set them. Those of
// linux/rtnetlink.h that many use do not: redirects (1), the kernel (2), programs that do not say
// (3), people (4), router advertisements (9) and DHCP (16).
func OwnProtocol(protocol int) bool {
	return protocol != 0 && !slices.Contains([]int{1, 2, 3, 4, 9, 16}, protocol)
}

// Bare says that a selector is a table's number and nothing that proves whose a route in it is:
// tables are anybody's. It means no route.
func (m RouteSelector) Bare() bool { return m.weak() && !m.Pods }

// weak says that whoever uses the table may have such a route: link, type and protocol do not tell.
func (m RouteSelector) weak() bool {
	return m.Link == "" && (m.Type == "" || m.Type == "unicast") && !OwnProtocol(m.Protocol)
}

// Bare says that a selector has only the number of a table, which proves of no rule whose it is. It
// selects no rule.
func (m RuleSelector) Bare() bool { return m.weak() && m.Priority == 0 && !m.All }

// weak says that whoever uses the table may have such a rule.
func (m RuleSelector) weak() bool {
	own := m.Protocol == 2 || OwnProtocol(m.Protocol) // the kernel has no rules in tables of others
	return m.Mark == 0 && m.Mask == 0 && m.IIF == "" && !own && !m.Pods && !m.Numbered()
}

// Numbered says that priority, the main table and a destination are all set: together they are a
// network's own, for who writes such rules by hand takes a table of its own.
func (m RuleSelector) Numbered() bool {
	return m.Priority != 0 && m.To && m.Table == rtnl.MainTable
}

// ownRules tells which policy rules are the network's, and which tables somebody else uses: those
// that a rule of others leads to, and those that iproute2's files give another name. A table that
// they give the network's own name is the network's. A rule for every packet whose priority says
// nothing is the network's where the table is by name, or where nothing but its routes are.
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
	strange := map[int]bool{} // tables with routes that no selector names
	for _, r := range routes {
		if !r.OfMachine() && !l.selectsRoute(r, s) {
			strange[r.Table] = true
		}
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

func (l Residue) selectsRoute(r rtnl.Route, s Scope) bool {
	return slices.ContainsFunc(l.Routes, func(m RouteSelector) bool { return m.matches(r, s) })
}

// tableNames are the files that give tables names, later ones besides earlier ones (ip-route(8)).
var tableNames = []string{"/etc/iproute2/rt_tables", "/etc/iproute2/rt_tables.d/*.conf",
	"/usr/share/iproute2/rt_tables", "/usr/share/iproute2/rt_tables.d/*.conf",
	"/usr/lib/iproute2/rt_tables", "/usr/lib/iproute2/rt_tables.d/*.conf"}

// namedTables are the tables with a name: true where it is the network's, by its selectors of
// lines.
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
