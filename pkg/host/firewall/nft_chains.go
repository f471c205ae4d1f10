package firewall

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/google/nftables/expr"
	"github.com/google/nftables/userdata"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// rawRule is a rule as the kernel lists it.
type rawRule struct {
	chain   string
	handle  uint64
	exprs   []expr.Any // nil for unknown expressions; names has all of them
	names   []string
	comment string
}

// rawChain is a chain, with or without a hook, and its table.
type rawChain struct {
	Chain
	in nftTable
}

// chains lists the chains of a family, in order.
func (s nftSocket) chains(family byte) ([]rawChain, error) {
	answers, err := s.ask("chains", unix.NFT_MSG_GETCHAIN, unix.NLM_F_DUMP, family)
	if err != nil {
		return nil, err
	}
	out := make([]rawChain, 0, len(answers))
	for _, m := range answers {
		body := m.body
		c := rawChain{in: nftTable{m.family, sys.AttributeText(body, unix.NFTA_CHAIN_TABLE)}}
		c.Name, c.Type = sys.AttributeText(body, unix.NFTA_CHAIN_NAME), sys.AttributeText(body, unix.NFTA_CHAIN_TYPE)
		c.Policy = chainPolicy(body)
		if hook := sys.Attribute(body, unix.NFTA_CHAIN_HOOK); hook != nil {
			c.Hook = hookName(number(hook, unix.NFTA_HOOK_HOOKNUM))
			c.Priority = int(int32(number(hook, unix.NFTA_HOOK_PRIORITY)))
		}
		out = append(out, c)
	}
	return out, nil
}

// chainPolicy returns the policy of a chain; "" for a chain without a hook.
func chainPolicy(body []byte) string {
	switch {
	case sys.Attribute(body, unix.NFTA_CHAIN_POLICY) == nil:
		return ""
	case number(body, unix.NFTA_CHAIN_POLICY) == policyDrop:
		return "drop"
	}
	return "accept"
}

// hookName returns the name of a hook of the families ip, ip6 and inet.
func hookName(number uint32) string {
	if int(number) < len(ipHooks) {
		return ipHooks[number]
	}
	return fmt.Sprint(number)
}

// nftTable identifies a table.
type nftTable struct {
	family byte
	name   string
}

// rulesByChain returns all rules of a table in order, by the name of their chain. It makes one
// request, because kube-proxy has three chains for each service.
func (s nftSocket) rulesByChain(t nftTable) (map[string][]rawRule, error) {
	rules, err := s.rules(t, "")
	if err != nil {
		return nil, err
	}
	out := map[string][]rawRule{}
	for _, r := range rules {
		out[r.chain] = append(out[r.chain], r)
	}
	return out, nil
}

// rules lists the rules of a table, or of one of its chains, in order.
func (s nftSocket) rules(t nftTable, chain string) ([]rawRule, error) {
	of := [][]byte{sys.TextAttribute(unix.NFTA_RULE_TABLE, t.name)}
	if chain != "" {
		of = append(of, sys.TextAttribute(unix.NFTA_RULE_CHAIN, chain))
	}
	answers, err := s.ask("rules", unix.NFT_MSG_GETRULE, unix.NLM_F_DUMP, t.family, of...)
	if err != nil {
		return nil, err
	}
	var out []rawRule
	for _, m := range answers {
		body := m.body
		r := rawRule{chain: sys.AttributeText(body, unix.NFTA_RULE_CHAIN)}
		// Old kernels filter neither by table nor by chain.
		if sys.AttributeText(body, unix.NFTA_RULE_TABLE) != t.name || chain != "" && r.chain != chain {
			continue
		}
		if handle := sys.Attribute(body, unix.NFTA_RULE_HANDLE); len(handle) == 8 {
			r.handle = binary.BigEndian.Uint64(handle)
		}
		comment := userdata.Get(sys.Attribute(body, unix.NFTA_RULE_USERDATA), userdata.TypeComment)
		r.comment = string(bytes.TrimRight(comment, "\x00"))
		r.decode(t.family, body)
		out = append(out, r)
	}
	return out, nil
}
