package graph_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/netwright/netwright/pkg/graph"
)

// file is a node: one file, and perhaps an effect to ask for when it changed.
type file struct {
	path   string
	effect graph.Key
}

func (f file) Owns() []graph.Key  { return []graph.Key{graph.MakeKey("file", f.path)} }
func (f file) Needs() []graph.Key { return nil }
func (f file) Asks() []graph.Key {
	if f.effect == "" {
		return nil
	}
	return []graph.Key{f.effect}
}

// reload is an effect: systemd reads its units again.
type reload struct{}

func (reload) Owns() []graph.Key  { return []graph.Key{"effect:daemon-reload"} }
func (reload) Needs() []graph.Key { return nil }

// unit is a unit to start, which systemd must have read before.
type unit string

func (u unit) Owns() []graph.Key  { return []graph.Key{graph.MakeKey("unit", string(u))} }
func (u unit) Needs() []graph.Key { return []graph.Key{"effect:daemon-reload"} }

func Example() {
	g, err := graph.New([]graph.Node{
		unit("bpf.mount"),
		reload{},
		file{path: "/etc/systemd/system/bpf.mount", effect: "effect:daemon-reload"},
		file{path: "/etc/cni/net.d/10-bridge.conflist"},
		file{path: "/etc/cni"},
	}, graph.Options{Parent: graph.PathParent})
	if err != nil {
		fmt.Println(err) // all that is wrong, before anything ran
		return
	}

	fmt.Println("plan:")
	for _, n := range g.Order() {
		fmt.Println(" ", n.Owns()[0])
		for _, e := range g.Before(n) {
			fmt.Println("    after", e.Node.Owns()[0])
		}
	}

	report := graph.Run(context.Background(), g, graph.RunOptions{}, func(_ context.Context, n graph.Node) error {
		if n.Owns()[0] == "file:/etc/cni" {
			return errors.New("make directory /etc/cni: read-only file system")
		}
		return nil
	})
	fmt.Println("run:")
	for _, r := range report.Results {
		fmt.Printf("  %s: %s\n", r.Node.Owns()[0], r.State)
	}
	fmt.Println(report.Err())

	// Output:
	// plan:
	//   file:/etc/cni
	//   file:/etc/cni/net.d/10-bridge.conflist
	//     after file:/etc/cni
	//   file:/etc/systemd/system/bpf.mount
	//   effect:daemon-reload
	//     after file:/etc/systemd/system/bpf.mount
	//   unit:bpf.mount
	//     after effect:daemon-reload
	// run:
	//   file:/etc/cni: failed
	//   file:/etc/cni/net.d/10-bridge.conflist: skipped
	//   file:/etc/systemd/system/bpf.mount: done
	//   effect:daemon-reload: done
	//   unit:bpf.mount: done
	// file:/etc/cni: make directory /etc/cni: read-only file system
}
