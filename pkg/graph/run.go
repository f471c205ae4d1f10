package graph

import (
	"context"
	"runtime"
	"time"
)

// RunOptions are the options of Run; the zero value is valid. Run calls the hooks one at a time, in
// the order of events, and does not schedule meanwhile: they must be quick, and must not wait for a
// visit.
type RunOptions struct {
	// Limit is how many visits may run at the same time. 0: GOMAXPROCS. With 1 the visits run in
	// plan order, except for First.
	Limit int
	// First reports which nodes take long, such as a download. Among the ready nodes Run takes
	// these, and the nodes that they come after, before all others. Nil: none.
	First func(Node) bool
	// Deadline is the time limit of one attempt at a node; 0: none. At the deadline the context of
	// the visit ends. The error of the visit then becomes a transient *DeadlineError, unless it is
	// nil, a wait, or marked Permanent.
	Deadline func(Node) time.Duration
	// Retry is for transient errors. A paused node does not count for Limit.
	Retry Backoff
	// OnStart is called before the first visit of a node. It is not called for a node without a
	// visit.
	OnStart func(Node)
	// OnRetry is called with a node that will be visited again: the number of attempts, the error
	// of the last one, and the pause.
	OnRetry func(n Node, attempts int, err error, pause time.Duration)
	// OnDone is called once for each node, when it is finished.
	OnDone func(Result[Node])
}

// Run visits each node when what it needs is done, at most Limit nodes at a time, and returns when
// all are finished. There are no rounds: of the ready nodes, the first in plan order is next,
// unless [RunOptions.First] says otherwise. A visit happens before the visits of all nodes that
// come after it: these may read what it wrote without a lock, so that a plan may build on pending
// changes.
//
// An error without a mark fails the node and skips what needs it; Transient, Permanent and Wait
// change that. A visit that panics or calls runtime.Goexit fails only its node. When ctx ends, Run
// starts no more visits and returns when the running ones have ended: visits must end when their
// context does.
func Run[N Node](ctx context.Context, g *Graph[N], opt RunOptions, visit func(context.Context, N) error) Report[N] {
	if opt.Limit <= 0 {
		opt.Limit = runtime.GOMAXPROCS(0)
	}
	x := newExecution(g, opt, visit)
	x.run(ctx)
	return Report[N]{Results: x.results}
}

// attempt makes one visit within its deadline.
func (x *execution[N]) attempt(ctx context.Context, id int32) (err error) {
	node := x.g.nodes[id]
	defer func() {
		if v := recover(); v != nil {
			err = Permanent(&PanicError{Key: x.g.name(id), Value: v, Stack: callers()})
		}
	}()
	if x.opt.Deadline == nil {
		return x.visit(ctx, node)
	}
	limit := x.opt.Deadline(node)
	if limit <= 0 {
		return x.visit(ctx, node)
	}
	within := &deadline{Context: ctx, at: time.Now().Add(limit), late: DeadlineError{Key: x.g.name(id), Deadline: limit}}
	defer within.stop()
	err = x.visit(within, node)
	if kind := judge(err); err == nil || kind == permanent || kind == waits || context.Cause(within) != &within.late {
		return err
	}
	return Transient(&DeadlineError{Key: within.late.Key, Deadline: limit, Err: err})
}
