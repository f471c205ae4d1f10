// Package cleanup finds what networks left on a node, and takes it away: units, addresses, eBPF
// programs, rules, routes, IPVS services, chains, sets, links, files. A network lists it in its own
// file, such as pkg/model/network/kubeproxy.go, as selectors, each an exact name or mark; nothing
// is flushed, and what only resembles stays (docs/adr/0008). Begin reading at [Selection]: it is
// the residue that task [tasks.Cleanup] takes away, phase by phase.
package cleanup
