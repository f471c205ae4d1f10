package model

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/tasks"
)

// dump returns the golden form of a plan. It has one block for each task, with all values that may
// be wrong.
func dump(ts []tasks.Task, notes []Note) string {
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "note %s [%s] %s\n", n.Level, n.Origin, n.Text)
	}
	for _, t := range ts {
		m := t.Base()
		fmt.Fprintf(&b, "%s%s [%s] %s\n", kind(t), keys(t.Owns()), m.From, m.Why)
		line(&b, "overrides", m.Overrides)
		line(&b, "refused", m.Refused)
		line(&b, "needs", keys(tasks.NeedsOf(t)))
		line(&b, "asks", keys(tasks.EffectsOf(t)))
		if m.At != graph.BeforeKubelet {
			line(&b, "gate", " "+m.At.String())
		}
		if m.Secret {
			line(&b, "secret", " yes")
		}
		for _, d := range details(t) {
			b.WriteString("  " + d + "\n")
		}
	}
	return b.String()
}

func line(b *strings.Builder, name, value string) {
	if value != "" {
		fmt.Fprintf(b, "  %s %s\n", name, strings.TrimSpace(value))
	}
}

func kind(t tasks.Task) string {
	return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", t), "tasks."))
}

func keys(ks []graph.Key) string {
	var b strings.Builder
	for _, k := range ks {
		b.WriteString(" " + string(k))
	}
	return b.String()
}

func details(t tasks.Task) []string {
	switch t := t.(type) {
	case tasks.Directory:
		return []string{fmt.Sprintf("mode %04o", t.Mode)}
	case tasks.File:
		if t.Stored != nil {
			t.Content, _ = t.Stored.Bytes()
		}
		return append([]string{fmt.Sprintf("mode %04o owner %q", t.Mode, t.Owner)}, content(t.Content)...)
	case tasks.Unit:
		return content(t.Content)
	case tasks.DropIn:
		return content(t.Content)
	case tasks.UnitState:
		line := fmt.Sprintf("enabled %s active %s masked %s noblock %v", tristate(t.Enabled), tristate(t.Active), tristate(t.Masked), t.NoBlock)
		if t.Within != 0 {
			line += fmt.Sprintf(" within %s", t.Within)
		}
		return []string{line}
	case tasks.Archive:
		return append([]string{fmt.Sprintf("%s %s %s mode %04o owner %s", t.Name, t.Sum.Algorithm(), t.Sum, t.Mode, t.Owner)}, t.URLs...)
	case tasks.CertificateSet:
		var out []string
		for _, f := range []tasks.CertFile{t.CA, t.Cert, t.Key} {
			out = append(out, fmt.Sprintf("%s/%s mode %04o %s", t.Dir, f.Name, f.Mode, []byte(f.PEM)))
		}
		if k := t.Kubeconfig; k != nil {
			out = append(out, fmt.Sprintf("%s mode %04o for %s", k.Path, k.Mode, k.Server))
		}
		if t.Source != "" {
			out = append(out, fmt.Sprintf("source %s other CA %v server %v", t.Source, t.OtherCA, t.Server))
		}
		if t.Issue != "" {
			out = append(out, t.Issue)
		}
		return append(out, fmt.Sprintf("owner %s CN %q retain %v", t.Owner, t.CommonName, t.RetainOnRelease))
	case tasks.TOMLKey:
		return []string{fmt.Sprintf("[%s] %s = %q", strings.Join(t.Table, " . "), t.Key, t.Value)}
	case tasks.Sysctl:
		return []string{fmt.Sprintf("= %s%s", t.Value, optional(t.Optional))}
	case tasks.Module:
		if t.Optional {
			return []string{"optional"}
		}
		return nil
	case tasks.Mount:
		return []string{fmt.Sprintf("%s on %s type %s", t.What, t.Where, t.Type)}
	}
	return netDetails(t)
}

func netDetails(t tasks.Task) []string {
	switch t := t.(type) {
	case tasks.Link:
		return []string{fmt.Sprintf("%s mtu %d up %v mac %s", t.Kind, t.MTU, t.Up, t.MAC)}
	case tasks.Route:
		return []string{fmt.Sprintf("%s %s via %s dev %s table %d proto %d", t.Type, t.Dst, t.Gateway, t.Link, t.Table, t.Protocol)}
	case tasks.Table:
		return chains(t.Table)
	case tasks.ForwardAccept:
		return []string{fmt.Sprintf("families %v", t.Families)}
	case tasks.WaitConf:
		return []string{fmt.Sprintf("%s in %s by %q, plugins in %v, first only %v", t.File, t.Dir, t.Writer, t.BinDirs, t.FirstOnly)}
	case tasks.Await:
		return []string{"waiting for " + t.Reason + keys(t.Retains)}
	}
	return nil
}

func chains(t firewall.Table) []string {
	var out []string
	for _, c := range t.Chains {
		out = append(out, fmt.Sprintf("chain %s type %s hook %s priority %d policy %s", c.Name, c.Type, c.Hook, c.Priority, c.Policy))
		for _, r := range c.Rules {
			out = append(out, fmt.Sprintf("  src %s not-dst %s not-out %q %s", prefixes(r.SrcIn), prefixes(r.DstNotIn), r.OIFNot, r.Verdict))
		}
	}
	return out
}

func prefixes(ps []netip.Prefix) string { return strings.Trim(fmt.Sprint(ps), "[]") }

func optional(yes bool) string {
	if yes {
		return " (optional)"
	}
	return ""
}

func tristate(b *bool) string {
	if b == nil {
		return "as it is"
	}
	return fmt.Sprint(*b)
}

func content(data []byte) []string {
	var out []string
	for l := range strings.Lines(string(data)) {
		out = append(out, "| "+strings.TrimSuffix(l, "\n"))
	}
	return out
}
