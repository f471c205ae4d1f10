package graph

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewErrors(t *testing.T) {
	tests := []struct{ name, nodes, want string }{
		{"empty key", "a:1,", `
a node (line 1) of type *graph.node owns an empty key: let Owns return kind:name`},
		{"no kind", "ip_forward\n:x", `
:x (line 2) is no key: write it as kind:name
ip_forward (line 1) is no key: write it as kind:name`},
		{"two owners", "file:/etc/x\nfile:/etc/y,file:/etc/x", `
file:/etc/x is wanted twice, by line 1 and by line 2: remove one of them`},
		{"three owners, and a key twice in one", "a:1,a:1\na:1\na:1", `
a:1 is wanted twice, by line 1 and by line 2: remove one of them
a:1 is wanted twice, by line 1 and by line 3: remove one of them`},
		{"unknown effect", "unit:x !effect:reload", `
unit:x (line 1) asks for effect:reload, which no node brings about: add that effect or correct its name`},
		{"gate by need", "a:1 b:1\nb:1 @late", `
a:1 (line 1, before-kubelet) needs b:1 (line 2, after-kubelet): a later gate cannot come first; move one of the two to the gate of the other`},
		{"gate by parent", "file:/a @late\nfile:/a/b", `
file:/a/b (line 2, before-kubelet) lies under file:/a (line 1, after-kubelet): a later gate cannot come first; move one of the two to the gate of the other`},
		{"gate by ask", "unit:x @late !effect:reload\neffect:reload", `
unit:x (line 1, after-kubelet) asks for effect:reload (line 2, before-kubelet), which would have to wait for it: let it ask for an effect of its own gate`},
		{"cycle", "a:1 b:1\nb:1 c:1\nc:1,c:2 a:1 d:1\nd:1\ne:1 a:1", `
none of these 3 can go first; take one of the lines away:
  a:1 (line 1) needs b:1
  b:1 (line 2) needs c:1
  c:1 (line 3) needs a:1`},
		{"cycle over a parent, a second key and an effect", "a:1,file:/a effect:x\nfile:/a/b !effect:x\neffect:x", `
none of these 3 can go first; take one of the lines away:
  a:1 (line 1) needs effect:x
  effect:x (line 3) waits for file:/a/b, which asks for it
  file:/a/b (line 2) lies under file:/a of a:1`},
		{"two cycles, the second behind the first", "a:1 b:1\nb:1 a:1\nc:1 a:1 d:1\nd:1 c:1", `
none of these 2 can go first; take one of the lines away:
  a:1 (line 1) needs b:1
  b:1 (line 2) needs a:1
none of these 2 can go first; take one of the lines away:
  c:1 (line 3) needs d:1
  d:1 (line 4) needs c:1`},
		{"all at once", "a:1 b:1\nb:1 @late\na:1\nc:1 d:1 !effect:x\nd:1 c:1\nbad", `
bad (line 6) is no key: write it as kind:name
a:1 is wanted twice, by line 1 and by line 3: remove one of them
c:1 (line 4) asks for effect:x, which no node brings about: add that effect or correct its name
a:1 (line 1, before-kubelet) needs b:1 (line 2, after-kubelet): a later gate cannot come first; move one of the two to the gate of the other
none of these 2 can go first; take one of the lines away:
  c:1 (line 4) needs d:1
  d:1 (line 5) needs c:1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			nodes := read(tt.nodes)
			for range 2 {
				g, err := New(nodes, stated{}, Options{Parent: PathParent})
				if err == nil || g != nil {
					t.Fatal("no error, or a graph beside it")
				}
				if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), err.Error()); diff != "" {
					t.Errorf("the error (-want +got):\n%s", diff)
				}
				slices.Reverse(nodes)
			}
		})
	}
}

func TestNodeWithoutKeyOrGate(t *testing.T) {
	_, err := New([]*node{
		{origin: "line 1", asks: []Key{"effect:x"}},
		{origin: "line 2", owns: []Key{"a:1"}, gate: 7},
	}, stated{}, Options{})
	want := `a node (line 1) of type *graph.node owns no key: let Owns return what it brings about, as kind:name
a:1 (line 2) has gate 7: only before-kubelet (0) and after-kubelet (1) exist
a node without a key (line 1) asks for effect:x, which no node brings about: add that effect or correct its name`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCyclesAreTyped(t *testing.T) {
	_, err := New(read("a:1 b:1 !effect:x\nb:1 @late a:1\na:1\nbad"), stated{}, Options{})
	var cycle *CycleError
	if !errors.As(err, &cycle) {
		t.Fatalf("got %v, want a CycleError", err)
	}
	want := &CycleError{Steps: []Step{{"a:1", "line 1", Need, "b:1"}, {"b:1", "line 2", Need, "a:1"}}}
	if diff := cmp.Diff(want, cycle); diff != "" {
		t.Errorf("the cycle (-want +got):\n%s", diff)
	}
}

func TestManyCyclesAreCutShort(t *testing.T) {
	var nodes []*node
	for i := range 100 {
		a, b := Key("a:"+string(rune('A'+i))), Key("b:"+string(rune('A'+i)))
		nodes = append(nodes, &node{owns: []Key{a}, needs: []Key{b}}, &node{owns: []Key{b}, needs: []Key{a}})
	}
	_, err := New(nodes, stated{}, Options{})
	if err == nil || strings.Count(err.Error(), "none of these") != maxCycles || !strings.HasSuffix(err.Error(), "\n"+errMoreCycles.Error()) {
		t.Errorf("not %d cycles and a hint at more: %v", maxCycles, err)
	}
}
