package graph

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// node is the vertex of these tests.
type node struct {
	owns, needs, asks []Key
	gate              Gate
	origin            string
}

func (n *node) Owns() []Key { return n.owns }

// stated describes nodes by their own fields.
type stated struct{}

func (stated) Gate(n *node) Gate     { return n.gate }
func (stated) Origin(n *node) string { return n.origin }
func (stated) Needs(n *node) []Key   { return n.needs }
func (stated) Effects(n *node) []Key { return n.asks }

// read makes nodes from lines "owned[,owned] [@late] [needed…] [!asked…]". The place of each
// request is its line.
func read(lines string) []*node {
	var nodes []*node
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		n := &node{origin: fmt.Sprintf("line %d", i+1)}
		for j, word := range strings.Fields(line) {
			switch {
			case j == 0:
				for k := range strings.SplitSeq(word, ",") {
					n.owns = append(n.owns, Key(k))
				}
			case word == "@late":
				n.gate = AfterKubelet
			case word[0] == '!':
				n.asks = append(n.asks, Key(word[1:]))
			default:
				n.needs = append(n.needs, Key(word))
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func build(t testing.TB, lines string) *Graph[*node] {
	t.Helper()
	g, err := New(read(lines), stated{}, Options{Parent: PathParent})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func names(nodes []*node) string {
	var words []string
	for _, n := range nodes {
		words = append(words, string(n.owns[0]))
	}
	return strings.Join(words, " ")
}

func TestOrder(t *testing.T) {
	tests := []struct{ name, nodes, want string }{
		{"smallest key where nothing else counts", "b:1\na:2\na:1", "a:1 a:2 b:1"},
		{"needs before keys", "a:1 b:1\nb:1 c:1\nc:1", "c:1 b:1 a:1"},
		{"a key that nobody owns", "a:1 b:9", "a:1"},
		{"any key of an owner", "a:1 c:2\nb:1\nc:1,c:2", "b:1 c:1 a:1"},
		{"gates before keys", "a:1 @late\nb:1", "b:1 a:1"},
		{"directories first, over a gap", "file:/a/b/c/d\nfile:/a x:1\nx:1\nfile:/", "file:/ x:1 file:/a file:/a/b/c/d"},
		{"the parent is of the same kind", "file:/a/b\nlink:/a\na:1 link:/a", "file:/a/b link:/a a:1"},
		{"an effect after askers and before needers", "a:1 effect:x\nb:1 !effect:x\nc:1 !effect:x\neffect:x", "b:1 c:1 effect:x a:1"},
		{"itself", "file:/a,file:/a/b file:/a !file:/a/b", "file:/a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := names(build(t, tt.nodes).Order()); got != tt.want {
				t.Errorf("order %s, want %s", got, tt.want)
			}
		})
	}
}

func TestEdgesSayWhy(t *testing.T) {
	g := build(t, `
		file:/etc/a,file:/etc/b file:/etc sysctl:x
		file:/etc
		file:/etc/a/c !effect:x !effect:x
		effect:x file:/etc/b
		sysctl:x`)
	say := func(edges []Edge[*node]) string {
		var b strings.Builder
		for _, e := range edges {
			fmt.Fprintf(&b, "%s %s, propagates: %t\n", e.Node.owns[0], e.Reason, e.Reason.Propagates())
		}
		return b.String()
	}
	find := func(k Key) *node {
		n, ok := g.Find(k)
		if !ok {
			t.Fatalf("%s is not found", k)
		}
		return n
	}
	tests := []struct{ name, got, want string }{
		{"one edge for a need that is also a parent", say(g.Dependents(find("file:/etc"))), "file:/etc/a needs, propagates: true\n"},
		{"derived, and a need of a second key", say(g.Dependents(find("file:/etc/a"))),
			"file:/etc/a/c lies under, propagates: true\neffect:x needs, propagates: true\n"},
		{"an effect", say(g.Dependents(find("file:/etc/a/c"))), "effect:x asks for, propagates: false\n"},
		{"a stranger", say(g.Dependents(&node{owns: []Key{"x:y"}})), ""},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if _, ok := g.Find("file:/etc/zzz"); ok || g.Len() != 5 {
		t.Errorf("found what nobody owns, or %d nodes are not 5", g.Len())
	}
}

func TestNodesNeedNoDependencies(t *testing.T) {
	g, err := New([]plain{"b:1", "a:1"}, nothing{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]plain{"a:1", "b:1"}, g.Order()); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	if _, err = New([]plain{"a:1", "a:1"}, nothing{}, Options{}); err == nil || err.Error() != "a:1 is wanted twice, by origin unknown and by origin unknown: remove one of them" {
		t.Errorf("two tasks own a:1: %v; want an error that names both", err)
	}
}

// plain is a node by value that depends on nothing.
type plain Key

func (p plain) Owns() []Key { return []Key{Key(p)} }

// nothing describes a plain node: it depends on nothing.
type nothing struct{}

func (nothing) Gate(plain) Gate     { return BeforeKubelet }
func (nothing) Origin(plain) string { return "" }
func (nothing) Needs(plain) []Key   { return nil }
func (nothing) Effects(plain) []Key { return nil }

func TestParentInCircles(t *testing.T) {
	circle := func(k Key) (Key, bool) { return k[:2] + Key('0'+('9'-k[2]+1)%10), true }
	if _, err := New(read("a:3\na:5"), stated{}, Options{Parent: circle}); err != nil {
		t.Error(err)
	}
}

func TestKey(t *testing.T) {
	tests := []struct {
		key, parent Key
		kind, name  string
	}{
		{"file:/etc/x", "file:/etc", "file", "/etc/x"},
		{"file:/etc", "file:/", "file", "/etc"},
		{"file:/", "", "file", "/"},
		{"file:", "", "file", ""},
		{"route:254/10.0.0.0/8", "", "route", "254/10.0.0.0/8"},
		{"address:cbr0/fd00::1/64", "", "address", "cbr0/fd00::1/64"},
		{"sysctl:net.ipv4.ip_forward", "", "sysctl", "net.ipv4.ip_forward"},
		{"nonsense", "", "nonsense", ""},
		{"/etc", "", "/etc", ""},
		{"", "", "", ""},
	}
	for _, tt := range tests {
		parent, ok := PathParent(tt.key)
		if parent != tt.parent || ok != (tt.parent != "") {
			t.Errorf("PathParent(%q) = %q, %t, want %q", tt.key, parent, ok, tt.parent)
		}
		if tt.key.Kind() != tt.kind || tt.key.Name() != tt.name {
			t.Errorf("%q is %q and %q, want %q and %q", tt.key, tt.key.Kind(), tt.key.Name(), tt.kind, tt.name)
		}
	}
	if k := MakeKey("address", "cbr0/fd00::1/64"); k != "address:cbr0/fd00::1/64" {
		t.Errorf("MakeKey: %s, want address:cbr0/fd00::1/64", k)
	}
	if allocs := testing.AllocsPerRun(100, func() { PathParent("file:/etc/cni/net.d"); PathParent("file:/etc") }); allocs != 0 {
		t.Errorf("PathParent allocates %v times", allocs)
	}
}
