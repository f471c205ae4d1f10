package firewall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/nftables"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Table implements host.Firewall. Rules that could not have come from
// [Writer.ReplaceTable] have [NFRule.Unknown] set. Sets are not read: of
// themselves they do nothing, and a rule that uses one is unknown.
func (n *Reader) Table(ctx context.Context, family, name string) (Table, error) {
	number, ok := nftFamilies[family]
	if !ok {
		return Table{}, fmt.Errorf("read nft table %s: unknown family %q", name, family)
	}
	s, err := n.openNFT(ctx)
	if err != nil {
		return Table{}, err
	}
	defer s.Close()
	return consistent(ctx, s, "nft table "+family+" "+name, func() (Table, error) {
		_, err := s.ask("the table", unix.NFT_MSG_GETTABLE, 0, number,
			netlink.Attribute{Type: unix.NFTA_TABLE_NAME, Data: append([]byte(name), 0)})
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) {
			return Table{}, fmt.Errorf("nft table %s %s: %w", family, name, fs.ErrNotExist)
		}
		if err != nil {
			return Table{}, err
		}
		chains, err := s.chains(number)
		if err != nil {
			return Table{}, err
		}
		rules, err := s.rules(number, name, "")
		if err != nil {
			return Table{}, err
		}
		out := Table{Family: family, Name: name}
		for _, c := range chains {
			if c.table != name {
				continue
			}
			for _, r := range rules {
				if r.chain != c.Name {
					continue
				}
				c.Rules = append(c.Rules, decodeRule(family, r))
			}
			out.Chains = append(out.Chains, c.Chain)
		}
		return out, nil
	})
}

// ReplaceTable makes the table what t says, in one transaction: a packet sees
// the old table or the new one. Everything in a table of that name and family
// goes. It may be retried.
func (w *Writer) ReplaceTable(ctx context.Context, t Table) error {
	if err := t.Check(); err != nil {
		return err
	}
	t = t.Canonical()
	c, err := w.nft(ctx)
	if err != nil {
		return err
	}
	table := &nftables.Table{Family: nftFamilies[t.Family], Name: t.Name}
	// Adding first makes the deletion right whether or not the table is there.
	c.AddTable(table)
	c.DelTable(table)
	c.AddTable(table)
	for _, chain := range t.Chains {
		priority := nftables.ChainPriority(chain.Priority)
		policy := nftables.ChainPolicyAccept
		if chain.Policy == "drop" {
			policy = nftables.ChainPolicyDrop
		}
		to := c.AddChain(&nftables.Chain{
			Table: table, Name: chain.Name, Type: nftables.ChainType(chain.Type),
			Hooknum: nftHooks[chain.Hook], Priority: &priority, Policy: &policy,
		})
		for _, r := range chain.Rules {
			if r.Unknown != "" {
				return fmt.Errorf("write nft table %s %s: a rule that was only read cannot be written: %s", t.Family,
					t.Name, r.Unknown)
			}
			rule := &nftables.Rule{Table: table, Chain: to, Exprs: r.exprs(t.Family)}
			if r.Comment != "" {
				rule.UserData = userdata.AppendString(nil, userdata.TypeComment, r.Comment)
			}
			c.AddRule(rule)
		}
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("write nft table %s %s: %w", t.Family, t.Name, nftHint(err))
	}
	sys.Changed(w.log, "nft table written", zap.String("family", t.Family), zap.String("table", t.Name))
	return nil
}

// DelTable removes a table with all that is in it; absence is success. It may
// be retried.
func (w *Writer) DelTable(ctx context.Context, family, name string) error {
	return w.DelTableNamed(ctx, TableName{family, name})
}

// nft starts a transaction. The kernel loads nf_tables for it if need be.
func (w *Writer) nft(ctx context.Context) (*nftables.Conn, error) {
	if err := w.fw.ready(ctx); err != nil {
		return nil, err
	}
	// Asked by itself first: a batch that finds no nf_tables gets one answer for all its messages,
	// and the library would wait for the others.
	probe := newNFTSocket()
	defer probe.Close()
	if _, err := probe.generation(); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
		return nil, fmt.Errorf("this kernel has no nf_tables; load the module nf_tables: %w", err)
	} else if err != nil {
		return nil, nftHint(err)
	}
	return nftables.New(nftables.WithSockOptions(func(c *netlink.Conn) error { return nftDeadline(ctx, c) }))
}

// nftHint says what is missing where the kernel's word alone does not.
func nftHint(err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("CAP_NET_ADMIN is needed: %w", err)
	case errors.Is(err, unix.EPROTONOSUPPORT):
		return fmt.Errorf("this kernel has no nf_tables; load the module nf_tables: %w", err)
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("this kernel lacks an expression that the table needs (modules nft_masq, nft_fib_inet, "+
			"nft_ct, nft_chain_nat): %w", err)
	}
	return err
}
