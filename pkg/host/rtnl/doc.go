// Package rtnl reads and changes the links, addresses, routes, rules and neighbours of a network
// namespace over rtnetlink, makes namespaces, and brings a state back that was read before.
//
// [Reader] has no method that writes. [Writer] refuses what would cut the node off, see
// [Writer.DelLink]. It knows no packet filter; who manages a link stands above.
package rtnl
