package config

import (
	"fmt"
	"os"
	"testing"

	"github.com/netwright/netwright/pkg/config/document"
)

// hundredLines returns a cluster document as long as real ones are.
func hundredLines(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/ordinary/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// BenchmarkLoad measures the part of a run without changes that loads documents: a cluster of a
// hundred lines, a group, a node.
func BenchmarkLoad(b *testing.B) {
	sources := []document.Source{
		{Path: "cluster.yaml", Data: hundredLines(b)},
		{Path: "nodegroups/nodes.yaml", Data: []byte("apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: nodes}\nspec: {role: Node}\n")},
		{Path: "nodes/node-1.yaml", Data: []byte("apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: node-1}\nspec: {nodeGroup: nodes, address: 10.0.0.1, podCIDRs: [100.96.1.0/24]}\n")},
	}
	b.ReportAllocs()
	for b.Loop() {
		if n, diags := Load(keyKinds, sources, Select{Node: "node-1"}); n == nil {
			b.Fatal(diags)
		}
	}
}

// BenchmarkLoadPeers measures bridge with many nodes, each with a document.
func BenchmarkLoadPeers(b *testing.B) {
	for _, nodes := range []int{100, 1000} {
		sources := []document.Source{{Path: "cluster.yaml", Data: []byte(smallest)}}
		for i := range nodes {
			sources = append(sources, document.Source{Path: fmt.Sprintf("nodes/node-%d.yaml", i), Data: fmt.Appendf(nil,
				"apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata:\n  name: node-%d\nspec:\n  address: 10.0.%d.%d\n  podCIDRs: [100.%d.%d.0/24]\n",
				i, i/200, i%200+1, 96+i/250, i%250)})
		}
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n, diags := Load(keyKinds, sources, Select{Node: "node-1"}); n == nil || len(n.Peers) != nodes-1 {
					b.Fatal(diags)
				}
			}
		})
	}
}
