// Package residue reads and removes what only cleanup after a network needs: eBPF programs that are
// attached without a pin, IPVS services, IPsec policies and states, Open vSwitch, and addresses of
// the machine that a network has moved to its own link. Package cleanup decides what is removed,
// and in which order.
//
// [Reader] has no method that writes, and it loads no module.
package residue
