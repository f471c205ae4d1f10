// Package firewall reads and writes the packet filter of a network namespace: nft tables, chains of
// iptables in both flavours, ipsets and what the forward hooks let through. Reading loads no
// module.
//
// [Reader] has no method that writes. [Writer] replaces a table of ours as a whole, removes what is
// named to it, and brings a rule set back that was read before. It knows no link and no route.
package firewall
