// Package agent is the life of the agent: load what is wanted, see what would
// change, make it so, prove it, and do so again.
//
//	Load   store → documents → tasks        [desired.State]
//	plan   tasks × view → changes           one visit of each task, upstream first
//	apply  planned again, applied, planned once more: the same tasks, in the same order
//
// A dry run is the same path without its last step: it holds a [host.View],
// which has no method that writes.
package agent
