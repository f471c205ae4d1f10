package firewall

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// The kernel lists some attributes that it does not take back.

// ruleMessage is a rule as the kernel takes it. An expression that adds to a set is listed with a
// timeout of 0 where it has none, and a set without timeouts refuses any (nft_dynset.c).
func ruleMessage(body []byte) []byte {
	expressions := sys.Attribute(body, unix.NFTA_RULE_EXPRESSIONS)
	if expressions == nil {
		return without(body, unix.NFTA_RULE_HANDLE, unix.NFTA_RULE_POSITION)
	}
	var all []byte
	sys.EachAttribute(expressions, func(_ uint16, whole, one []byte) {
		data := sys.Attribute(one, unix.NFTA_EXPR_DATA)
		timeout := sys.Attribute(data, unix.NFTA_DYNSET_TIMEOUT)
		if sys.AttributeText(one, unix.NFTA_EXPR_NAME) == "dynset" && len(timeout) == 8 && binary.BigEndian.Uint64(timeout) == 0 {
			data = nested(unix.NFTA_EXPR_DATA, without(data, unix.NFTA_DYNSET_TIMEOUT))
			whole = nested(unix.NFTA_LIST_ELEM, append(without(one, unix.NFTA_EXPR_DATA), data...))
		}
		all = append(all, whole...)
	})
	return append(without(body, unix.NFTA_RULE_HANDLE, unix.NFTA_RULE_POSITION, unix.NFTA_RULE_EXPRESSIONS),
		nested(unix.NFTA_RULE_EXPRESSIONS, all)...)
}

// elementMessage is an element of a set as the kernel takes it. The end of an interval is listed
// with the timeout of its set, and has none (nf_tables_api.c, nft_add_set_elem).
func elementMessage(whole []byte) []byte {
	body := whole[4:]
	if number(body, unix.NFTA_SET_ELEM_FLAGS)&unix.NFT_SET_ELEM_INTERVAL_END == 0 {
		return whole
	}
	return nested(unix.NFTA_LIST_ELEM,
		without(body, unix.NFTA_SET_ELEM_TIMEOUT, unix.NFTA_SET_ELEM_EXPIRATION))
}

// without is a message without some attributes.
func without(body []byte, kinds ...uint16) (out []byte) {
	sys.EachAttribute(body, func(is uint16, whole, _ []byte) {
		if !slices.Contains(kinds, is) {
			out = append(out, whole...)
		}
	})
	return out
}
