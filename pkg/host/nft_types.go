package host

import "net/netip"

// Table is an nft table, declared in the few terms that a node's network
// needs. It is replaced as a whole, in one transaction.
type Table struct {
	Family string // ip, ip6, inet
	Name   string
	Chains []Chain
}

// Chain is a chain of a table; with a Hook it is a base chain.
type Chain struct {
	Name     string
	Type     string // filter, nat
	Hook     string // prerouting, input, forward, output, postrouting; "" for none
	Priority int
	Policy   string // accept, drop
	Rules    []NFRule
}

// NFRule matches all that is set and then does Verdict. A negated match is a
// field of its own, so that a rule reads as nft prints it.
type NFRule struct {
	SrcIn, SrcNotIn []netip.Prefix
	DstIn, DstNotIn []netip.Prefix
	IIF, IIFNot     string // "cbr0"; a trailing * matches by prefix
	OIF, OIFNot     string
	DstLocal        *bool // fib daddr type local
	CTState         []string
	Verdict         string // accept, drop, return, masquerade
	Comment         string
}
