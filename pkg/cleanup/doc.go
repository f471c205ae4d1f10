// Package cleanup finds and removes what networks leave on a node: units, addresses, eBPF
// programs, rules, routes, IPVS services, chains, sets, links, files. Each network lists its
// residue in its own file, such as pkg/model/network/kubeproxy.go, as selectors with an exact name
// or mark. Nothing is flushed, and what only looks similar stays (docs/adr/0008). Begin reading at
// [Selection]: it is the residue that the task [tasks.Cleanup] removes, phase by phase.
//
// # Files
//
//   - the order in which residue is found and removed: find_and_remove
//   - the selectors, how lists of them combine, and their text: residue*, patterns, describe
//   - whether the network or mode that follows is in force: active_mode
//   - one kind of residue each: *
package cleanup
