package graph

import "errors"

// maxCycles bounds how many cycles one error has: who broke more than that broke one thing in
// many places.
const maxCycles = 10

var errMoreCycles = errors.New("there are more cycles: mend these and look again")

// cycles finds cycles that share no node among what sort left over: missing is above zero there.
// Each is a shortest one through its smallest node, and written from there on. What is only behind
// a cycle is in none.
func (g *Graph[N]) cycles(missing []int32, origin func(N) string) []error {
	var errs []error
	for id := range missing {
		cycle := g.shortest(int32(id), missing)
		if cycle == nil {
			continue
		}
		if len(errs) == maxCycles {
			return append(errs, errMoreCycles)
		}
		told := &CycleError{}
		for _, at := range cycle {
			e := g.edges[at]
			told.Steps = append(told.Steps,
				Step{Key: g.name(e.to), Origin: origin(g.nodes[e.to]), Why: e.why, Via: g.keys[e.via]})
			missing[e.to] = 0
		}
		errs = append(errs, told)
	}
	return errs
}

// shortest is the edges of a shortest way from start back to itself, each ending where the one
// before it in the slice begins; nil: there is none.
func (g *Graph[N]) shortest(start int32, missing []int32) []int32 {
	if missing[start] == 0 {
		return nil
	}
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
	return nil
}

func trace(edges []edge, via map[int32]int32, start int32) []int32 {
	path := []int32{via[start]}
	for id := edges[via[start]].from; id != start; id = edges[via[id]].from {
		path = append(path, via[id])
	}
	return path
}
