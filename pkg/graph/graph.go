package graph

import "slices"

// Graph has checked nodes and edges: no cycle, and no key with two owners. It never changes, so
// several goroutines may read and Run it at the same time.
//
// Nodes have numbers, by gate and then first key. All other data is in flat slices of such numbers,
// without a map or a slice header for each node.
type Graph[N Node] struct {
	nodes  []N
	gates  []uint8
	keys   []Key         // all owned keys; the keys of one node are next to each other
	spans  []span        // node → its keys
	nodeOf []int32       // key → node
	index  map[Key]int32 // key → its index in keys
	edges  []edge
	out    adjacency // node → edges that start there
	in     adjacency // node → edges that end there
	order  []int32   // plan position → node
	plan   []N       // the nodes in that order
	pos    []int32   // node → plan position
}

type span struct{ from, to int32 }

// edge says that node from comes before node to, because of the key via.
type edge struct {
	from, to, via int32
	why           Reason
}

// Edge is an edge as seen from one of its nodes, for explanations.
type Edge[N Node] struct {
	Node   N      // the node at the other end
	Reason Reason // Reason.Propagates reports whether a failure passes along the edge
}

// Len returns the number of nodes.
func (g *Graph[N]) Len() int { return len(g.nodes) }

// Order returns all nodes in plan order: earlier gates first, and of the nodes that are possible
// the one with the smallest first key. It does not depend on the order in which New got the nodes.
// The caller must not change the slice.
func (g *Graph[N]) Order() []N { return slices.Clip(g.plan) }

// Keys returns all owned keys, by node. The caller must not change the slice.
func (g *Graph[N]) Keys() []Key { return g.keys }

// Find returns the node that owns a key; false: no node owns it.
func (g *Graph[N]) Find(k Key) (N, bool) {
	if i, ok := g.index[k]; ok {
		return g.nodes[g.nodeOf[i]], true
	}
	var none N
	return none, false
}

// Dependencies returns the nodes directly before a node, with reasons, in plan order. It returns
// none for a node of another graph.
func (g *Graph[N]) Dependencies(n N) []Edge[N] {
	return g.ends(n, g.in, func(e edge) int32 { return e.from })
}

// Dependents returns the nodes directly after a node, with reasons, in plan order.
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

// name returns a node's first key.
func (g *Graph[N]) name(id int32) Key {
	if s := g.spans[id]; s.from < s.to {
		return g.keys[s.from]
	}
	return "a node without a key" // New reports it as an error
}

// adjacency has the edges of each node in two flat slices.
type adjacency struct {
	start []int32 // node → the begin of its edges; with one more element at the end
	edges []int32
}

func (a adjacency) of(id int32) []int32 { return a.edges[a.start[id]:a.start[id+1]] }

// group groups the edges by one of their ends, in O(nodes + edges).
func group(edges []edge, nodes int, end func(edge) int32) adjacency {
	a := adjacency{start: make([]int32, nodes+2), edges: make([]int32, len(edges))}
	for _, e := range edges {
		a.start[end(e)+2]++
	}
	for i := 2; i < len(a.start); i++ {
		a.start[i] += a.start[i-1]
	}
	// start[id+1] moves from the begin of id to its end, which is the begin of id+1: its final
	// value.
	for i, e := range edges {
		at := &a.start[end(e)+1]
		a.edges[*at] = int32(i)
		*at++
	}
	a.start = a.start[:nodes+1]
	return a
}
