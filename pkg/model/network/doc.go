// Package network holds the networks that Netwright knows: one value each, in one file each, in one
// list ([All]).
//
// A network is data first: who writes its CNI conf, which plugins, modules and sysctls it needs,
// what the machine's other services must leave alone, what it leaves behind. What data cannot say
// is in its Build function, which is pure: the same input gives the same tasks, and nothing is
// asked of the host but its facts.
//
// The package does not order tasks across the node and writes nothing node-wide: that is package
// model.
package network
