package graph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/graph"
)

// reload is the effect with which systemd reads its units again.
const reload graph.Key = "effect:daemon-reload"

// step is a node: a key, the keys that it needs, and the effects that it asks for if it changed.
type step struct {
	key         graph.Key
	needs, asks []graph.Key
}

func (s step) Owns() []graph.Key { return []graph.Key{s.key} }

// steps describes these nodes to the graph.
type steps struct{}

func (steps) Gate(step) graph.Gate       { return graph.BeforeKubelet }
func (steps) Origin(step) string         { return "example" }
func (steps) Needs(s step) []graph.Key   { return s.needs }
func (steps) Effects(s step) []graph.Key { return s.asks }

func Example() {
	g, err := graph.New([]step{
		{key: "unit:bpf.mount", needs: []graph.Key{reload}},
		{key: reload},
		{key: "file:/etc/systemd/system/bpf.mount", asks: []graph.Key{reload}},
		{key: "file:/etc/cni/net.d/10-bridge.conflist"},
		{key: "file:/etc/cni"},
	}, steps{}, graph.Options{Parent: graph.PathParent})
	if err != nil {
		fmt.Println(err) // all errors, before any node ran
		return
	}

	fmt.Println("plan:")
	for _, s := range g.Order() {
		fmt.Println(" ", s.key)
		for _, e := range g.Dependents(s) {
			fmt.Println("    before", e.Node.key)
		}
	}

	report := graph.Run(context.Background(), g, graph.RunOptions{}, func(_ context.Context, s step) error {
		if s.key == "file:/etc/cni" {
			return errors.New("make directory /etc/cni: read-only file system")
		}
		return nil
	})
	fmt.Println("run:")
	for _, r := range report.Results {
		fmt.Printf("  %s: %s\n", r.Node.key, r.State)
	}
	fmt.Println(report.Err())

	// Output:
	// plan:
	//   file:/etc/cni
	//     before file:/etc/cni/net.d/10-bridge.conflist
	//   file:/etc/cni/net.d/10-bridge.conflist
	//   file:/etc/systemd/system/bpf.mount
	//     before effect:daemon-reload
	//   effect:daemon-reload
	//     before unit:bpf.mount
	//   unit:bpf.mount
	// run:
	//   file:/etc/cni: failed
	//   file:/etc/cni/net.d/10-bridge.conflist: skipped
	//   file:/etc/systemd/system/bpf.mount: done
	//   effect:daemon-reload: done
	//   unit:bpf.mount: done
	// file:/etc/cni: make directory /etc/cni: read-only file system
}
