// Package reconcile makes one pass: see what would change on a host, make it so, prove it, and
// write down how it ended.
//
//	session     the host, and what an earlier run left     looked at, or locked
//	desired     store → documents → tasks                  what is wanted, as a value
//	rollout     is it its turn?                            else what is in force
//	discover    what documents leave to others to say
//	ownership   whose is it, and what does nobody want     wanted and unwanted keys
//	execute     tasks × view → changes                     planned, upstream first
//	drift       which of them are repairs                  and which of those are not made now
//	guard       may any cut the node off?                  then a checkpoint
//	execute     changes × host                             applied; planned once more
//	probation   do the units come up with it?              else their files go back
//	ownership   what is ours now                           written down, with a revision
//
// A dry run is the same path without what follows guard: it holds a [host.View], which has no
// method that writes.
package reconcile
