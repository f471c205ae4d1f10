// Package residue reads and removes what only the clean-up after a network asks the kernel for:
// eBPF programs that are attached without a pin, services of IPVS, policies and states of IPsec,
// Open vSwitch, and addresses of the machine that a network moved to a link of its own. What a
// network leaves of it, and in which order it goes, is of package cleanup.
//
// [Reader] has no method that writes, and loads no module.
package residue
