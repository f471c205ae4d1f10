package graph

import "slices"

// Graph is nodes and the edges between them, checked: no cycle, no key with two owners. It never
// changes, so that many may read and Run it at the same time.
//
// Nodes are numbered by gate, then first key. Everything else is flat slices of such numbers: no
// map and no slice header for each node.
type Graph[N Node] struct {
	nodes  []N
	gates  []uint8
	keys   []Key         // all owned keys; those of one node stand side by side
	spans  []span        // node → its keys
	nodeOf []int32       // key → node
	index  map[Key]int32 // a key's place in keys
	edges  []edge
	out    adjacency // node → edges that start there
	in     adjacency // node → edges that end there
	order  []int32   // plan position → node
	pos    []int32   // node → plan position
}

type span struct{ from, to int32 }

// edge says that node from comes before node to, because of the key via.
type edge struct {
	from, to, via int32
	why           Reason
}

// Edge is one end of an edge as seen from the other, for those who explain.
type Edge[N Node] struct {
	Node   N      // the other end
	Reason Reason // Reason.Propagates says whether failure travels along it
}

// Len is the number of nodes.
func (g *Graph[N]) Len() int { return len(g.nodes) }

// Order is all nodes in plan order: earlier gates first, then whatever is possible by the smallest
// first key. It depends on the nodes only, not on the order in which New got them. The slice is the
// caller's.
func (g *Graph[N]) Order() []N {
	all := make([]N, len(g.order))
	for i, id := range g.order {
		all[i] = g.nodes[id]
	}
	return all
}

// Keys is all keys that nodes own, by node. It is not to be changed.
func (g *Graph[N]) Keys() []Key { return g.keys }

// Find is the node that owns a key, and false where nobody does.
func (g *Graph[N]) Find(k Key) (N, bool) {
	if i, ok := g.index[k]; ok {
		return g.nodes[g.nodeOf[i]], true
	}
	var none N
	return none, false
}

// Dependencies lists what comes directly before a node and why, in plan order. A node that is not
// of this graph has nothing before it.
func (g *Graph[N]) Dependencies(n N) []Edge[N] {
	return g.ends(n, g.in, func(e edge) int32 { return e.from })
}

// Dependents lists what comes directly after a node and why, in plan order.
func (g *Graph[N]) Dependents(n N) []Edge[N] {
	return g.ends(n, g.out, func(e edge) int32 { return e.to })
}

func (g *Graph[N]) ends(n N, side adjacency, end func(edge) int32) []Edge[N] {
	key, ok := g.index[n.Owns()[0]]
	if !ok {
		return nil
	}
	found := slices.Clone(side.of(g.nodeOf[key]))
	slices.SortFunc(found, func(a, b int32) int { return int(g.pos[end(g.edges[a])] - g.pos[end(g.edges[b])]) })
	edges := make([]Edge[N], len(found))
	for i, at := range found {
		edges[i] = Edge[N]{Node: g.nodes[end(g.edges[at])], Reason: g.edges[at].why}
	}
	return edges
}

// name is a node's first key.
func (g *Graph[N]) name(id int32) Key {
	if s := g.spans[id]; s.from < s.to {
		return g.keys[s.from]
	}
	return "a node without a key" // an error of New says more
}

// adjacency groups edge numbers by node in two flat slices.
type adjacency struct {
	start []int32 // node → where its edges begin; one more at the end
	edges []int32
}

func (a adjacency) of(id int32) []int32 { return a.edges[a.start[id]:a.start[id+1]] }

// group sorts the edges by one of their ends, in O(nodes + edges).
func group(edges []edge, nodes int, end func(edge) int32) adjacency {
	a := adjacency{start: make([]int32, nodes+2), edges: make([]int32, len(edges))}
	for _, e := range edges {
		a.start[end(e)+2]++
	}
	for i := 2; i < len(a.start); i++ {
		a.start[i] += a.start[i-1]
	}
	// start[id+1] walks from the begin of id to its end, which is the begin of id+1: what start
	// must hold at last.
	for i, e := range edges {
		at := &a.start[end(e)+1]
		a.edges[*at] = int32(i)
		*at++
	}
	a.start = a.start[:nodes+1]
	return a
}
