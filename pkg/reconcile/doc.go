// Package reconcile makes one pass: see what would change on a host, make it so, prove it, and
// write down how it ended.
//
//	desired   store → documents → tasks     what is wanted, as a value
//	execute   tasks × view → changes        planned, upstream first; applied; planned once more
//	drift     which of them are repairs     and which of those are not made now
//
// A dry run is the same path without its last step: it holds a [host.View],
// which has no method that writes.
package reconcile
