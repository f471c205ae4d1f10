package firewall

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// RuleSet is everything in nf_tables, as messages of the kernel, like [netstate.State] for the
// network. So objects are restored with all attributes, also unknown ones. No program is needed to
// read or restore it. A table that is owned by a process is left out: the kernel removes it with
// the process. So is firewalld's table for its reload.
type RuleSet struct {
	Tables []SetTable `json:"tables"`
}

// SetTable is one table. The messages are without values that the kernel sets: handles and
// counters.
type SetTable struct {
	Family byte   `json:"family"` // the kernel's number
	Name   string `json:"name"`

	Table      []byte       `json:"table"`
	Chains     []SetChain   `json:"chains,omitempty"`
	Objects    [][]byte     `json:"objects,omitempty"`
	Flowtables [][]byte     `json:"flowtables,omitempty"`
	Sets       []SetMembers `json:"sets,omitempty"`

	at int // index of the chain whose rules are being read
}

// SetChain is a chain with its rules.
type SetChain struct {
	Name    string    `json:"name"`
	Base    bool      `json:"base,omitempty"`
	Bound   bool      `json:"bound,omitempty"` // to the rule that jumps to it: jump { … }
	Policy  string    `json:"policy,omitempty"`
	Message []byte    `json:"message"`
	Rules   []SetRule `json:"rules,omitempty"`
}

// SetRule is a rule, with the values that mendChains compares.
type SetRule struct {
	Message []byte `json:"message"`
	leads   string // the chain that it jumps to
	link    string // see [guardedRule]
	text    string // the whole rule without handle and counters
}

// SetMembers is a set and its elements, each as an attribute.
type SetMembers struct {
	Name     string   `json:"name"`
	Message  []byte   `json:"message"`
	Elements [][]byte `json:"elements,omitempty"`
}

// Attributes and flags that the library does not name (linux/netfilter/nf_tables.h).
const (
	nftTableHandle     = 4
	nftTableOwner      = 7
	nftChainFlags      = 10
	nftChainBound      = 1 << 2
	nftObjectHandle    = 6
	nftFlowtableUse    = 4
	nftFlowtableHandle = 5
	nftSetHandle       = 16
	nftSetType         = 19
	nftSetCount        = 20
	nftSetConcat       = 0x80
)

// RuleSet reads the rule set of one moment. It is empty if nf_tables is not loaded.
func (n *Reader) RuleSet(ctx context.Context) (out RuleSet, err error) {
	out.Tables, err = readNFT(ctx, n, "the nft rule set", nftSocket.ruleSet)
	return out, err
}

func (s nftSocket) ruleSet() ([]SetTable, error) {
	var tables []SetTable
	answers, err := s.ask("the tables", unix.NFT_MSG_GETTABLE, unix.NLM_F_DUMP, unix.NFPROTO_UNSPEC)
	if err != nil {
		return nil, err
	}
	for _, m := range answers {
		name := sys.AttributeText(m.body, unix.NFTA_TABLE_NAME)
		if m.family != 0 && sys.Attribute(m.body, nftTableOwner) == nil && name != reloadTable {
			tables = append(tables, SetTable{Family: m.family, Name: name,
				Table: sys.WithoutAttributes(m.body, unix.NFTA_TABLE_USE, nftTableHandle)})
		}
	}
	for _, kind := range []struct {
		what  string
		get   uint16
		table uint16
		add   func(t *SetTable, body []byte)
	}{
		{"the chains", unix.NFT_MSG_GETCHAIN, unix.NFTA_CHAIN_TABLE, (*SetTable).addChain},
		{"the rules", unix.NFT_MSG_GETRULE, unix.NFTA_RULE_TABLE, (*SetTable).addRule},
		{"the sets", unix.NFT_MSG_GETSET, unix.NFTA_SET_TABLE, (*SetTable).addSet},
		{"the objects", unix.NFT_MSG_GETOBJ, unix.NFTA_OBJ_TABLE, func(t *SetTable, body []byte) {
			t.Objects = append(t.Objects, sys.WithoutAttributes(body, unix.NFTA_OBJ_USE, nftObjectHandle))
		}},
		{"the flow tables", unix.NFT_MSG_GETFLOWTABLE, 1, func(t *SetTable, body []byte) {
			t.Flowtables = append(t.Flowtables, sys.WithoutAttributes(body, nftFlowtableUse, nftFlowtableHandle))
		}},
	} {
		answers, err := s.ask(kind.what, kind.get, unix.NLM_F_DUMP, unix.NFPROTO_UNSPEC)
		if kind.get >= unix.NFT_MSG_GETOBJ && (errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP)) {
			continue // an older kernel has none
		}
		if err != nil {
			return nil, err
		}
		for _, m := range answers {
			i := slices.IndexFunc(tables,
				func(t SetTable) bool { return t.Family == m.family && t.Name == sys.AttributeText(m.body, kind.table) })
			if i >= 0 {
				kind.add(&tables[i], m.body)
			}
		}
	}
	for i := range tables {
		for j := range tables[i].Sets {
			if err := s.elements(tables[i], &tables[i].Sets[j]); err != nil {
				return nil, err
			}
		}
	}
	return tables, nil
}

