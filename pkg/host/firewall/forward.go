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

// ForwardChain is a base chain at the forward hook. The kernel asks all of
// them about every packet that the host forwards, and one that drops is
// enough: an accept in another chain does not help (docs/adr/0002).
type ForwardChain struct {
	Backend string // BackendNFT or BackendLegacy
	Family  string // ip, ip6, inet
	Table   string
	Name    string
	Policy  string // accept, drop: what becomes of a packet that no rule decides on

	ours []forwardRule
}

// forwardRule is a rule of ours in a chain of others: it accepts what comes from a link, or what
// goes to it.
type forwardRule struct {
	link   string
	way    direction
	handle uint64 // of nft
}

// direction is where a forwarded packet meets a link.
type direction = expr.MetaKey

const (
	inward  direction = expr.MetaKeyIIFNAME // it comes from the link
	outward direction = expr.MetaKeyOIFNAME // it goes to the link
)

// The two packet filters of Linux that have a forward hook.
const (
	BackendNFT    = "nft"             // iptables-nft too
	BackendLegacy = "iptables-legacy" // ip_tables
)

// forwardMark is the comment of each rule that we put into a chain of others.
const forwardMark = "netwright"

// String names the chain as nft does; one of ip_tables by its program.
func (c ForwardChain) String() string {
	if c.Backend == BackendLegacy {
		return legacyProgram(c.Family) + "-legacy " + c.Table + " " + c.Name
	}
	return c.Family + " " + c.Table + " " + c.Name
}

// Accepts says that rules of ours accept what comes from a link and what goes to it.
func (c ForwardChain) Accepts(link string) bool { return len(c.missing(link)) == 0 }

// Names says that a rule of ours is for a link.
func (c ForwardChain) Names(link string) bool { return len(c.missing(link)) < 2 }

// missing are the directions in which no rule of ours accepts what meets a link.
func (c ForwardChain) missing(link string) []direction {
	return slices.DeleteFunc([]direction{inward, outward}, func(way direction) bool {
		return slices.ContainsFunc(c.ours, func(r forwardRule) bool { return r.link == link && r.way == way })
	})
}

// Concerns says that packets of a family (4 or 6) pass through the chain.
func (c ForwardChain) Concerns(family int) bool {
	return c.Family == "inet" || c.Family == "ip" && family == 4 || c.Family == "ip6" && family == 6
}

// ForwardChains implements host.Firewall. With an error it returns what could be read.
func (n *Reader) ForwardChains(ctx context.Context) ([]ForwardChain, error) {
	out, err := n.nftForward(ctx)
	legacy, errLegacy := legacyForward()
	if err := errors.Join(err, errLegacy); err != nil {
		return append(out, legacy...), fmt.Errorf("read the chains at the forward hook: %w", err)
	}
	return append(out, legacy...), nil
}

// ForwardPolicies says of each family, "ip" and "ip6", whether its forwarding is "drop" by one
// chain or more, or "accept".
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

// AcceptForward appends to a chain of others the rules that accept what comes
// from a link and what goes to it, marked as ours, unless they are there.
// Appended, they answer the chain's policy and none of its rules. It may be retried.
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

// DelForwardAccept removes every rule of ours for a link from the chains of
// others; absence is success. It may be retried.
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
