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

// reloadTable is firewalld's own table while it starts or reloads: the table drops new connections,
// and firewalld removes it when its rules are there. Nobody else adds rules to it or restores it.
// https://github.com/firewalld/firewalld/blob/v1.3.3/src/firewall/core/nftables.py
const reloadTable = "firewalld_policy_drop"

// nftForward lists the base chains of nf_tables at the forward hook. It lists none if nf_tables is
// not loaded.
func (n *Reader) nftForward(ctx context.Context) ([]ForwardChain, error) {
	return readNFT(ctx, n, "forward chains", func(s nftSocket) ([]ForwardChain, error) {
		chains, err := s.chains(unix.NFPROTO_UNSPEC)
		if err != nil {
			return nil, err
		}
		var out []ForwardChain
		for _, c := range chains {
			family := tableFamily(c.in.family)
			if !slices.Contains(ipFamilies, family) || c.Hook != "forward" || c.Type != "filter" || c.in.name == reloadTable {
				continue
			}
			found := ForwardChain{Backend: BackendNFT, Family: family, Table: c.in.name, Name: c.Name, Policy: c.Policy}
			rules, err := s.rules(c.in, c.Name)
			if err != nil {
				return nil, err
			}
			for _, r := range rules {
				if one, is := ourForwardRule(r); is {
					found.ours = append(found.ours, one)
				}
			}
			out = append(out, found)
		}
		return out, nil
	})
}

// ourForwardRule recognises a rule of the agent: a link's name, the agent's comment, accept, and
// nothing else. iptables-save and iptables-restore rewrite the rule in the form of iptables, with a
// counter, the comment as a match, and less padding of the name. It is still the agent's rule.
func ourForwardRule(r rawRule) (ours forwardRule, is bool) {
	if !r.decodable() || len(r.exprs) < 3 {
		return ours, false
	}
	meta, isMeta := at[*expr.Meta](r.exprs, 0)
	cmp, isCmp := at[*expr.Cmp](r.exprs, 1)
	verdict, isVerdict := at[*expr.Verdict](r.exprs, len(r.exprs)-1)
	if !isMeta || !isCmp || !isVerdict || cmp.Op != expr.CmpOpEq || verdict.Kind != expr.VerdictAccept ||
		meta.Key != inward && meta.Key != outward {
		return ours, false
	}
	comment := r.comment
	for _, e := range r.exprs[2 : len(r.exprs)-1] {
		switch e := e.(type) {
		case *expr.Counter:
		case *expr.Match:
			text, is := e.Info.(*xt.Comment)
			if !is {
				return ours, false
			}
			comment = string(*text)
		default:
			return ours, false
		}
	}
	name := bytes.TrimRight(cmp.Data, "\x00")
	// Without a NUL after it, the name is a prefix that matches many links.
	if comment != forwardMark || len(name) == len(cmp.Data) && len(name) < unix.IFNAMSIZ {
		return ours, false
	}
	return forwardRule{string(name), meta.Key, r.handle}, true
}

// nftAccept appends rules. They have a counter, as rules of iptables have, so that `iptables -D`
// also finds them.
func (w *Writer) nftAccept(ctx context.Context, c ForwardChain, link string, ways []direction) error {
	if len(link) == 0 || len(link) > maxLinkName {
		return fmt.Errorf("%q cannot be the name of a link", link)
	}
	b := nftBatch{family: TableFamilies[c.Family], table: c.Table}
	for _, way := range ways {
		exprs := append(nameExprs(way, expr.CmpOpEq, link), &expr.Counter{}, nftVerdicts["accept"])
		if err := b.appendRule(c.Name, exprs, forwardMark); err != nil {
			return err
		}
	}
	return nftHint(w.transact(ctx, b))
}

// nftUnaccept removes a rule by its handle.
func (w *Writer) nftUnaccept(ctx context.Context, c ForwardChain, handle uint64) error {
	b := nftBatch{family: TableFamilies[c.Family], table: c.Table}
	b.removeRule(c.Name, handle)
	if err := w.transact(ctx, b); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove a rule from %s: %w", c, nftHint(err))
	}
	return nil
}
