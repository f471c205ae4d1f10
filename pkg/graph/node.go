package graph

// Node is one vertex. The graph knows nothing else of a node than its keys, and what New gets of
// it: [Dependencies].
type Node interface {
	// Owns lists the keys that this node, and no other, brings about. At least one; the first is
	// the node's name.
	Owns() []Key
}

// Dependencies is what New has to know of nodes besides their keys. New keeps nothing of it
// but gates and edges.
type Dependencies[N Node] interface {
	// Gate says before what the node must be right.
	Gate(N) Gate
	// Origin is where the node was asked for: "cluster.yaml:12:3", "node default". Errors quote it.
	Origin(N) string
	// Needs lists the keys that must be right first. Whoever owns such a key comes before this
	// node, and takes it along when it fails or waits. A key that nobody owns is no error: it is
	// the host's, and the plan looks there.
	Needs(N) []Key
	// Effects lists the effects (reload, restart) that the node may ask for. An effect is a node
	// like any other, that owns the key: it comes after all its askers and before all who need it.
	// To ask for a key that nobody owns is a build error, since the effect would silently not
	// happen.
	Effects(N) []Key
}

// Options of New.
type Options struct {
	// Parent names the key that holds a key (a file's directory), and false at the top. From it
	// come the edges that nobody writes out: of each owned key the ancestors are walked until one
	// is owned, whose owner comes first. It must be pure; New calls it at most once for each
	// ancestor that nobody owns. Nil: no derived edges. PathParent fits paths.
	Parent func(Key) (Key, bool)
	// Requires names, by a node's first key, keys that it needs in this set besides those of its
	// [Dependencies]: what only who puts the set together can know, as that links are made after
	// those of another network went. Nil: none.
	Requires map[Key][]Key
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
