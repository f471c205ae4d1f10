// Package rtnl reads and changes the links, addresses, routes, rules and neighbours of a network
// namespace over rtnetlink. It also creates network namespaces and veth pairs.
//
// [Reader] has no method that writes. [Writer] refuses changes that would cut the node off: see
// [Writer.DelLink]. Package firewall has the packet filter, package host the link managers.
package rtnl
