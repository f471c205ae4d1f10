package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/nftables/expr"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// ForwardChain is a base chain at the forward hook. Each packet that the host forwards passes
// through all of these chains. If one chain drops the packet, an accept in another does not help
// (docs/adr/0002).
type ForwardChain struct {
	Backend string // BackendNFT or BackendLegacy
	Family  string // ip, ip6, inet
	Table   string
	Name    string
	Policy  string // accept, drop: for a packet that no rule decides on

	ours []forwardRule
}

// forwardRule is a rule of the agent in a chain of another program. It accepts packets from a link,
// or packets to it.
type forwardRule struct {
	link   string
	way    direction
	handle uint64 // nft's handle
}

// direction says whether a forwarded packet comes from a link or goes to it.
type direction = expr.MetaKey

const (
	inward  direction = expr.MetaKeyIIFNAME // from the link
	outward direction = expr.MetaKeyOIFNAME // to the link
)

// The two packet filters of Linux that have a forward hook.
const (
	BackendNFT    = "nft"             // also iptables-nft
	BackendLegacy = "iptables-legacy" // ip_tables
)

// forwardMark is the comment of each rule that the agent adds to chains of other programs.
const forwardMark = "netwright"

// String names the chain as nft does, or a chain of legacy iptables with the program's name.
func (c ForwardChain) String() string {
	if c.Backend == BackendLegacy {
		return legacyProgram(c.Family) + "-legacy " + c.Table + " " + c.Name
	}
	return c.Family + " " + c.Table + " " + c.Name
}

// Accepts reports whether rules of the agent accept packets both from a link and to it.
func (c ForwardChain) Accepts(link string) bool { return len(c.missing(link)) == 0 }

// Names reports whether any rule of the agent is for a link.
func (c ForwardChain) Names(link string) bool { return len(c.missing(link)) < 2 }

// missing returns the directions of a link for which the agent has no rule.
func (c ForwardChain) missing(link string) []direction {
	return slices.DeleteFunc([]direction{inward, outward}, func(way direction) bool {
		return slices.ContainsFunc(c.ours, func(r forwardRule) bool { return r.link == link && r.way == way })
	})
}

// Concerns reports whether packets of a family (4 or 6) pass through the chain.
func (c ForwardChain) Concerns(family int) bool {
	return c.Family == "inet" || c.Family == "ip" && family == 4 || c.Family == "ip6" && family == 6
}

// ForwardChains implements host.Firewall. On an error it also returns what it could read.
func (n *Reader) ForwardChains(ctx context.Context) ([]ForwardChain, error) {
	out, err := n.nftForward(ctx)
	legacy, errLegacy := legacyForward()
	if err := errors.Join(err, errLegacy); err != nil {
		return append(out, legacy...), fmt.Errorf("read the chains at the forward hook: %w", err)
	}
	return append(out, legacy...), nil
}

// ForwardPolicies returns for each family, "ip" and "ip6", "drop" if the policy of any forward
// chain is drop, else "accept".
func (n *Reader) ForwardPolicies(ctx context.Context) (map[string]string, error) {
	chains, err := n.ForwardChains(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{"ip": "accept", "ip6": "accept"}
	for _, c := range chains {
		for name, family := range map[string]int{"ip": 4, "ip6": 6} {
			if c.Policy == "drop" && c.Concerns(family) {
				out[name] = "drop"
			}
		}
	}
	return out, nil
}

// AcceptForward appends to a chain of another program the rules that accept packets from and to a
// link, unless the rules exist. They have the agent's comment. As they are at the end, they
// override the chain's policy, but none of its rules. It may be retried.
func (w *Writer) AcceptForward(ctx context.Context, c ForwardChain, link string) error {
	chains, err := w.fw.ForwardChains(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(chains, func(o ForwardChain) bool { return o.String() == c.String() })
	if i < 0 {
		return fmt.Errorf("accept forwarding for %s: the chain %s is no longer there", link, c)
	}
	missing := chains[i].missing(link)
	if len(missing) == 0 {
		return nil
	}
	if c.Backend == BackendLegacy {
		err = w.legacyRules(ctx, "-A", c.Family, link, missing)
	} else {
		err = w.nftAccept(ctx, c, link, missing)
	}
	if err != nil {
		return fmt.Errorf("accept forwarding for %s in %s: %w", link, c, err)
	}
	sys.Changed(w.log, "forwarding accepted", zap.String("link", link), zap.Stringer("chain", c))
	return nil
}

// DelForwardAccept removes the agent's rules for a link from the chains of other programs; missing
// rules are success. It may be retried.
func (w *Writer) DelForwardAccept(ctx context.Context, link string) error {
	chains, err := w.fw.ForwardChains(ctx)
	failed := []error{err}
	for _, c := range chains {
		for _, r := range c.ours {
			switch {
			case r.link != link:
			case c.Backend == BackendLegacy:
				failed = append(failed, w.legacyRules(ctx, "-D", c.Family, link, []direction{r.way}))
			default:
				failed = append(failed, w.nftUnaccept(ctx, c, r.handle))
			}
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("remove the rules that accept forwarding for %s: %w", link, err)
	}
	return nil
}
