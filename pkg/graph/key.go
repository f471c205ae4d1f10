package graph

import "strings"

// Key names one piece of host state as "kind:name": file:/etc/x, sysctl:net.ipv4.ip_forward,
// link:cbr0, effect:daemon-reload. A key has at most one owner in a graph. The kind ends at the
// first colon, so a name may contain colons.
type Key string

// MakeKey joins a kind and a name. The kind must contain no colon.
func MakeKey(kind, name string) Key { return Key(kind + ":" + name) }

// Kind returns the part before the first colon; the whole key where there is none.
func (k Key) Kind() string {
	kind, _, _ := strings.Cut(string(k), ":")
	return kind
}

// Name returns the part after the first colon; empty where there is none.
func (k Key) Name() string {
	_, name, _ := strings.Cut(string(k), ":")
	return name
}

// PathParent is an Options.Parent for keys whose names are absolute paths: file:/a/b → file:/a →
// file:/ → none. Other names have no parent. The paths must be clean (no "//", no "..", no slash at
// the end). The parent has the same kind; a caller that needs another kind (a mount on a directory)
// wraps PathParent. It allocates no memory.
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

// Gate says which part of the boot a node belongs to. In the plan all nodes of an earlier gate come
// before those of a later one, and New refuses a node of an earlier gate that comes after one of a
// later gate. A gate is no barrier at run time: a node of the later gate starts when what it needs
// is done and no node of an earlier gate is ready.
type Gate int

const (
	// BeforeKubelet is for what must be right before kubelet starts, and with it everything that
	// the node runs.
	BeforeKubelet Gate = iota
	// AfterKubelet is for what may wait for something that only a running kubelet makes.
	AfterKubelet

	gateCount = iota
)

// String returns the gate as the plan and the documents write it.
func (g Gate) String() string {
	switch g {
	case BeforeKubelet:
		return "before-kubelet"
	case AfterKubelet:
		return "after-kubelet"
	}
	return "unknown gate"
}
