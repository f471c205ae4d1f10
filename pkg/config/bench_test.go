package config

import (
	"fmt"
	"strings"
	"testing"
)

// hundredLines is a cluster document as long as real ones are.
func hundredLines() []byte {
	var b strings.Builder
	b.WriteString(strings.Replace(smallest, " {bridge: {}}", "\n    bridge:\n      mtu: 1450", 1))
	b.WriteString("  sysctlParameters:\n")
	for i := range 40 {
		fmt.Fprintf(&b, "  - net.ipv4.conf.eth%d.rp_filter=2\n", i)
	}
	b.WriteString("  fileAssets:\n")
	for i := range 10 {
		fmt.Fprintf(&b, "  - name: file-%d\n    content: |\n      hello\n    mode: \"0644\"\n", i)
	}
	b.WriteString("  kubelet: {maxPods: 110}\n")
	return []byte(b.String())
}

// BenchmarkLoad is the share of a no-op run: a cluster of a hundred lines, a group, a node.
func BenchmarkLoad(b *testing.B) {
	sources := []Source{
		{"cluster.yaml", hundredLines()},
		{"nodegroups/nodes.yaml", []byte("apiVersion: netwright.dev/v1alpha1\nkind: NodeGroup\nmetadata: {name: nodes}\nspec: {role: Node}\n")},
		{"nodes/node-1.yaml", []byte("apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: node-1}\nspec: {nodeGroup: nodes, address: 10.0.0.1, podCIDRs: [100.96.1.0/24]}\n")},
	}
	b.ReportAllocs()
	for b.Loop() {
		if n, diags := Load(keyKinds, sources, Select{Node: "node-1"}); n == nil {
			b.Fatal(diags)
		}
	}
}

// BenchmarkLoadPeers is a bridge among many nodes that each have a document.
func BenchmarkLoadPeers(b *testing.B) {
	for _, nodes := range []int{100, 1000} {
		sources := []Source{{"cluster.yaml", []byte(smallest)}}
		for i := range nodes {
			sources = append(sources, Source{fmt.Sprintf("nodes/node-%d.yaml", i), fmt.Appendf(nil,
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
