package firewall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// LegacyTable is a table of ip_tables as the save program prints it.
type LegacyTable struct {
	Family string `json:"family"` // ip, ip6
	Table  string `json:"table"`
	Text   string `json:"text"`
}

// LegacyTables returns the tables of this namespace. It returns none if the program of ip_tables is
// not installed: another program may have written the tables, and the agent could not restore them.
func (w *Writer) LegacyTables(ctx context.Context) (out []LegacyTable, err error) {
	if err := w.fw.ready(ctx); err != nil {
		return nil, err
	}
	for _, f := range legacyFamilies {
		tables := f.tables()
		if len(tables) == 0 {
			continue // the tables are not in use
		}
		program, err := w.legacyFind(ctx, f.name)
		if err != nil {
			continue
		}
		for _, table := range tables {
			t, err := w.legacySave(ctx, program, f.name, table)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// RestoreLegacyTables restores tables as [Writer.RestoreRuleSet] restores those of iptables-nft:
// the chains at hooks, and other chains that are gone or empty. Each table is one transaction. left
// names the tables that failed. It may be retried.
func (w *Writer) RestoreLegacyTables(ctx context.Context, was []LegacyTable) (left []string, err error) {
	now, err := w.LegacyTables(ctx)
	if err != nil {
		return nil, err
	}
	for _, is := range now {
		before := LegacyTable{Family: is.Family, Table: is.Table}
		for _, t := range was {
			if t.Family == is.Family && t.Table == is.Table {
				before = t
			}
		}
		batch := legacyBatch(before, is)
		if batch == "" {
			continue
		}
		program, err := w.legacyFind(ctx, is.Family)
		if err == nil {
			err = w.legacyRestore(ctx, program, is.Table, batch)
		}
		if err != nil {
			if context.Cause(ctx) != nil {
				return left, err
			}
			left = append(left, fmt.Sprintf("table %s of ip_tables (%v)", is.Table, err))
			continue
		}
		sys.Changed(w.log, "table of ip_tables brought back")
	}
	return left, nil
}

// guarded returns the table in the form for [mendChains].
func (t LegacyTable) guarded() (out []guardedChain) {
	for line := range strings.Lines(t.Text) {
		line = strings.TrimSpace(line)
		if chain, is := strings.CutPrefix(line, ":"); is {
			words := strings.Fields(chain)
			c := guardedChain{name: words[0]}
			if len(words) > 1 && words[1] != "-" {
				c.base, c.policy = true, strings.ToLower(words[1])
			}
			out = append(out, c)
		}
		rule, is := strings.CutPrefix(line, "-A ")
		if !is {
			continue
		}
		name, text, _ := strings.Cut(rule, " ")
		r := guardedRule{text: text}
		words := strings.Fields(text)
		for i, word := range words[:max(len(words)-1, 0)] {
			switch word {
			case "-j", "-g":
				r.leads = words[i+1]
			case "-i", "-o":
				r.link = words[i+1]
			}
		}
		if r.leads != "ACCEPT" && r.leads != "MASQUERADE" {
			r.link = ""
		}
		if i := slices.IndexFunc(out, func(c guardedChain) bool { return c.name == name }); i >= 0 {
			out[i].rules = append(out[i].rules, r)
		}
	}
	return out
}

// legacyBatch returns the input for the restore program that restores a table; "" if nothing
// differs.
func legacyBatch(was, now LegacyTable) string {
	before, is := was.guarded(), now.guarded()
	mends := mendChains(before, is)
	var b, ends strings.Builder
	for _, m := range mends {
		builtin := chainNamed(is, m.name).base
		switch {
		case m.create && m.policy == "":
			fmt.Fprintf(&b, ":%s - [0:0]\n", m.name)
		case m.policy != "":
			fmt.Fprintf(&b, ":%s %s [0:0]\n", m.name, strings.ToUpper(m.policy))
		case m.drop && builtin:
			fmt.Fprintf(&b, ":%s ACCEPT [0:0]\n", m.name)
		}
		if (m.write || m.drop) && !m.create {
			fmt.Fprintf(&b, "-F %s\n", m.name)
		}
		if m.drop && !builtin {
			fmt.Fprintf(&ends, "-X %s\n", m.name)
		}
	}
	for _, m := range mends {
		for _, r := range m.rules {
			fmt.Fprintf(&b, "-A %s %s\n", m.name, r.text)
		}
	}
	return b.String() + ends.String()
}

// chainNamed returns a chain by name; the zero chain if there is none.
func chainNamed(list []guardedChain, name string) (out guardedChain) {
	if i := slices.IndexFunc(list, func(c guardedChain) bool { return c.name == name }); i >= 0 {
		out = list[i]
	}
	return out
}
