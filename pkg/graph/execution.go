package graph

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// execution is the state of one Run. All workers share it under one lock: under it, a worker
// finishes one node and takes the next.
type execution[N Node] struct {
	g     *Graph[N]
	opt   RunOptions
	visit func(context.Context, N) error

	workers sync.WaitGroup
	mu      sync.Mutex
	cond    sync.Cond // signals that ready grew, or that no node is left

	results []Result[N]           // by plan position, as are all fields below that are not by node
	ready   minHeap               // positions of nodes that can be visited now: see push
	first   []bool                // by position, the nodes that are taken before all others; nil: none
	missing []int32               // node → number of its incoming edges whose start is not finished
	root    []int32               // node → position of the node that blocks it, plus one; 0: it is not blocked
	pausing map[int32]*time.Timer // position → the timer that makes it ready again
	left    int                   // number of nodes that are not finished
}

func newExecution[N Node](g *Graph[N], opt RunOptions, visit func(context.Context, N) error) *execution[N] {
	x := &execution[N]{
		g: g, opt: opt, visit: visit,
		results: make([]Result[N], len(g.nodes)),
		missing: g.inDegrees(),
		ready:   make(minHeap, 0, len(g.nodes)),
		root:    make([]int32, len(g.nodes)),
		pausing: map[int32]*time.Timer{},
		left:    len(g.nodes),
	}
	x.cond.L = &x.mu
	x.markFirst()
	for at, id := range g.order {
		x.results[at].Node, x.results[at].Key = g.plan[at], g.name(id)
		if x.missing[id] == 0 {
			x.push(int32(at))
		}
	}
	return x
}

// markFirst marks the nodes that Run takes before all others: the slow ones, and the nodes that
// they come after.
func (x *execution[N]) markFirst() {
	if x.opt.First == nil {
		return
	}
	x.first = make([]bool, len(x.g.order))
	for at := len(x.g.order) - 1; at >= 0; at-- {
		id := x.g.order[at]
		x.first[at] = x.opt.First(x.g.nodes[id])
		for _, e := range x.g.out.of(id) {
			x.first[at] = x.first[at] || x.first[x.g.pos[x.g.edges[e].to]]
		}
	}
}

// push makes a position ready. A position that is taken first has a negative number in the heap.
func (x *execution[N]) push(at int32) {
	if x.first != nil && x.first[at] {
		at -= int32(len(x.first))
	}
	x.ready.push(at)
}

// pop takes the position that is next.
func (x *execution[N]) pop() int32 {
	at := x.ready.pop()
	if at < 0 {
		at += int32(len(x.first))
	}
	return at
}

func (x *execution[N]) run(ctx context.Context) {
	defer context.AfterFunc(ctx, x.endPauses)()
	for range min(x.opt.Limit, len(x.g.nodes)) {
		x.workers.Add(1)
		go x.work(ctx)
	}
	x.workers.Wait()
}

// work takes and visits nodes until none is left.
func (x *execution[N]) work(ctx context.Context) {
	visiting := int32(-1)
	defer func() {
		if visiting >= 0 { // the visit called runtime.Goexit, which cannot be stopped: a new worker takes over
			x.mu.Lock()
			x.finish(visiting, Failed,
				errors.New("the visit ended its goroutine (runtime.Goexit) and returned nothing"))
			x.mu.Unlock()
			go x.work(ctx)
			return
		}
		x.workers.Done()
	}()
	x.mu.Lock()
	for {
		for len(x.ready) == 0 && x.left > 0 {
			x.cond.Wait()
		}
		if x.left == 0 {
			x.mu.Unlock()
			return
		}
		at := x.pop()
		if x.finishUnvisited(ctx, at) {
			continue
		}
		res := &x.results[at]
		if res.Attempts == 0 && x.opt.OnStart != nil {
			x.opt.OnStart(res.Node)
		}
		res.Attempts++
		x.mu.Unlock()
		visiting = at
		start := time.Now()
		err := x.attempt(ctx, x.g.order[at])
		took := time.Since(start)
		visiting = -1
		x.mu.Lock()
		res.Took += took
		x.conclude(ctx, at, err)
	}
}