func (t *SetTable) addChain(body []byte) {
	c := SetChain{
		Name: sys.AttributeText(body, unix.NFTA_CHAIN_NAME), Base: sys.Attribute(body, unix.NFTA_CHAIN_HOOK) != nil,
		Bound: number(body, nftChainFlags)&nftChainBound != 0, Policy: chainPolicy(body),
		Message: sys.WithoutAttributes(body, unix.NFTA_CHAIN_HANDLE, unix.NFTA_CHAIN_USE, unix.NFTA_CHAIN_COUNTERS),
	}
	t.Chains = append(t.Chains, c)
}

func (t *SetTable) addRule(body []byte) {
	name := sys.AttributeText(body, unix.NFTA_RULE_CHAIN)
	for range t.Chains { // the kernel lists the rules chain by chain
		if c := &t.Chains[t.at]; c.Name == name {
			c.Rules = append(c.Rules, SetRule{Message: ruleMessage(body)})
			return
		}
		t.at = (t.at + 1) % len(t.Chains)
	}
}

func (t *SetTable) addSet(body []byte) {
	t.Sets = append(t.Sets, SetMembers{Name: sys.AttributeText(body, unix.NFTA_SET_NAME),
		Message: sys.WithoutAttributes(body, nftSetHandle, nftSetType, nftSetCount)})
}

// elements reads the elements of a set. For intervals, the kernel lists the end before the
// beginning, but accepts them only in the other order (net/netfilter/nft_set_rbtree.c).
func (s nftSocket) elements(t SetTable, of *SetMembers) error {
	answers, err := s.ask("the elements of set "+of.Name, unix.NFT_MSG_GETSETELEM, unix.NLM_F_DUMP, t.Family,
		sys.TextAttribute(unix.NFTA_SET_ELEM_LIST_TABLE, t.Name), sys.TextAttribute(unix.NFTA_SET_ELEM_LIST_SET, of.Name))
	if err != nil {
		return err
	}
	for _, m := range answers {
		sys.EachAttribute(sys.Attribute(m.body, unix.NFTA_SET_ELEM_LIST_ELEMENTS), func(_ uint16, whole, _ []byte) {
			of.Elements = append(of.Elements, elementMessage(whole))
		})
	}
	if flags := number(of.Message, unix.NFTA_SET_FLAGS); flags&unix.NFT_SET_INTERVAL != 0 && flags&nftSetConcat == 0 {
		slices.Reverse(of.Elements)
	}
	return nil
}

// counting are expressions whose values change by themselves.
var counting = []string{"counter", "quota", "last", "connlimit"}

