package firewall

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// legacyReturn is XT_RETURN (-NF_REPEAT - 1). legacyErrorTarget begins each user-defined chain.
const (
	legacyReturn      = -5
	legacyErrorTarget = "ERROR"
	legacyTargetHead  = 32 // struct xt_entry_target: size, name of 29 bytes, revision
)

// legacyIPTChains reads the tables of ip_tables that this namespace has. A request for another
// table would create it and load its module.
func (n *Reader) legacyIPTChains(ctx context.Context) ([]IPTChain, error) {
	if err := n.ready(ctx); err != nil {
		return nil, err
	}
	var out []IPTChain
	for _, f := range legacyFamilies {
		for _, table := range f.tables() {
			chains, err := f.chains(table)
			if err != nil {
				return nil, fmt.Errorf("read table %s of ip_tables (%s): %w", table, f.name, err)
			}
			out = append(out, chains...)
		}
	}
	return out, nil
}

// chains reads all chains of a table. Built-in chains begin at the offsets of the hooks,
// user-defined ones with an error target. Each ends with an entry that is no rule: the policy, or a
// return.
func (f legacyFamily) chains(table string) ([]IPTChain, error) {
	info, entries, err := f.read(table)
	if err != nil {
		return nil, err
	}
	list, err := f.entries(entries)
	if err != nil {
		return nil, err
	}
	starts, builtin := map[int]string{}, map[int]bool{} // by the offset of the first rule
	for hook, name := range ipHooks {
		if at := int(info.HookEntry[hook]); info.ValidHooks&(1<<hook) != 0 {
			starts[at], builtin[at] = strings.ToUpper(name), true
		}
	}
	for i, e := range list {
		if e.chain != "" && i+1 < len(list) { // the last entry ends the table
			starts[list[i+1].at] = e.chain
		}
	}
	var out []IPTChain
	names := setNames{}
	for i, e := range list {
		if name, is := starts[e.at]; is {
			out = append(out, IPTChain{Backend: BackendLegacy, Family: f.name, Table: table, Name: name, Builtin: builtin[e.at]})
		}
		if len(out) == 0 || e.chain != "" || i+1 == len(list) || list[i+1].chain != "" || builtin[list[i+1].at] {
			continue // it begins or ends a chain
		}
		rule, err := f.identity(e, names)
		if err != nil {
			return nil, err
		}
		if rule.Target = e.target; e.target == "" {
			rule.Target = legacyTarget(e, starts)
		}
		c := &out[len(out)-1]
		rule.index = len(c.Rules)
		c.Rules = append(c.Rules, rule)
	}
	return out, nil
}

// identity reads the links, comments and sets of an entry.
func (f legacyFamily) identity(e legacyEntry, names setNames) (IPTRule, error) {
	// invflags comes after proto (2 bytes), [ip6: tos,] flags. Its bits 1 and 2 invert the matches
	// of the links (IPT_INV_VIA_IN, …_OUT).
	invert := e.head[f.invert]
	in, to := f.links(e)
	out := IPTRule{In: in.text(invert&1 != 0), Out: to.text(invert&2 != 0)}
	matches := e.matches
	for len(matches) >= legacyTargetHead {
		size := int(binary.NativeEndian.Uint16(matches))
		if size < legacyTargetHead || size > len(matches) {
			break
		}
		if unix.ByteSliceToString(matches[2:31]) == "comment" {
			out.Comments = append(out.Comments, unix.ByteSliceToString(matches[legacyTargetHead:size]))
		}
		if unix.ByteSliceToString(matches[2:31]) == "set" {
			set, err := names.name(matches[legacyTargetHead:size])
			if err != nil {
				return out, err
			}
			out.Sets = append(out.Sets, set)
		}
		matches = matches[size:]
	}
	return out, nil
}

// text returns the match in the syntax of iptables.
func (l linkMatch) text(not bool) string {
	if l.none() {
		return ""
	}
	out := unix.ByteSliceToString(l.name) // iptables stores the + of a prefix in the name
	if not {
		out = "! " + out
	}
	return out
}

// removeLegacyIPT removes rules and chains of one table by the programs of ip_tables, because only
// these write a table under the lock that all writers share. A rule is named by its whole text, as
// the program prints it.
func (w *Writer) removeLegacyIPT(ctx context.Context, gone []IPTRemoval) error {
	family, table := gone[0].Chain.Family, gone[0].Chain.Table
	program, err := w.legacyFind(ctx, family)
	if err != nil {
		return err
	}
	saved, err := w.legacySave(ctx, program, family, table)
	if err != nil {
		return err
	}
	now := saved.guarded()
	var batch, ends strings.Builder
	for _, r := range gone {
		rules := chainNamed(now, r.Chain.Name).rules
		if len(rules) != len(r.Chain.Rules) {
			return fmt.Errorf("another program changed %s meanwhile", r.Chain)
		}
		if r.Whole {
			fmt.Fprintf(&batch, "-F %s\n", r.Chain.Name)
			fmt.Fprintf(&ends, "-X %s\n", r.Chain.Name)
			continue
		}
		for _, rule := range r.Rules {
			fmt.Fprintf(&batch, "-D %s %s\n", r.Chain.Name, rules[rule.index].text)
		}
	}
	return w.legacyRestore(ctx, program, table, batch.String()+ends.String())
}

// legacySave reads a table by the save program.
func (w *Writer) legacySave(ctx context.Context, program, family, table string) (LegacyTable, error) {
	text, err := sys.RunLive(ctx, w.fw.live,
		sys.Command{Path: program + "-save", Args: []string{"-t", table}, Max: 64 << 20})
	return LegacyTable{family, table, string(text)}, err
}

// legacyRestore changes a table in one transaction. lines have the form of the save program.
func (w *Writer) legacyRestore(ctx context.Context, program, table, lines string) error {
	_, err := sys.RunLive(ctx, w.fw.live,
		sys.Command{Path: program + "-restore", Args: []string{"-w", "10", "--noflush", "-T", table},
			Stdin: []byte("*" + table + "\n" + lines + "COMMIT\n")})
	return err
}
