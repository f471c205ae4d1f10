package firewall

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// The kernel lists some attributes that it does not accept.

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