// know sets the values that mendChains compares.
func (r *SetRule) know(family byte) {
	if r.text != "" {
		return
	}
	var words strings.Builder
	named, shuts := false, false
	sys.EachAttribute(sys.Attribute(r.Message, unix.NFTA_RULE_EXPRESSIONS), func(_ uint16, _, one []byte) {
		name, data := sys.AttributeText(one, unix.NFTA_EXPR_NAME), sys.Attribute(one, unix.NFTA_EXPR_DATA)
		fmt.Fprintf(&words, "%s ", name)
		if !slices.Contains(counting, name) {
			fmt.Fprintf(&words, "%x ", data)
		}
		shuts = shuts || name == "reject" || name == "queue"
		switch e := decodeExpr(family, name, data).(type) {
		case *expr.Verdict:
			r.leads, shuts = e.Chain, shuts || e.Kind == expr.VerdictDrop
		case *expr.Meta:
			named = e.Key == expr.MetaKeyIIFNAME || e.Key == expr.MetaKeyOIFNAME
		case *expr.Cmp:
			if named {
				r.link = string(bytes.TrimRight(e.Data, "\x00"))
			}
			named = false
		}
	})
	if shuts {
		r.link = ""
	}
	fmt.Fprintf(&words, "%x", sys.Attribute(r.Message, unix.NFTA_RULE_USERDATA))
	r.text = words.String()
}

// guarded returns the table in the form for [mendChains].
func (t *SetTable) guarded() (out []guardedChain) {
	for i := range t.Chains {
		c := &t.Chains[i]
		g := guardedChain{name: c.Name, base: c.Base, policy: c.Policy}
		for j := range c.Rules {
			r := &c.Rules[j]
			r.know(t.Family)
			g.rules = append(g.rules, guardedRule{r.text, cmp.Or(r.leads, t.Name), r.link, r.Message})
		}
		out = append(out, g)
	}
	return out
}

// ruleMessage returns a rule in the form that the kernel accepts. For an expression that adds to a
// set, the kernel lists a timeout of 0 if it has none, but a set without timeouts refuses any
// timeout (nft_dynset.c).
func ruleMessage(body []byte) []byte {
	expressions := sys.Attribute(body, unix.NFTA_RULE_EXPRESSIONS)
	if expressions == nil {
		return sys.WithoutAttributes(body, unix.NFTA_RULE_HANDLE, unix.NFTA_RULE_POSITION)
	}
	var all []byte
	sys.EachAttribute(expressions, func(_ uint16, whole, one []byte) {
		data := sys.Attribute(one, unix.NFTA_EXPR_DATA)
		timeout := sys.Attribute(data, unix.NFTA_DYNSET_TIMEOUT)
		if sys.AttributeText(one, unix.NFTA_EXPR_NAME) == "dynset" && len(timeout) == 8 && binary.BigEndian.Uint64(timeout) == 0 {
			data = sys.NestedAttribute(unix.NFTA_EXPR_DATA, sys.WithoutAttributes(data, unix.NFTA_DYNSET_TIMEOUT))
			whole = sys.NestedAttribute(unix.NFTA_LIST_ELEM, append(sys.WithoutAttributes(one, unix.NFTA_EXPR_DATA), data...))
		}
		all = append(all, whole...)
	})
	return append(sys.WithoutAttributes(body, unix.NFTA_RULE_HANDLE, unix.NFTA_RULE_POSITION, unix.NFTA_RULE_EXPRESSIONS),
		sys.NestedAttribute(unix.NFTA_RULE_EXPRESSIONS, all)...)
}

// elementMessage returns an element of a set in the form that the kernel accepts. For the end of an
// interval, the kernel lists the timeout of the set, but accepts none (nf_tables_api.c,
// nft_add_set_elem).
func elementMessage(whole []byte) []byte {
	body := whole[4:]
	if number(body, unix.NFTA_SET_ELEM_FLAGS)&unix.NFT_SET_ELEM_INTERVAL_END == 0 {
		return whole
	}
	return sys.NestedAttribute(unix.NFTA_LIST_ELEM,
		sys.WithoutAttributes(body, unix.NFTA_SET_ELEM_TIMEOUT, unix.NFTA_SET_ELEM_EXPIRATION))
}
