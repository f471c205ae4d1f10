// Package facts reads once what is true of a host for a whole pass: its kernel, its links and their
// managers, the container runtime, kubelet, the cloud. [Gather] writes nothing, starts no service
// and runs no program. Things that a node need not have are left empty. Things that exist and
// cannot be read are listed in [Facts.Problems].
//
// # Files
//
//   - the facts, and how a pass gathers them: facts, gather, gatherer, sources
//   - the operating system and its kernel: os, kernel, architecture, sysctl_files
//   - links and what manages them: links, link_managers, forward_policy, google_guest_agent
//   - the container runtime and its configuration: runtime*, loaded_cni_conf
//   - kubelet, and how units and their commands are read: kubelet, unit_command, unit_files
//   - other programs of the machine: service_state, versions, other_agents
//   - the cloud and its metadata service: cloud, imds, instance
package facts
