package graph

import "strings"

// Key names one piece of host state as "kind:name": file:/etc/x, sysctl:net.ipv4.ip_forward,
// link:cbr0, effect:daemon-reload. A key has at most one owner in a graph. The kind ends at the
// first colon, so a name may hold more.
type Key string

// MakeKey joins a kind and a name. The kind must hold no colon.
func MakeKey(kind, name string) Key { return Key(kind + ":" + name) }

// Kind is what stands before the first colon; all of the key where there is none.
func (k Key) Kind() string {
	kind, _, _ := strings.Cut(string(k), ":")
	return kind
}

// Name is what stands after the first colon; empty where there is none.
func (k Key) Name() string {
	_, name, _ := strings.Cut(string(k), ":")
	return name
}

// PathParent is an Options.Parent for keys whose names are absolute paths: file:/a/b → file:/a →
// file:/ → none. Other names have no parent. The paths must be clean (no "//", no "..", no slash at
// the end). The kind stays; where a parent is of another kind (a mount upon a directory), wrap it.
// It allocates nothing.
func PathParent(k Key) (Key, bool) {
	root, slash := strings.IndexByte(string(k), ':')+1, strings.LastIndexByte(string(k), '/')
	switch {
	case root == 0 || root == len(k) || k[root] != '/' || slash == len(k)-1:
		return "", false
	case slash == root:
		return k[:slash+1], true
	}
	return k[:slash], true
}

// Gate says which part of the boot a node belongs to. The plan has the whole of an earlier gate
// before a later one, and nothing of an earlier gate may come after a node of a later one: New
// refuses that. A gate is no barrier at run time: a node of the later gate starts when what it
// needs is done and nothing earlier is ready.
type Gate int

const (
	// BeforeKubelet is what must be right before kubelet, and with it everything that the node
	// runs, may start.
	BeforeKubelet Gate = iota
	// AfterKubelet is what may wait for what only a running kubelet brings.
	AfterKubelet

	gateCount = iota
)

// String is the gate as the plan and the documents write it.
func (g Gate) String() string {
	switch g {
	case BeforeKubelet:
		return "before-kubelet"
	case AfterKubelet:
		return "after-kubelet"
	}
	return "unknown gate"
}
