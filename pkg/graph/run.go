package graph

import (
	"context"
	"runtime"
	"time"
)

// RunOptions of Run; the zero value is fine. The hooks are called one at a time, in the order of
// what happened, and scheduling waits for them: they must be quick, and must not wait for a visit.
type RunOptions struct {
	// Limit is how many visits run at the same time at most. 0: GOMAXPROCS. With 1 the visits run
	// in plan order, but for what First says.
	Limit int
	// First says which nodes take long, such as a download: of the nodes that are ready, they and
	// what they come after go before all others. nil: none.
	First func(Node) bool
	// Deadline is how long one attempt at a node may take; 0: as long as it likes. When it comes,
	// the context of the visit ends, and what the visit then returns becomes a transient
	// *DeadlineError, unless it is nil, a wait, or marked Permanent.
	Deadline func(Node) time.Duration
	// Retry is for transient errors. A node that pauses holds no place within Limit.
	Retry Backoff
	// OnStart is called with a node before its first visit. What is never visited never starts.
	OnStart func(Node)
	// OnRetry is called with a node whose visit will be made again: how many were made, what the
	// last one met, and the pause.
	OnRetry func(n Node, attempts int, err error, pause time.Duration)
	// OnDone is called with each node once, when it is finished.
	OnDone func(Result[Node])
}

// Run visits every node once what it needs is done, at most Limit at a time, and returns when all
// are finished. There are no rounds: of the nodes that are ready, the first in plan order goes
// next, unless [RunOptions.First] says otherwise. What a visit wrote may be read without a lock by
// the visits of all that come after it (one happens before the other), so that a plan may build on
// the pending changes of what is upstream.
//
// An error without a mark fails the node and skips what needs it; Transient, Permanent and Wait say
// otherwise. A visit that panics or calls runtime.Goexit fails its node and nothing else. When ctx
// ends, nothing more is started, and Run returns when the running visits did: they must heed their
// context.
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
