package firewall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
	"golang.org/x/sys/unix"
)

// nftIPTChains reads the tables of iptables-nft: those of the families ip and ip6 with the names of
// iptables' tables.
func (n *Reader) nftIPTChains(ctx context.Context) ([]IPTChain, error) {
	return n.nftChains(ctx, "chains of iptables", func(family, table string) bool {
		return (family == "ip" || family == "ip6") && isIPTTable(table)
	})
}

// NFTChains implements host.Firewall.
func (n *Reader) NFTChains(ctx context.Context, family, table string) ([]IPTChain, error) {
	out, err := n.nftChains(ctx, "chains of "+table, func(f, t string) bool { return f == family && t == table })
	if err != nil {
		return nil, fmt.Errorf("read nft table %s %s: %w", family, table, err)
	}
	return out, nil
}

func (n *Reader) nftChains(ctx context.Context, what string, in func(family, table string) bool) ([]IPTChain, error) {
	return readNFT(ctx, n, what, func(s nftSocket) ([]IPTChain, error) {
		chains, err := s.chains(unix.NFPROTO_UNSPEC)
		if err != nil {
			return nil, err
		}
		var out []IPTChain
		names, tables := setNames{}, map[nftTable]map[string][]rawRule{}
		for _, c := range chains {
			family := tableFamily(c.in.family)
			if !in(family, c.in.name) {
				continue
			}
			if tables[c.in] == nil {
				if tables[c.in], err = s.rulesByChain(c.in); err != nil {
					return nil, err
				}
			}
			found := IPTChain{Backend: BackendNFT, Family: family, Table: c.in.name, Name: c.Name, Builtin: c.Hook != ""}
			for _, r := range tables[c.in][c.Name] {
				rule, err := iptRule(r, names)
				if err != nil {
					return nil, err
				}
				found.Rules = append(found.Rules, rule)
			}
			out = append(out, found)
		}
		return out, nil
	})
}

// iptRule reads the fields that show which program wrote a rule. It leaves out expressions that it
// does not know; rules are removed by their handles.
func iptRule(raw rawRule, names setNames) (IPTRule, error) {
	out := IPTRule{handle: raw.handle}
	if raw.comment != "" {
		out.Comments = append(out.Comments, raw.comment)
	}
	for i, e := range raw.exprs {
		switch e := e.(type) {
		case *expr.Match:
			if text, is := e.Info.(*xt.Comment); is {
				out.Comments = append(out.Comments, string(*text))
			}
			if data, is := e.Info.(*xt.Unknown); is && e.Name == "set" {
				set, err := names.name(*data)
				if err != nil {
					return out, err
				}
				out.Sets = append(out.Sets, set)
			}
		case *expr.Target:
			out.Target = e.Name
		case *expr.Masq:
			out.Target = "MASQUERADE"
		case *expr.Verdict:
			out.Target = iptVerdict(e)
		case *expr.Meta:
			cmp, is := at[*expr.Cmp](raw.exprs, i+1)
			if !is {
				continue
			}
			switch e.Key {
			case expr.MetaKeyIIFNAME:
				out.In = iptLink(cmp)
			case expr.MetaKeyOIFNAME:
				out.Out = iptLink(cmp)
			}
		}
	}
	return out, nil
}

func iptVerdict(v *expr.Verdict) string {
	switch v.Kind {
	case expr.VerdictAccept:
		return "ACCEPT"
	case expr.VerdictDrop:
		return "DROP"
	case expr.VerdictReturn:
		return "RETURN"
	}
	return v.Chain
}

// iptLink returns a comparison with a link's name in the syntax of iptables.
func iptLink(cmp *expr.Cmp) string {
	name := string(bytes.TrimRight(cmp.Data, "\x00"))
	if len(name) == len(cmp.Data) && len(name) < unix.IFNAMSIZ {
		name += "+" // without a NUL it is a prefix
	}
	if cmp.Op == expr.CmpOpNeq {
		name = "! " + name
	}
	return name
}

// removeNFTIPT removes rules and chains of one table in one transaction.
func (w *Writer) removeNFTIPT(ctx context.Context, gone []IPTRemoval) error {
	b := nftBatch{family: TableFamilies[gone[0].Chain.Family], table: gone[0].Chain.Table}
	// First all rules are removed, and whole chains emptied: a chain that a rule jumps to is busy.
	for _, r := range gone {
		if r.Whole {
			b.onRules(unix.NFT_MSG_DELRULE, 0, r.Chain.Name)
			continue
		}
		for _, rule := range r.Rules {
			b.removeRule(r.Chain.Name, rule.handle)
		}
	}
	for _, r := range gone {
		if r.Whole {
			b.onChain(unix.NFT_MSG_DELCHAIN, 0, r.Chain.Name)
		}
	}
	err := w.transact(ctx, b)
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("another program changed the table meanwhile: %w", err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("rules that stay still jump to %s: %w", wholeChains(gone), err)
	}
	return nftHint(err)
}

func wholeChains(gone []IPTRemoval) []string {
	var out []string
	for _, r := range gone {
		if r.Whole {
			out = append(out, r.Chain.Name)
		}
	}
	slices.Sort(out)
	return out
}
