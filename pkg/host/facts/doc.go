// Package facts reads once what is true of a host for a whole pass: its kernel, its links and their
// managers, the container runtime, kubelet, the cloud. [Gather] writes nothing, starts no service
// and runs no program. Things that a node need not have are left empty. Things that exist and
// cannot be read are listed in [Facts.Problems].
package facts
