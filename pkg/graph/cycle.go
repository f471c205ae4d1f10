package graph

import (
	"errors"
	"fmt"
	"strings"
)

// CycleError is a cycle of nodes. Each step comes after the next one, and the last step comes after
// the first.
type CycleError struct{ Steps []Step }

// Step is one node of a cycle, and the reason why it comes after the next one.
type Step struct {
	Key    Key
	Origin string
	Why    Reason
	Via    Key // the key of the edge: the needed key, the parent, or the effect
}

func (e *CycleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "none of these %d can go first; take one of the lines away:", len(e.Steps))
	for i, s := range e.Steps {
		next := e.Steps[(i+1)%len(e.Steps)]
		fmt.Fprintf(&b, "\n  %s (%s) ", s.Key, s.Origin)
		switch {
		case s.Why == Ask:
			fmt.Fprintf(&b, "waits for %s, which asks for it", next.Key)
		case s.Via != next.Key:
			fmt.Fprintf(&b, "%s %s of %s", s.Why, s.Via, next.Key)
		default:
			fmt.Fprintf(&b, "%s %s", s.Why, s.Via)
		}
	}
	return b.String()
}

// maxCycles limits how many cycles one error shows: many cycles usually have one cause.
const maxCycles = 10

var errMoreCycles = errors.New("there are more cycles: mend these and look again")

// cycles finds cycles, which share no nodes, among the nodes that sort left out: these have missing
// above zero. Each cycle is a shortest one through its smallest node, and begins with that node. A
// node that only comes after a cycle is in none.
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

// shortest returns the edges of a shortest cycle through start, each edge ending where the edge
// before it in the slice begins; nil: there is none.
func (g *Graph[N]) shortest(start int32, missing []int32) []int32 {
	if missing[start] == 0 {
		return nil
	}
	via := map[int32]int32{} // node → the edge that first reached it
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
