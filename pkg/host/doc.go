// Package host and the packages below it are the only ones that touch the machine: files, sysctls,
// modules, netlink, nft, systemd, exec and facts. Each package below it has a Reader and a Writer
// for one part of the host (docs/adr/0025). This package puts the parts together.
//
// It has two main types. [View] reads and has no method that writes, so the type system keeps a
// plan from writing. [Host] can also write; only the apply step of a pass holds one. [Pending] puts
// the planned changes of upstream tasks over a view. So a dry run knows, for example, that a link
// will exist when a task sets an address on it.
//
// It protects from partly written files (see hostfs/batch.go) and from paths that lead out of the
// given root (see hostpath/open.go). It does not protect from another program that writes the same
// keys at the same time: the next pass sees such a write as drift.
//
// # Files
//
//   - View and Host: view, host, options, facts_aliases
//   - a view with planned changes, and one that asks the kernel once: pending, pending_view,
//     snapshot
//   - networkd and NetworkManager: link_managers, unmanage_links
//   - which programs run, and who is logged in: writing_programs, process, login
//   - the time since the boot, and waits: clock
//   - which machine and which boot it is: machine_id, boot_args
//   - single questions and actions: runtime, run_cni_plugin, unit_state, residue, diagnose
package host
