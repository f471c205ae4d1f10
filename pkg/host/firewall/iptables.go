package firewall

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// IPTChain is a chain of iptables-nft or of legacy iptables. It has only the fields that show which
// network wrote the chain; the network and its programs may be gone.
type IPTChain struct {
	Backend string // BackendNFT or BackendLegacy
	Family  string // ip, ip6
	Table   string // raw, mangle, nat, filter, security
	Name    string
	Builtin bool // INPUT, FORWARD …: never removed
	Rules   []IPTRule
}

// IPTRule has the fields of a rule that show which program wrote it.
type IPTRule struct {
	Target   string   // chain of a jump or goto, or iptables' name of the target; "": none
	Comments []string // several are possible: Felix writes its hash and an explanation
	In, Out  string   // as iptables writes links: "eth0", "cali+", "! lo"; "": any
	Sets     []string // the ipsets that it matches

	handle uint64 // nft's handle
	index  int    // legacy iptables: index in its chain, from 0
}

// String names the chain with its program, so that a person can look it up.
func (c IPTChain) String() string {
	program := legacyProgram(c.Family)
	if c.Backend == BackendLegacy {
		program += "-legacy"
	} else {
		program += "-nft"
	}
	return program + " -t " + c.Table + " " + c.Name
}

// String returns the fields of a rule in the syntax of iptables.
func (r IPTRule) String() string {
	var out []string
	add := func(flag, value string) {
		if value != "" {
			out = append(out, flag+" "+value)
		}
	}
	add("-i", r.In)
	add("-o", r.Out)
	add("--match-set", strings.Join(r.Sets, " "))
	for _, comment := range r.Comments {
		add("--comment", strconv.Quote(comment))
	}
	add("-j", r.Target)
	return strings.Join(out, " ")
}

// iptTables are the tables of iptables in the order in which packets pass through them.
var iptTables = []string{"raw", "mangle", "nat", "filter", "security"}

// IPTChains implements host.Firewall.
func (n *Reader) IPTChains(ctx context.Context) ([]IPTChain, error) {
	out, err := n.nftIPTChains(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the chains of iptables: %w", err)
	}
	legacy, err := n.legacyIPTChains(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the chains of iptables: %w", err)
	}
	return append(out, legacy...), nil
}

// IPTRemoval is what to remove from one chain: some of its rules, or the whole chain.
type IPTRemoval struct {
	Chain IPTChain // as returned by [Reader.IPTChains]
	Whole bool     // the chain itself; not for a built-in one
	Rules []IPTRule
}

// RemoveIPT removes rules and chains of iptables. All removals from one table of one program and
// family are one transaction. Rules of other chains that jump to a removed chain must be removed,
// too, or the kernel refuses. If another program has changed a chain since it was read, this is an
// error, and nothing of that table is removed: read the chains again and retry.
func (w *Writer) RemoveIPT(ctx context.Context, gone []IPTRemoval) error {
	for _, r := range gone {
		if r.Whole && r.Chain.Builtin {
			return fmt.Errorf("remove %s: a built-in chain is never removed", r.Chain)
		}
	}
	for rest := gone; len(rest) > 0; {
		of := rest[0].Chain
		var batch, others []IPTRemoval
		for _, r := range rest {
			if c := r.Chain; c.Backend == of.Backend && c.Family == of.Family && c.Table == of.Table {
				batch = append(batch, r)
			} else {
				others = append(others, r)
			}
		}
		remove := w.removeNFTIPT
		if of.Backend == BackendLegacy {
			remove = w.removeLegacyIPT
		}
		if err := remove(ctx, batch); err != nil {
			return fmt.Errorf("remove from table %s of iptables (%s, %s): %w", of.Table, of.Family, of.Backend, err)
		}
		for _, r := range batch {
			sys.Changed(w.log, "iptables rules removed", zap.Stringer("chain", r.Chain), zap.Bool("whole", r.Whole),
				zap.Int("rules", len(r.Rules)))
		}
		rest = others
	}
	return nil
}

// isIPTTable reports whether iptables has a table of this name.
func isIPTTable(name string) bool { return slices.Contains(iptTables, name) }
