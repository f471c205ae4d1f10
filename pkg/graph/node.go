package graph

// Node is one vertex. The graph knows only its keys and what [Dependencies] tells New.
type Node interface {
	// Owns returns the keys that only this node makes right. There is at least one; the first is
	// the node's name.
	Owns() []Key
}

// Dependencies tells New about a node, besides its keys. The graph keeps only gates and edges of
// it.
type Dependencies[N Node] interface {
	// Gate returns the gate in which the node must be right.
	Gate(N) Gate
	// Origin returns where the node was asked for: "cluster.yaml:12:3", "node default". Errors
	// quote it.
	Origin(N) string
	// Needs returns the keys that must be right first. The owner of such a key comes before this
	// node; where the owner fails or waits, this node is not visited. A key without an owner is no
	// error: it belongs to the host, and the plan looks there.
	Needs(N) []Key
	// Effects returns the effects (reload, restart) that the node may ask for. An effect is a node
	// that owns the key: it comes after all nodes that ask for it and before all that need it. To
	// ask for a key without an owner is an error of New, because the effect would silently not
	// happen.
	Effects(N) []Key
}

// Options are the options of New.
type Options struct {
	// Parent returns the key above a key (a file's directory), and false at the top. New derives
	// edges from it: it walks the ancestors of each owned key up to the first owned one, whose
	// owner comes first. Parent must be pure; New calls it at most once for each unowned ancestor.
	// Nil: no derived edges. PathParent is one for paths.
	Parent func(Key) (Key, bool)
	// Requires has, by a node's first key, keys that it needs in addition to its [Dependencies]. It
	// is for needs that only the caller of New can know, for example that links are made after
	// those of another network were removed. Nil: none.
	Requires map[Key][]Key
}

// Reason says why an edge exists, and so whether a failure passes along it.
type Reason uint8

const (
	// Need: the later node needs a key of the earlier one.
	Need Reason = iota
	// Parent: a key of the earlier node is above a key of the later one.
	Parent
	// Ask: the earlier node may ask for the later one, an effect.
	Ask
)

// Propagates reports whether a failed or waiting node blocks the node after it. Ask only orders: an
// effect runs although one of its nodes failed, because another one may have asked for it. The
// visit must know whether any node did.
func (r Reason) Propagates() bool { return r != Ask }

// String returns the verb that explain prints: "needs", "lies under", "asks for".
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
