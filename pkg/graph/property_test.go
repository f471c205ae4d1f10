package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The properties below compare New and Run with the slowest and simplest form of what they promise:
// a matrix of pairs.

// parents has a parent for each key, at random, as Options.Parent.
type parents map[Key]Key

func (p parents) of(k Key) (Key, bool) { up, ok := p[k]; return up, ok }

// drawNodes draws nodes whose edges lead only from an earlier to a later one, unless cyclic. The
// keys do not show that order.
func drawNodes(t *rapid.T, cyclic bool) ([]*node, parents) {
	count := rapid.IntRange(1, 24).Draw(t, "nodes")
	numbers := make([]int, 3*count)
	for i := range numbers {
		numbers[i] = i
	}
	names := rapid.Permutation(numbers).Draw(t, "names")
	up := parents{}
	nodes := make([]*node, count)
	for i := range nodes {
		nodes[i] = &node{origin: fmt.Sprintf("line %d", i+1)}
		for j := range rapid.IntRange(1, 3).Draw(t, "owns") {
			nodes[i].owns = append(nodes[i].owns, Key(fmt.Sprintf("k:%03d", names[3*i+j])))
		}
	}
	pick := func(what string, from, to int) Key {
		owns := nodes[rapid.IntRange(from, to-1).Draw(t, what)].owns
		return owns[rapid.IntRange(0, len(owns)-1).Draw(t, "key")]
	}
	late := rapid.IntRange(0, count).Draw(t, "first of the later gate")
	for i, n := range nodes {
		from, to := 0, i+1 // an edge to itself is allowed
		if cyclic {
			to = count
		} else if i >= late {
			n.gate = AfterKubelet
		}
		for range rapid.IntRange(0, 2).Draw(t, "needs") {
			n.needs = append(n.needs, pick("need", from, to))
		}
		if rapid.Bool().Draw(t, "needs of the host") {
			n.needs = append(n.needs, "host:kernel")
		}
		for _, k := range n.owns {
			if rapid.Bool().Draw(t, "has a parent") {
				between := Key("between:" + k)
				up[k], up[between] = between, pick("parent", from, to)
			}
		}
		if !cyclic {
			from = i
		}
		for range rapid.IntRange(0, 1).Draw(t, "asks") {
			n.asks = append(n.asks, pick("effect", from, count))
		}
	}
	return rapid.Permutation(nodes).Draw(t, "input"), up
}

// pairs has for each two nodes the reason why one comes directly before the other.
type pairs map[*node]map[*node]Reason

func reference(nodes []*node, up parents) pairs {
	edges := pairs{}
	put := func(from, to *node, why Reason) {
		if from == nil || from == to {
			return
		}
		if edges[from] == nil {
			edges[from] = map[*node]Reason{}
		}
		if old, ok := edges[from][to]; !ok || why < old {
			edges[from][to] = why
		}
	}
	owner := func(k Key) *node {
		if i := slices.IndexFunc(nodes, func(n *node) bool { return slices.Contains(n.owns, k) }); i >= 0 {
			return nodes[i]
		}
		return nil
	}
	for _, n := range nodes {
		for _, k := range n.needs {
			put(owner(k), n, Need)
		}
		for _, k := range n.asks {
			put(n, owner(k), Ask)
		}
		for _, k := range n.owns {
			for above, ok := up[k]; ok; above, ok = up[above] {
				if owner(above) != nil {
					put(owner(above), n, Parent)
					break
				}
			}
		}
	}
	return edges
}

// plan repeatedly takes the first node, by gate and key, for which no node is left that comes
// before it. Nodes of a cycle are left out.
func (p pairs) plan(nodes []*node) []*node {
	left := slices.SortedFunc(slices.Values(nodes), func(a, b *node) int {
		return cmp.Or(cmp.Compare(a.gate, b.gate), cmp.Compare(a.owns[0], b.owns[0]))
	})
	var order []*node
	for {
		i := slices.IndexFunc(left, func(n *node) bool {
			return !slices.ContainsFunc(left, func(m *node) bool { _, before := p[m][n]; return before })
		})
		if i < 0 {
			return order
		}
		order = append(order, left[i])
		left = slices.Delete(left, i, i+1)
	}
}

func TestNewAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, up := drawNodes(t, false)
		want := reference(nodes, up)
		g, err := New(nodes, stated{}, Options{Parent: up.of})
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(names(want.plan(nodes)), names(g.Order())); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
		got := pairs{}
		for _, n := range nodes {
			got[n] = map[*node]Reason{}
			for _, e := range g.Dependents(n) {
				if old, twice := got[n][e.Node]; !twice || e.Reason < old {
					got[n][e.Node] = e.Reason
				}
			}
			for _, k := range n.owns {
				if found, ok := g.Find(k); !ok || found != n {
					t.Fatalf("%s finds %v", k, found)
				}
			}
		}
		if diff := gocmp.Diff(want.String(), got.String()); diff != "" {
			t.Fatalf("edges (-want +got):\n%s", diff)
		}
	})
}

