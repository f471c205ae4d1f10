// Package reconcile makes one pass. It plans what would change on a host, applies that, probes the
// result, and writes down how the pass ended.
//
//	session     opens the host, ends an earlier run        to look, or under the lock
//	desired     store → documents → tasks                  what is wanted, as a value
//	rollout     may the new configuration be applied?      if not: the one in force
//	discover    what the documents leave to others         asks the API and the cloud
//	ownership   whose key is it; what is unwanted          wanted and unwanted keys
//	execute     tasks × view → changes                     planned, upstream first
//	drift       which changes are repairs                  and which are not made now
//	guard       may a change cut the node off?             then a checkpoint
//	execute     changes × host                             applied, and planned once more
//	probation   do the units start with the change?        if not: their files are restored
//	ownership   what is ours now                           the ledger, with a revision
//
// A dry run takes the same path up to guard. It holds a [host.View], which has no method that
// writes.
package reconcile