// finishUnvisited finishes a node that must not be visited, and reports that it did.
func (x *execution[N]) finishUnvisited(ctx context.Context, at int32) bool {
	res := &x.results[at]
	if root := x.root[x.g.order[at]]; root > 0 {
		cause := &x.results[root-1]
		res.Because = x.g.name(x.g.order[root-1])
		state := Skipped
		if cause.State == Waiting {
			state = Waiting
		}
		x.finish(at, state, &BlockedError{Because: res.Because, State: cause.State, Err: cause.Err})
		return true
	}
	if ctx.Err() == nil {
		return false
	}
	if res.Err != nil { // it was between two attempts
		x.finish(at, Cancelled, fmt.Errorf("cancelled: %w, while it paused after attempt %d, which met: %w",
			context.Cause(ctx), res.Attempts, res.Err))
	} else {
		x.finish(at, Cancelled, fmt.Errorf("cancelled: %w", context.Cause(ctx)))
	}
	return true
}

// conclude finishes a node by the error of its visit, or pauses it before the next attempt.
func (x *execution[N]) conclude(ctx context.Context, at int32, err error) {
	res := &x.results[at]
	kind := judge(err)
	switch {
	case err == nil:
		x.finish(at, Done, nil)
	case kind == waits:
		x.finish(at, Waiting, err)
	case kind == permanent:
		x.finish(at, Failed, err)
	case ctx.Err() != nil:
		x.finish(at, Cancelled, fmt.Errorf("cancelled: %w, while it ran: %w", context.Cause(ctx), err))
	case kind != transient:
		x.finish(at, Failed, err)
	case res.Attempts < x.opt.Retry.Attempts:
		res.Err = err
		x.pause(at)
	case res.Attempts > 1:
		x.finish(at, Failed, fmt.Errorf("gave up after attempt %d, last met: %w", res.Attempts, err))
	default:
		x.finish(at, Failed, err)
	}
}

// pause makes a node ready again after its back-off. No worker waits meanwhile.
func (x *execution[N]) pause(at int32) {
	res := &x.results[at]
	pause := x.opt.Retry.pause(res.Attempts)
	if x.opt.OnRetry != nil {
		x.opt.OnRetry(res.Node, res.Attempts, res.Err, pause)
	}
	x.pausing[at] = time.AfterFunc(pause, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.resume(at)
	})
}

// endPauses makes all paused nodes ready, so that they are finished as cancelled.
func (x *execution[N]) endPauses() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for at, timer := range x.pausing {
		timer.Stop()
		x.resume(at)
	}
}

// resume ends one pause, unless the timer or the cancellation has ended it before.
func (x *execution[N]) resume(at int32) {
	if _, still := x.pausing[at]; !still {
		return
	}
	delete(x.pausing, at)
	x.push(at)
	x.cond.Signal()
}

// finish records the result of a node and makes the nodes after it ready.
func (x *execution[N]) finish(at int32, state State, err error) {
	res, id := &x.results[at], x.g.order[at]
	res.State, res.Err = state, err
	x.left--
	blocks := x.root[id]
	if blocks == 0 && (state == Failed || state == Waiting) {
		blocks = at + 1
	}
	for _, e := range x.g.out.of(id) {
		edge := x.g.edges[e]
		if blocks > 0 && edge.why.Propagates() {
			x.root[edge.to] = x.worse(x.root[edge.to], blocks)
		}
		if x.missing[edge.to]--; x.missing[edge.to] == 0 {
			x.push(x.g.pos[edge.to])
			if len(x.ready) > 1 { // the worker that finishes takes the first of them itself
				x.cond.Signal()
			}
		}
	}
	if x.opt.OnDone != nil {
		x.opt.OnDone(Result[Node]{Node: res.Node, Key: res.Key, State: state, Err: err, Because: res.Because, Attempts: res.Attempts,
			Took: res.Took})
	}
	if x.left == 0 {
		x.cond.Broadcast()
	}
}

// worse returns which of two blocking nodes a result names: a failed one before a waiting one, then
// the first in plan order.
func (x *execution[N]) worse(a, b int32) int32 {
	switch {
	case a == 0:
		return b
	case x.results[a-1].State != x.results[b-1].State:
		if x.results[a-1].State == Failed {
			return a
		}
		return b
	}
	return min(a, b)
}
