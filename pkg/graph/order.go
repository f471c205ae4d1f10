package graph

// sort fills order as far as it goes: of what is possible always the node with the smallest number.
// What stands in a cycle or behind one is left out, and then has a count above zero in what it
// returns: the edges that still miss their start.
func (g *Graph[N]) sort() (missing []int32) {
	missing = g.inDegrees()
	g.order = make([]int32, 0, len(g.nodes))
	ready := make(minHeap, 0, 64)
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

// inDegrees counts for each node the edges that end there.
func (g *Graph[N]) inDegrees() []int32 {
	degrees := make([]int32, len(g.nodes))
	for id := range degrees {
		degrees[id] = g.in.start[id+1] - g.in.start[id]
	}
	return degrees
}

// minHeap is a binary heap of numbers. (container/heap would allocate for every push.)
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

// pop takes the smallest; the heap must not be empty.
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
