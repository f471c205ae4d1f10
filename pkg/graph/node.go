package graph

// Node is one vertex. New calls each method once and keeps what it got; the graph knows nothing
// else of a node.
type Node interface {
	// Owns lists the keys that this node, and no other, brings about. At least one; the first is
	// the node's name.
	Owns() []Key
	// Needs lists the keys that must be right first. Whoever owns such a key comes before this
	// node, and takes it along when it fails or waits. A key that nobody owns is no error: it is
	// the host's, and the plan looks there.
	Needs() []Key
}

// Gated is a Node that says its gate. Without it a node is BeforeKubelet.
type Gated interface{ Gate() Gate }

// Sourced is a Node that says where it was asked for: "cluster.yaml:12:3", "node default". Errors
// and explain quote it.
type Sourced interface{ Origin() string }

// Asker is a Node that may ask for effects (reload, restart). An effect is a node like any other,
// that owns the key: it comes after all its askers and before all who need it. To ask for a key
// that nobody owns is a build error, since the effect would silently not happen.
type Asker interface{ Asks() []Key }

// Options of New.
type Options struct {
	// Parent names the key that holds a key (a file's directory), and false at the top. From it
	// come the edges that nobody writes out: of each owned key the ancestors are walked until one
	// is owned, whose owner comes first. It must be pure; New calls it at most once for each
	// ancestor that nobody owns. Nil: no derived edges. PathParent fits paths.
	Parent func(Key) (Key, bool)
	// After names, by a node's first key, keys that it needs in this set besides its own
	// [Node.Needs]: what only who puts the set together can know, as that links are made after
	// those of another network went. Nil: none.
	After func(first Key) []Key
}

// Reason says why an edge exists, and by that whether failure travels along it.
type Reason uint8

const (
	// Need: the later node needs a key of the earlier one.
	Need Reason = iota
	// Parent: a key of the later node lies under a key of the earlier one.
	Parent
	// Ask: the earlier node may ask for the later one, an effect.
	Ask
)

// Propagates says whether a failed or waiting node takes along the one after it. Ask only orders:
// an effect runs although one of its askers failed, because another may have asked; whether any did
// is for the visitor to know.
func (r Reason) Propagates() bool { return r != Ask }

// String is the verb as explain prints it: "needs", "lies under", "asks for".
func (r Reason) String() string {
	switch r {
	case Need:
		return "needs"
	case Parent:
		return "lies under"
	case Ask:
		return "asks for"
	}
	return "unknown reason"
}

// origin is where a node was asked for, in words also where the node does not say.
func origin(n Node) string {
	if s, ok := n.(Sourced); ok {
		if o := s.Origin(); o != "" {
			return o
		}
	}
	return "origin unknown"
}

// gate is a node's gate.
func gate(n Node) Gate {
	if g, ok := n.(Gated); ok {
		return g.Gate()
	}
	return BeforeKubelet
}
