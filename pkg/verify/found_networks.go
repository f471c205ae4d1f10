package verify

import (
	"cmp"
	"slices"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// FoundVersion names the JSON form of [Found].
const FoundVersion = "netwright.dev/found/v1"

// Found is what networks left on a host, and which networks it may be from.
type Found struct {
	Version string `json:"version"`
	// Current is the network that this node last converged to; "": none.
	Current string `json:"inForce,omitempty"`
	// LooksLike are the networks that explain the things that are not the current network's, those
	// with the most things first.
	LooksLike []Verdict `json:"looksLike,omitempty"`
	Things    []Thing   `json:"things"`
}

// Verdict is one network that was here, or several that cannot be distinguished.
type Verdict struct {
	Networks []string `json:"networks"`
	Things   int      `json:"things"`
}

// Thing is one thing that has the name or mark of a network, or of several.
type Thing struct {
	Key      graph.Key `json:"key"`
	Detail   string    `json:"what"`
	Networks []string  `json:"networks"`          // whose mark it may be
	Of       []string  `json:"of,omitempty"`      // those of them in the verdict
	Current  bool      `json:"inForce,omitempty"` // it belongs to the current network
	Ours     bool      `json:"ours,omitempty"`    // it is in the ledger: the agent made it, or keeps it right
}

// Claim is what has the names and marks of one network on this host.
type Claim struct {
	Network string
	Conf    bool // its own conf is in the runtime's directory
	Found   []tasks.Found
}

// Judge lists each thing once, whoever claims it. Things of the current network and of the agent
// are left by no network. The others are explained by as few networks as possible: first the
// network that claims most of them, then the one that claims most of the rest, and so on.
func Judge(claims []Claim, inForce string, ours func(graph.Key) bool) Found {
	out := Found{Version: FoundVersion, Current: inForce, Things: []Thing{}}
	type identity struct {
		key  graph.Key
		what string
	}
	at := map[identity]int{}
	conf := map[string]bool{}
	for _, c := range claims {
		conf[c.Network] = c.Conf
		for _, f := range c.Found {
			id := identity{f.Key, f.Detail}
			i, known := at[id]
			if !known {
				i = len(out.Things)
				at[id] = i
				out.Things = append(out.Things, Thing{Key: f.Key, Detail: f.Detail, Ours: ours(f.Key)})
			}
			t := &out.Things[i]
			t.Networks = append(t.Networks, c.Network)
			if c.Network == inForce {
				t.Current, t.Of = true, []string{inForce}
			}
		}
	}
	for {
		v, explained := next(out.Things, conf)
		if len(explained) == 0 {
			return out
		}
		for _, t := range explained {
			t.Of = v.Networks
		}
		out.LooksLike = append(out.LooksLike, v)
	}
}

// next returns the network that explains most of the unexplained things.
func next(things []Thing, conf map[string]bool) (Verdict, []*Thing) {
	claimed := map[string][]*Thing{}
	var names []string
	for i := range things {
		t := &things[i]
		if t.Of != nil || t.Ours {
			continue
		}
		for _, n := range t.Networks {
			if claimed[n] == nil {
				names = append(names, n)
			}
			claimed[n] = append(claimed[n], t)
		}
	}
	if len(names) == 0 {
		return Verdict{}, nil
	}
	alone := func(n string) (count int) {
		for _, t := range claimed[n] {
			if len(t.Networks) == 1 {
				count++
			}
		}
		return count
	}
	confs := func(n string) int {
		if conf[n] {
			return 1
		}
		return 0
	}
	better := func(a, b string) int {
		return cmp.Or(cmp.Compare(len(claimed[b]), len(claimed[a])), cmp.Compare(alone(b), alone(a)),
			cmp.Compare(confs(b), confs(a)))
	}
	slices.SortStableFunc(names, better)
	v := Verdict{Things: len(claimed[names[0]])}
	for _, n := range names {
		if better(names[0], n) == 0 {
			v.Networks = append(v.Networks, n)
		}
	}
	return v, claimed[names[0]]
}
