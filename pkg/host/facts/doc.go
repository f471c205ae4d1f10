// Package facts looks once at what is true of a host for a whole pass: its kernel, its links and
// who manages them, the container runtime, kubelet, the cloud. [Gather] writes nothing, starts
// nobody and runs no program; what a node may well lack is left empty, and what is there and cannot
// be read is listed in [Facts.Problems].
package facts
