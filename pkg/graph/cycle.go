package graph

import "errors"

// maxCycles bounds how many cycles one error has: who broke more than that broke one thing in
// many places.
const maxCycles = 10

var errMoreCycles = errors.New("there are more cycles: mend these and look again")

// cycles finds cycles that share no node among what sort left over: missing is above zero there.
// Each is a shortest one through one of its nodes, written from its smallest node on.
func (g *Graph[N]) cycles(missing []int32, origin func(N) string) []error {
	var errs []error
	for id := 0; id < len(missing); id++ {
		if missing[id] == 0 {
			continue
		}
		if len(errs) == maxCycles {
			return append(errs, errMoreCycles)
		}
		cycle := g.shortest(g.walkBack(int32(id), missing), missing)
		errs = append(errs, g.cycleError(cycle, origin))
		g.release(cycle, missing)
		id = -1 // the smallest one left over may be behind us
	}
	return errs
}

// walkBack goes from node to a node before it until one comes again: that one is in a cycle. Each
// node left over has one left over before it.
func (g *Graph[N]) walkBack(id int32, missing []int32) int32 {
	seen := map[int32]bool{}
	for !seen[id] {
		seen[id] = true
		for _, at := range g.in.of(id) {
			if from := g.edges[at].from; missing[from] > 0 {
				id = from
				break
			}
		}
	}
	return id
}

// shortest is the edges of a shortest way from start back to itself, each ending where the one
// before it in the slice begins.
func (g *Graph[N]) shortest(start int32, missing []int32) []int32 {
	via := map[int32]int32{} // node → the edge by which it was reached first
	queue := []int32{start}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		for _, at := range g.out.of(id) {
			to := g.edges[at].to
			if _, reached := via[to]; reached || missing[to] == 0 {
				continue
			}
			via[to] = at
			if to == start {
				return trace(g.edges, via, start)
			}
			queue = append(queue, to)
		}
	}
	panic("graph: a node that sort left over and walkBack chose is in no cycle") //nolint:house noexit cannot be: walkBack came back to it
}

func trace(edges []edge, via map[int32]int32, start int32) []int32 {
	path := []int32{via[start]}
	for id := edges[via[start]].from; id != start; id = edges[via[id]].from {
		path = append(path, via[id])
	}
	return path
}

// cycleError writes a cycle from its smallest node on.
func (g *Graph[N]) cycleError(cycle []int32, origin func(N) string) *CycleError {
	first := 0
	for i, at := range cycle {
		if g.edges[at].to < g.edges[cycle[first]].to {
			first = i
		}
	}
	steps := make([]Step, 0, len(cycle))
	for i := range cycle {
		e := g.edges[cycle[(first+i)%len(cycle)]]
		steps = append(steps, Step{Key: g.name(e.to), Origin: origin(g.nodes[e.to]), Why: e.why, Via: g.keys[e.via]})
	}
	return &CycleError{Steps: steps}
}

// release takes the nodes of a cycle out, and all that was only behind them.
func (g *Graph[N]) release(cycle []int32, missing []int32) {
	queue := make([]int32, 0, len(cycle))
	for _, at := range cycle {
		queue = append(queue, g.edges[at].to)
		missing[g.edges[at].to] = 0
	}
	for len(queue) > 0 {
		id := queue[0]
		queue = queue[1:]
		for _, at := range g.out.of(id) {
			to := g.edges[at].to
			if missing[to] == 0 {
				continue
			}
			if missing[to]--; missing[to] == 0 {
				queue = append(queue, to)
			}
		}
	}
}
