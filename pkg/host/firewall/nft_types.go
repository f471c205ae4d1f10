package firewall

import "net/netip"

// Table is an nft table with the few features that a node's network needs. It is replaced as a
// whole, in one transaction. nft(8) explains the terms.
type Table struct {
	Family string // ip, ip6, inet (nat chains since Linux 5.2)
	Name   string
	Chains []Chain
}

// Chain is a base chain of a table: the kernel runs it at a hook.
type Chain struct {
	Name     string
	Type     string // filter, nat
	Hook     string // prerouting, input, forward, output, postrouting
	Priority int    // filter 0, dstnat -100, srcnat 100
	Policy   string // accept (also ""), drop
	Rules    []NFRule
}

// NFRule matches packets for which all set fields match, and then does Verdict. Negated matches
// have fields of their own, so that a rule has the same order as in nft's output.
//
// A rule of an inet table may have prefixes of both families: it then means one rule for each
// family. As in nft, a rule with prefixes of one family matches only packets of that family.
type NFRule struct {
	// Family, 4 or 6, limits the rule of an inet table to one family. Prefixes imply it.
	Family          int
	SrcIn, SrcNotIn []netip.Prefix
	DstIn, DstNotIn []netip.Prefix
	IIF, IIFNot     string // "cbr0"; a trailing * makes it a prefix
	OIF, OIFNot     string
	DstLocal        *bool    // fib daddr type local
	CTState         []string // invalid, established, related, new, untracked
	Verdict         string   // accept, drop, return, masquerade, masquerade fully-random, dnat
	// DNAT is the new destination for the verdict dnat; the port does not change. Such a rule can
	// only be written; when read, it is Unknown.
	DNAT    netip.Addr
	Comment string // at most 127 bytes
	// Unknown describes a rule that the agent cannot have written. Only reading sets it.
	Unknown string
}
