package firewall

import "net/netip"

// Table is an nft table, declared in the few terms that a node's network
// needs. It is replaced as a whole, in one transaction. nft(8) explains the terms.
type Table struct {
	Family string // ip, ip6, inet (with nat chains from Linux 5.2)
	Name   string
	Chains []Chain
}

// Chain is a base chain of a table: the kernel runs it at a hook.
type Chain struct {
	Name     string
	Type     string // filter, nat
	Hook     string // prerouting, input, forward, output, postrouting
	Priority int    // filter 0, dstnat -100, srcnat 100
	Policy   string // accept ("" too), drop
	Rules    []NFRule
}

// NFRule matches all that is set and then does Verdict. A negated match is a
// field of its own, so that a rule reads as nft prints it.
//
// Prefixes of both families may stand in one rule of an inet table: it then
// stands for a rule per family. As in nft, a rule with prefixes of one family
// matches packets of that family only.
type NFRule struct {
	// Family, 4 or 6, limits the rule to one family in an inet table. Implied by prefixes.
	Family          int
	SrcIn, SrcNotIn []netip.Prefix
	DstIn, DstNotIn []netip.Prefix
	IIF, IIFNot     string // "cbr0"; a trailing * matches by prefix
	OIF, OIFNot     string
	DstLocal        *bool    // fib daddr type local
	CTState         []string // invalid, established, related, new, untracked
	Verdict         string   // accept, drop, return, masquerade, masquerade fully-random, dnat
	// DNAT is where the verdict dnat sends a packet; the port stays. Such a rule is only written:
	// read back it is Unknown.
	DNAT    netip.Addr
	Comment string // at most 127 bytes
	// Unknown is set by reading only: what a rule is that could not have come from here.
	Unknown string
}
