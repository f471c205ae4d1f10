package graph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// New builds the graph of these nodes. It finds all errors before anything runs and returns them as
// one joined error. The order of the nodes does not change the order or the text of the errors. A
// node that needs, lies under or asks for its own key is no error.
//
// New calls Needs and Effects of each node once, and the other methods of of as often as it likes.
func New[N Node](nodes []N, of Dependencies[N], opt Options) (*Graph[N], error) {
	b := &builder[N]{g: &Graph[N]{}, of: of, opt: opt}
	b.number(nodes)
	b.own()
	b.connect()
	b.checkGates()
	g := b.g
	g.out = group(g.edges, len(nodes), func(e edge) int32 { return e.from })
	g.in = group(g.edges, len(nodes), func(e edge) int32 { return e.to })
	if missing := g.sort(); len(g.order) < len(nodes) {
		b.errs = append(b.errs, g.cycles(missing, b.origin)...)
	}
	if len(b.errs) > 0 {
		return nil, errors.Join(b.errs...)
	}
	g.pos, g.plan = make([]int32, len(nodes)), make([]N, len(nodes))
	for at, id := range g.order {
		g.pos[id], g.plan[at] = int32(at), g.nodes[id]
	}
	return g, nil
}

type builder[N Node] struct {
	g    *Graph[N]
	of   Dependencies[N]
	opt  Options
	errs []error
	mark []int32       // node → the node whose edge from it was made last, so that a pair of nodes has one edge
	near map[Key]int32 // an unowned ancestor → its nearest owned ancestor, or none
}

const (
	none    = -1 // no owned ancestor
	walking = -2 // being walked: to meet it again means that Parent has a cycle
)

// number sorts the nodes by gate and first key, so that the result does not depend on their order
// in the input.
func (b *builder[N]) number(nodes []N) {
	type head struct {
		first Key
		gate  uint8
		at    int32
		keys  span
	}
	g := b.g
	heads := make([]head, len(nodes))
	g.keys = make([]Key, 0, len(nodes))
	for i, n := range nodes {
		h := head{gate: uint8(min(max(b.of.Gate(n), BeforeKubelet), AfterKubelet)), at: int32(i),
			keys: span{from: int32(len(g.keys))}}
		g.keys = append(g.keys, n.Owns()...)
		h.keys.to = int32(len(g.keys))
		if h.keys.to > h.keys.from {
			h.first = g.keys[h.keys.from]
		}
		heads[i] = h
	}
	slices.SortFunc(heads, func(x, y head) int {
		if x.gate != y.gate {
			return cmp.Compare(x.gate, y.gate)
		}
		if c := strings.Compare(string(x.first), string(y.first)); c != 0 {
			return c
		}
		return strings.Compare(b.origin(nodes[x.at]), b.origin(nodes[y.at]))
	})
	g.nodes, g.gates, g.spans = make([]N, len(nodes)), make([]uint8, len(nodes)), make([]span, len(nodes))
	for id, h := range heads {
		g.nodes[id], g.gates[id], g.spans[id] = nodes[h.at], h.gate, h.keys
		b.validate(id, h.first)
	}
}

// origin returns where a node was asked for, or a text where that is unknown.
func (b *builder[N]) origin(n N) string { return cmp.Or(b.of.Origin(n), "origin unknown") }

// fail records an error.
func (b *builder[N]) fail(format string, args ...any) {
	b.errs = append(b.errs, fmt.Errorf(format, args...))
}

func (b *builder[N]) validate(id int, first Key) {
	n := b.g.nodes[id]
	invalid := func(who Key, format string, args ...any) {
		b.fail("%s (%s) %s", who, b.origin(n), fmt.Sprintf(format, args...))
	}
	const nameless = "a node"
	owned := b.g.keys[b.g.spans[id].from:b.g.spans[id].to]
	if len(owned) == 0 {
		invalid(nameless, "of type %T owns no key: let Owns return what it brings about, as kind:name", n)
	}
	for _, k := range owned {
		switch at := strings.IndexByte(string(k), ':'); {
		case k == "":
			invalid(nameless, "of type %T owns an empty key: let Owns return kind:name", n)
		case at <= 0:
			invalid(k, "is no key: write it as kind:name")
		}
	}
	if at := b.of.Gate(n); at < 0 || at >= gateCount {
		invalid(cmp.Or(first, nameless), "has gate %d: only %s (%d) and %s (%d) exist", int(at), BeforeKubelet, int(BeforeKubelet),
			AfterKubelet, int(AfterKubelet))
	}
}

