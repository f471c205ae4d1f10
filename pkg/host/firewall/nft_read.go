package firewall

import (
	"bytes"
	"fmt"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// rawRule is a rule as the kernel has it.
type rawRule struct {
	chain   string
	handle  uint64
	exprs   []expr.Any // nil for those that are not among ours; names has them all
	names   []string
	comment string
}

// rawChain is a base chain, or one without a hook, and its table.
type rawChain struct {
	Chain
	family nftables.TableFamily
	table  string
}

// chains lists the chains of a family, in order.
func (s nftSocket) chains(family nftables.TableFamily) ([]rawChain, error) {
	answers, err := s.ask("chains", unix.NFT_MSG_GETCHAIN, netlink.Dump, family)
	if err != nil {
		return nil, err
	}
	var out []rawChain
	for _, m := range answers {
		ad, err := nftAttributes(m)
		if err != nil {
			return nil, err
		}
		c := rawChain{family: nftables.TableFamily(m.Data[0])}
		for ad.Next() {
			switch ad.Type() {
			case unix.NFTA_CHAIN_TABLE:
				c.table = ad.String()
			case unix.NFTA_CHAIN_NAME:
				c.Name = ad.String()
			case unix.NFTA_CHAIN_TYPE:
				c.Type = ad.String()
			case unix.NFTA_CHAIN_POLICY:
				c.Policy = "accept"
				if ad.Uint32() == uint32(nftables.ChainPolicyDrop) {
					c.Policy = "drop"
				}
			case unix.NFTA_CHAIN_HOOK:
				ad.Nested(func(hook *netlink.AttributeDecoder) error {
					for hook.Next() {
						switch hook.Type() {
						case unix.NFTA_HOOK_HOOKNUM:
							c.Hook = hookName(hook.Uint32())
						case unix.NFTA_HOOK_PRIORITY:
							c.Priority = int(int32(hook.Uint32()))
						}
					}
					return hook.Err()
				})
			}
		}
		if err := ad.Err(); err != nil {
			return nil, fmt.Errorf("read an nft chain: %w", err)
		}
		out = append(out, c)
	}
	return out, nil
}

// hookName is a hook of the families ip, ip6 and inet.
func hookName(number uint32) string {
	for name, hook := range nftHooks {
		if uint32(*hook) == number {
			return name
		}
	}
	return fmt.Sprint(number)
}

// rules lists the rules of a table, or of one of its chains, in order.
func (s nftSocket) rules(family nftables.TableFamily, table, chain string) ([]rawRule, error) {
	of := []netlink.Attribute{{Type: unix.NFTA_RULE_TABLE, Data: append([]byte(table), 0)}}
	if chain != "" {
		of = append(of, netlink.Attribute{Type: unix.NFTA_RULE_CHAIN, Data: append([]byte(chain), 0)})
	}
	answers, err := s.ask("rules", unix.NFT_MSG_GETRULE, netlink.Dump, family, of...)
	if err != nil {
		return nil, err
	}
	var out []rawRule
	for _, m := range answers {
		ad, err := nftAttributes(m)
		if err != nil {
			return nil, err
		}
		var r rawRule
		owner := ""
		for ad.Next() {
			switch ad.Type() {
			case unix.NFTA_RULE_TABLE:
				owner = ad.String()
			case unix.NFTA_RULE_CHAIN:
				r.chain = ad.String()
			case unix.NFTA_RULE_HANDLE:
				r.handle = ad.Uint64()
			case unix.NFTA_RULE_EXPRESSIONS:
				ad.Nested(func(list *netlink.AttributeDecoder) error { return r.decode(byte(family), list) })
			case unix.NFTA_RULE_USERDATA:
				if text := userdata.Get(ad.Bytes(), userdata.TypeComment); text != nil {
					r.comment = string(bytes.TrimRight(text, "\x00"))
				}
			}
		}
		if err := ad.Err(); err != nil {
			return nil, fmt.Errorf("read a rule of nft table %s: %w", table, err)
		}
		// Old kernels do not filter, neither by table nor by chain.
		if owner == table && (chain == "" || r.chain == chain) {
			out = append(out, r)
		}
	}
	return out, nil
}
