package firewall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// decode decodes a rule's expressions one by one. The library would leave out expressions that it
// does not know, and a rule with an unknown expression would look like one of the agent's.
func (r *rawRule) decode(family byte, body []byte) {
	sys.EachAttribute(sys.Attribute(body, unix.NFTA_RULE_EXPRESSIONS), func(_ uint16, _, one []byte) {
		name := sys.AttributeText(one, unix.NFTA_EXPR_NAME)
		r.names = append(r.names, name)
		r.exprs = append(r.exprs, decodeExpr(family, name, sys.Attribute(one, unix.NFTA_EXPR_DATA)))
	})
}

func decodeExpr(family byte, name string, data []byte) expr.Any {
	var e expr.Any
	switch name {
	case "meta":
		e = &expr.Meta{}
	case "payload":
		e = &expr.Payload{}
	case "cmp":
		e = &expr.Cmp{}
	case "bitwise":
		e = &expr.Bitwise{}
	case "fib":
		e = &expr.Fib{}
	case "ct":
		e = &expr.Ct{}
	case "masq":
		e = &expr.Masq{}
	case "counter":
		e = &expr.Counter{}
	case "match":
		e = &expr.Match{}
	case "target":
		e = &expr.Target{}
	case "immediate":
		// An immediate expression without a verdict has an address or a port for the next
		// expression. It is treated as unknown.
		var i expr.Immediate
		if expr.Unmarshal(family, data, &i) != nil || i.Register != unix.NFT_REG_VERDICT {
			return nil
		}
		e = &expr.Verdict{}
	default:
		return nil
	}
	if expr.Unmarshal(family, data, e) != nil {
		return nil
	}
	return e
}

// decodable reports whether all expressions of the rule are known.
func (r *rawRule) decodable() bool { return !slices.Contains(r.exprs, nil) }

func (r *rawRule) describe() string {
	words := strings.Join(r.names, " ")
	if r.comment != "" {
		words += fmt.Sprintf(" comment %q", r.comment)
	}
	return words
}