// own records the owner of each key.
func (b *builder[N]) own() {
	g := b.g
	g.index = make(map[Key]int32, len(g.keys))
	g.nodeOf = make([]int32, len(g.keys))
	for id, s := range g.spans {
		for i := s.from; i < s.to; i++ {
			g.nodeOf[i] = int32(id)
			first, taken := g.index[g.keys[i]]
			switch {
			case !taken:
				g.index[g.keys[i]] = i
			case g.nodeOf[first] != int32(id):
				b.fail("%s is wanted twice, by %s and by %s: remove one of them", g.keys[i],
					b.origin(g.nodes[g.nodeOf[first]]), b.origin(g.nodes[id]))
			}
		}
	}
}

// connect makes the edges.
func (b *builder[N]) connect() {
	g := b.g
	b.mark = make([]int32, len(g.nodes))
	b.near = map[Key]int32{}
	g.edges = make([]edge, 0, 2*len(g.nodes))
	for id := range g.nodes {
		id := int32(id)
		for _, keys := range [][]Key{b.of.Needs(g.nodes[id]), b.opt.Requires[g.name(id)]} {
			for _, k := range keys {
				if at, ok := g.index[k]; ok {
					b.before(id, at, Need)
				}
			}
		}
		if b.opt.Parent != nil {
			for i := g.spans[id].from; i < g.spans[id].to; i++ {
				if at := b.ancestor(g.keys[i]); at >= 0 {
					b.before(id, at, Parent)
				}
			}
		}
		b.ask(id, b.of.Effects(g.nodes[id]))
	}
}

// before makes an edge from the owner of the key at at to node id, unless both are one node or the
// edge exists.
func (b *builder[N]) before(id, at int32, why Reason) {
	owner := b.g.nodeOf[at]
	if owner == id || b.mark[owner] == id+1 {
		return
	}
	b.mark[owner] = id + 1
	b.g.edges = append(b.g.edges, edge{from: owner, to: id, via: at, why: why})
}

// ask makes edges from node id to the effects that it asks for. A node asks for few effects, so a
// linear search finds duplicates.
func (b *builder[N]) ask(id int32, effects []Key) {
	g := b.g
	for i, k := range effects {
		at, ok := g.index[k]
		switch {
		case slices.Contains(effects[:i], k):
		case !ok:
			b.fail("%s (%s) asks for %s, which no node brings about: add that effect or correct its name", g.name(id),
				b.origin(g.nodes[id]), k)
		case g.nodeOf[at] != id:
			g.edges = append(g.edges, edge{from: id, to: g.nodeOf[at], via: at, why: Ask})
		}
	}
}

// ancestor returns the nearest owned key above k, or none. It walks each ancestor once in the whole
// graph.
func (b *builder[N]) ancestor(k Key) int32 {
	up, ok := b.opt.Parent(k)
	if !ok {
		return none
	}
	if at, owned := b.g.index[up]; owned {
		return at
	}
	if at, known := b.near[up]; known {
		return max(at, none)
	}
	b.near[up] = walking
	at := b.ancestor(up)
	b.near[up] = at
	return at
}

// checkGates reports edges from a later gate to an earlier one.
func (b *builder[N]) checkGates() {
	g := b.g
	of := func(id int32) string { return fmt.Sprintf("(%s, %s)", b.origin(g.nodes[id]), Gate(g.gates[id])) }
	for _, e := range g.edges {
		switch {
		case g.gates[e.from] <= g.gates[e.to]:
		case e.why == Ask:
			b.fail("%s %s asks for %s %s, which would have to wait for it: let it ask for an effect of its own gate",
				g.name(e.from), of(e.from), g.name(e.to), of(e.to))
		default:
			b.fail("%s %s %s %s %s: a later gate cannot come first; move one of the two to the gate of the other",
				g.name(e.to), of(e.to), e.why, g.keys[e.via], of(e.from))
		}
	}
}
