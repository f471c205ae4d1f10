package graph

// sort fills order as far as possible: of the possible nodes it always takes the one with the
// smallest number. A node in a cycle or after one is left out. For such nodes missing is above
// zero: the number of incoming edges whose start is not in order.
func (g *Graph[N]) sort() (missing []int32) {
	missing = g.inDegrees()
	g.order = make([]int32, 0, len(g.nodes))
	ready := make(minHeap, 0, len(g.nodes))
	for id, count := range missing {
		if count == 0 {
			ready.push(int32(id))
		}
	}
	for len(ready) > 0 {
		id := ready.pop()
		g.order = append(g.order, id)
		for _, at := range g.out.of(id) {
			to := g.edges[at].to
			if missing[to]--; missing[to] == 0 {
				ready.push(to)
			}
		}
	}
	return missing
}

// inDegrees returns the number of incoming edges of each node.
func (g *Graph[N]) inDegrees() []int32 {
	degrees := make([]int32, len(g.nodes))
	for id := range degrees {
		degrees[id] = g.in.start[id+1] - g.in.start[id]
	}
	return degrees
}

// minHeap is a binary heap of numbers. container/heap would allocate for every push.
type minHeap []int32

func (h *minHeap) push(v int32) {
	*h = append(*h, v)
	s := *h
	for i := len(s) - 1; i > 0; {
		up := (i - 1) / 2
		if s[up] <= v {
			break
		}
		s[i], s[up] = s[up], v
		i = up
	}
}

// pop removes and returns the smallest number. The heap must not be empty.
func (h *minHeap) pop() int32 {
	s := *h
	least, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	for i := 0; len(s) > 0; {
		child := 2*i + 1
		if child+1 < len(s) && s[child+1] < s[child] {
			child++
		}
		if child >= len(s) || s[child] >= last {
			s[i] = last
			break
		}
		s[i] = s[child]
		i = child
	}
	return least
}
