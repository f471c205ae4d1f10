package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/problem"
)

// Table implements host.Firewall. Rules that [Writer.ReplaceTable] cannot have written have
// [NFRule.Unknown] set. Sets are not read: they do nothing alone, and a rule that uses one is
// unknown.
func (n *Reader) Table(ctx context.Context, family, name string) (Table, error) {
	if !slices.Contains(ipFamilies, family) {
		return Table{}, fmt.Errorf("read nft table %s: unknown family %q", name, family)
	}
	table := nftTable{TableFamilies[family], name}
	found, err := readNFT(ctx, n, "nft table "+family+" "+name, func(s nftSocket) ([]Table, error) {
		_, err := s.ask("the table", unix.NFT_MSG_GETTABLE, unix.NLM_F_ACK, table.family, sys.TextAttribute(unix.NFTA_TABLE_NAME, name))
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		chains, err := s.chains(table.family)
		if err != nil {
			return nil, err
		}
		rules, err := s.rulesByChain(table)
		if err != nil {
			return nil, err
		}
		out := Table{Family: family, Name: name}
		for _, c := range chains {
			if c.in != table {
				continue
			}
			for _, r := range rules[c.Name] {
				c.Rules = append(c.Rules, decodeRule(family, r))
			}
			out.Chains = append(out.Chains, c.Chain)
		}
		return []Table{out}, nil
	})
	if err != nil {
		return Table{}, err
	}
	if len(found) == 0 {
		return Table{}, problem.Missing("there is no nft table %s %s", family, name)
	}
	return found[0], nil
}

// ReplaceTable replaces a table by t in one transaction: a packet passes through either the old
// table or the new one. Everything in the old table of that name and family is removed. It may be
// retried.
func (w *Writer) ReplaceTable(ctx context.Context, t Table) error {
	if err := t.Check(); err != nil {
		return err
	}
	t = t.Canonical()
	b := nftBatch{family: TableFamilies[t.Family], table: t.Name}
	// The table is created first, so that its removal succeeds even if it did not exist.
	b.makeTable()
	b.removeTable()
	b.makeTable()
	for _, chain := range t.Chains {
		hook := append(numberAttribute(unix.NFTA_HOOK_HOOKNUM, uint32(slices.Index(ipHooks, chain.Hook))),
			numberAttribute(unix.NFTA_HOOK_PRIORITY, uint32(chain.Priority))...)
		b.onChain(unix.NFT_MSG_NEWCHAIN, netlink.Create, chain.Name, sys.TextAttribute(unix.NFTA_CHAIN_TYPE, chain.Type),
			sys.NestedAttribute(unix.NFTA_CHAIN_HOOK, hook), policyAttribute(chain.Policy))
		for _, r := range chain.Rules {
			if r.Unknown != "" {
				return fmt.Errorf("write nft table %s %s: a rule that was only read cannot be written: %s", t.Family,
					t.Name, r.Unknown)
			}
			if err := b.appendRule(chain.Name, r.exprs(t.Family), r.Comment); err != nil {
				return fmt.Errorf("write nft table %s %s: %w", t.Family, t.Name, err)
			}
		}
	}
	if err := w.transact(ctx, b); err != nil {
		return fmt.Errorf("write nft table %s %s: %w", t.Family, t.Name, nftHint(err))
	}
	sys.Changed(w.log, "nft table written", zap.String("family", t.Family), zap.String("table", t.Name))
	return nil
}

// nftHint adds what is missing to errors that do not say it.
func nftHint(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("CAP_NET_ADMIN is needed: %w", err)
	case errors.Is(err, unix.EPROTONOSUPPORT), errors.Is(err, unix.EOPNOTSUPP) && !Loaded("/"):
		return fmt.Errorf("this kernel has no nf_tables; load the module nf_tables: %w", err)
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("this kernel lacks an expression that the table needs (modules nft_masq, nft_fib_inet, "+
			"nft_ct, nft_chain_nat): %w", err)
	}
	return err
}
