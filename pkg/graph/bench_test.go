package graph

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
)

var benchSizes = []int{100, 10_000, 100_000}

// benchNodes returns files in directories of ten, in random order, as a node with so many tasks has
// them. Each file needs two others that come before it, and one key without an owner. One file in
// ten asks for a reload.
func benchNodes(count int) []*node {
	nodes := []*node{{owns: []Key{"effect:reload"}}}
	for i := 1; i < count; i++ {
		n := &node{owns: []Key{benchKey(i)}, needs: []Key{"host:kernel"}}
		if i > 2 {
			n.needs = append(n.needs, benchKey(i-1-i%7%(i-1)), benchKey(i/2))
		}
		if i%10 == 0 {
			n.asks = []Key{"effect:reload"}
		}
		nodes = append(nodes, n)
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes
}

func benchKey(i int) Key {
	if i%10 == 0 {
		return Key(fmt.Sprintf("file:/etc/netwright/d%06d", i/10))
	}
	return Key(fmt.Sprintf("file:/etc/netwright/d%06d/file-%d.conf", i/10, i%10))
}

func noop(context.Context, *node) error { return nil }

func BenchmarkNew(b *testing.B) {
	for _, count := range benchSizes {
		nodes := benchNodes(count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchNew(b, nodes)
			}
		})
	}
}

func BenchmarkRun(b *testing.B) {
	for _, count := range benchSizes {
		g := benchNew(b, benchNodes(count))
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Run(context.Background(), g, RunOptions{}, noop)
			}
		})
	}
}

// BenchmarkPlanAndRun measures the graph's part of a pass that finds nothing to do.
func BenchmarkPlanAndRun(b *testing.B) {
	for _, count := range benchSizes {
		nodes := benchNodes(count)
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g := benchNew(b, nodes)
				if g.Order() == nil {
					b.Fatal("no order")
				}
				Run(context.Background(), g, RunOptions{}, noop) // as a plan
				Run(context.Background(), g, RunOptions{}, noop) // as an apply
			}
		})
	}
}

func benchNew(b *testing.B, nodes []*node) *Graph[*node] {
	b.Helper()
	g, err := New(nodes, stated{}, Options{Parent: PathParent})
	if err != nil {
		b.Fatal(err)
	}
	return g
}
