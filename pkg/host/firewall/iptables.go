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

// IPTChain is a chain of iptables, of either flavour, as far as it shows whose
// it is. Networks that wrote one may be gone, their programs too.
type IPTChain struct {
	Backend string // BackendNFT or BackendLegacy
	Family  string // ip, ip6
	Table   string // raw, mangle, nat, filter, security
	Name    string
	Builtin bool // INPUT, FORWARD …: never removed
	Rules   []IPTRule
}

// IPTRule is a rule as far as it shows whose it is.
type IPTRule struct {
	Target   string   // the chain that it jumps or goes to, or the target in iptables' word; "" none
	Comments []string // a rule may have several: Felix writes its hash and an explanation
	In, Out  string   // links as iptables writes them: "eth0", "cali+", "! lo"; "" any
	Sets     []string // the ipsets that it asks

	handle uint64 // of nft
	index  int    // of ip_tables: in its chain, from 0
}

// String names the chain by its program, so that a person can look it up.
func (c IPTChain) String() string {
	program := legacyProgram(c.Family)
	if c.Backend == BackendLegacy {
		program += "-legacy"
	} else {
		program += "-nft"
	}
	return program + " -t " + c.Table + " " + c.Name
}

// String is the part of a rule that shows whose it is, in iptables' words.
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

// iptTables are the tables of iptables in the order in which packets meet them.
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

// IPTRemoval is what is to go from one chain: some of its rules, or all of it.
type IPTRemoval struct {
	Chain IPTChain // as [Reader.IPTChains] read it
	Whole bool     // the chain itself; not for a built-in one
	Rules []IPTRule
}

// RemoveIPT takes rules and chains out of iptables, all of one table of one
// flavour and family in one transaction. Rules elsewhere that jump to a chain
// that goes must be among what goes, else the kernel refuses. What was changed
// by others since it was read is an error, and then nothing of that table has
// gone; read again and retry.
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

// isIPTTable says that a table's name is one of iptables'.
func isIPTTable(name string) bool { return slices.Contains(iptTables, name) }