func (p pairs) String() string {
	var lines []string
	for from, tos := range p {
		for to, why := range tos {
			lines = append(lines, fmt.Sprintf("%s %s %s", to.owns[0], why, from.owns[0]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestCyclesAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, up := drawNodes(t, true)
		edges := reference(nodes, up)
		_, err := New(nodes, stated{}, Options{Parent: up.of})
		if cyclic := len(edges.plan(nodes)) < len(nodes); cyclic != (err != nil) {
			t.Fatalf("cyclic: %t, but New says: %v", cyclic, err)
		}
		if err == nil {
			return
		}
		seen := map[Key]bool{}
		for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
			if cycle := (*CycleError)(nil); errors.As(e, &cycle) {
				checkCycle(t, nodes, edges, cycle)
				for _, s := range cycle.Steps {
					if seen[s.Key] {
						t.Fatalf("%s is told in two cycles: %v", s.Key, err)
					}
					seen[s.Key] = true
				}
			} else if !errors.Is(e, errMoreCycles) {
				t.Fatalf("no cycle: %v", e)
			}
		}
		if _, again := New(rapid.Permutation(nodes).Draw(t, "other input"), stated{}, Options{Parent: up.of}); again.Error() != err.Error() {
			t.Fatalf("another order of the input, another error (-first +second):\n%s", gocmp.Diff(err.Error(), again.Error()))
		}
	})
}

func checkCycle(t *rapid.T, nodes []*node, edges pairs, cycle *CycleError) {
	find := func(s Step) *node {
		return nodes[slices.IndexFunc(nodes, func(n *node) bool { return n.owns[0] == s.Key && n.origin == s.Origin })]
	}
	seen := map[*node]bool{}
	for i, s := range cycle.Steps {
		later, earlier := find(s), find(cycle.Steps[(i+1)%len(cycle.Steps)])
		if _, ok := edges[earlier][later]; !ok || seen[later] {
			t.Fatalf("step %d is made up or comes twice in: %v", i, cycle)
		}
		seen[later] = true
		owner := earlier
		if s.Why == Ask {
			owner = later
		}
		if !slices.Contains(owner.owns, s.Via) {
			t.Fatalf("step %d: %s is no key of %s", i, s.Via, owner.owns[0])
		}
	}
}

func TestRunAgainstReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, up := drawNodes(t, false)
		edges := reference(nodes, up)
		g, err := New(nodes, stated{}, Options{Parent: up.of})
		if err != nil {
			t.Fatal(err)
		}
		fate := map[*node]error{}
		for _, n := range nodes {
			fate[n] = rapid.SampledFrom([]error{nil, nil, nil, errors.New("boom"), Wait("time")}).Draw(t, "fate")
		}
		limit := rapid.IntRange(1, 3).Draw(t, "limit")
		var first func(Node) bool
		if long := rapid.SampledFrom(append(slices.Clone(nodes), nil)).Draw(t, "first"); long != nil {
			first = func(n Node) bool { return n == Node(long) }
		}

		var running, over, early atomic.Int32
		through := map[*node]*bool{} // not atomic, so that the race detector checks that upstream nodes end before
		for _, n := range nodes {
			through[n] = new(bool)
		}
		var visited []*node
		rep := Run(context.Background(), g, RunOptions{
			Limit: limit,
			First: first,
		}, func(_ context.Context, n *node) error {
			if running.Add(1) > int32(limit) {
				over.Add(1)
			}
			defer running.Add(-1)
			if limit == 1 {
				visited = append(visited, n)
			}
			for before, afters := range edges {
				if why, ok := afters[n]; ok && why.Propagates() && !*through[before] {
					early.Add(1)
				}
			}
			if *through[n] {
				early.Add(1) // a second visit
			}
			*through[n] = true
			return fate[n]
		})
		if over.Load() > 0 || early.Load() > 0 {
			t.Fatalf("%d visits beyond the limit, %d too early or twice", over.Load(), early.Load())
		}
		inPlan := slices.DeleteFunc(slices.Clone(g.Order()), func(n *node) bool { return !*through[n] })
		if limit == 1 && first == nil && !slices.Equal(visited, inPlan) {
			t.Fatalf("one at a time, visited %s\nplanned %s", names(visited), names(inPlan))
		}
		if diff := gocmp.Diff(edges.foretell(edges.plan(nodes), fate), brief(rep)); diff != "" {
			t.Fatalf("report (-want +got):\n%s", diff)
		}
	})
}

// foretell returns how each node must end.
func (p pairs) foretell(plan []*node, fate map[*node]error) []string {
	state, root, place := map[*node]State{}, map[*node]*node{}, map[*node]int{}
	var want []string
	for i, n := range plan {
		place[n] = i
		for _, m := range plan[:i] {
			why, before := p[m][n]
			if !before || !why.Propagates() || root[m] == nil {
				continue
			}
			if old := root[n]; old == nil || cmp.Or(cmp.Compare(state[root[m]], state[old]), cmp.Compare(place[root[m]], place[old])) < 0 {
				root[n] = root[m]
			}
		}
		because := Key("")
		switch {
		case root[n] != nil && state[root[n]] == Failed:
			state[n], because = Skipped, root[n].owns[0]
		case root[n] != nil:
			state[n], because = Waiting, root[n].owns[0]
		case fate[n] == nil:
			state[n] = Done
		case IsWait(fate[n]):
			state[n], root[n] = Waiting, n
		default:
			state[n], root[n] = Failed, n
		}
		want = append(want, fmt.Sprintf("%s %s (%s)", n.owns[0], state[n], because))
	}
	return want
}

func brief(rep Report[*node]) []string {
	var got []string
	for _, r := range rep.Results {
		got = append(got, fmt.Sprintf("%s %s (%s)", r.Node.owns[0], r.State, r.Because))
	}
	return got
}
