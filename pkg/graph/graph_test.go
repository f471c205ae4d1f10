package graph

import (
	"context"
	"testing"
)

// node is the vertex of these tests.
type node struct {
	owns, needs, asks []Key
	gate              Gate
	origin            string
}

func (n *node) Owns() []Key    { return n.owns }
func (n *node) Needs() []Key   { return n.needs }
func (n *node) Asks() []Key    { return n.asks }
func (n *node) Gate() Gate     { return n.gate }
func (n *node) Origin() string { return n.origin }

func TestRunVisitsInPlanOrderWithLimitOne(t *testing.T) {
	g, err := New([]*node{
		{owns: []Key{"file:/etc/cni/net.d/10.conf"}, needs: []Key{"link:cbr0", "nobody:owns this"}},
		{owns: []Key{"unit:a"}, asks: []Key{"effect:reload"}},
		{owns: []Key{"effect:reload"}},
		{owns: []Key{"a:late"}, gate: AfterKubelet},
		{owns: []Key{"link:cbr0"}, needs: []Key{"effect:reload"}},
		{owns: []Key{"file:/etc/cni"}},
	}, Options{Parent: PathParent})
	if err != nil {
		t.Fatal(err)
	}
	want := "file:/etc/cni unit:a effect:reload link:cbr0 file:/etc/cni/net.d/10.conf a:late "
	got := ""
	rep := Run(context.Background(), g, RunOptions{Limit: 1}, func(_ context.Context, n *node) error {
		got += string(n.owns[0]) + " "
		return nil
	})
	if got != want || rep.Count(Done) != 6 {
		t.Errorf("visited %s\nwant    %s", got, want)
	}
}
