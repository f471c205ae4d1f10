package decode

import "github.com/netwright/netwright/pkg/config/document"

// Dialect is how documents of one apiVersion are written: which kinds there are, which fields go by
// another name, and how strict we are.
type Dialect struct {
	APIVersion string
	Kinds      map[string]string // kind as written → KindCluster, KindNodeGroup, KindNode
	Spelling   map[string]string // path as written → our name of its last part
	// Lenient: what kOps takes, and our own documents do not, such as YAML 1.1's yes and no.
	Lenient bool
	Skips   func(at string) bool // whether an unknown field under a path is no error; nil: it is one
	// Nested: the cluster's address ranges and topology are under spec.networking.
	Nested bool
}

// The kinds of documents.
const (
	KindCluster   = "Cluster"
	KindNodeGroup = "NodeGroup"
	KindNode      = "Node"
)

// Strict is how documents of our own are written.
var Strict = Dialect{
	APIVersion: "netwright.dev/v1alpha1",
	Kinds:      map[string]string{KindCluster: KindCluster, KindNodeGroup: KindNodeGroup, KindNode: KindNode},
}

// spell is our name for a field that the document writes as key under at.
func (d *Dialect) spell(at, key string) string {
	if len(d.Spelling) > 0 {
		if name, ok := d.Spelling[at+"."+key]; ok {
			return name
		}
	}
	return key
}

// skips reports whether an unknown field under at is no error.
func (d *Dialect) skips(at string) bool {
	return d.Skips != nil && d.Skips(at)
}

// Doc is a document with the dialect that its fields are read in.
type Doc struct {
	*document.Document
	Dialect *Dialect
	Kind    string // what it must be, by its path: KindCluster, KindNodeGroup, KindNode, or kOps' own
}

// NewDoc is a source on its way; its dialect is ours until its header says another.
func NewDoc(s document.Source) *Doc {
	return &Doc{Document: document.New(s), Dialect: &Strict}
}
