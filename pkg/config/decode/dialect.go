package decode

import "github.com/netwright/netwright/pkg/config/document"

// Dialect is how documents of one apiVersion are written: which kinds exist, which fields have
// another name, and how strictly they are read.
type Dialect struct {
	APIVersion string
	Kinds      map[string]string // kind as written → KindCluster, KindNodeGroup, KindNode
	Spelling   map[string]string // path as written → the agent's name for its last part
	// Lenient accepts what kOps accepts and the agent's own documents do not, such as YAML 1.1's
	// yes and no.
	Lenient bool
	Skips   func(at string) bool // whether an unknown field under a path is accepted; nil: it is not
	// Nested means that the cluster's address ranges and topology are under spec.networking.
	Nested bool
}

// These are the kinds of documents.
const (
	KindCluster   = "Cluster"
	KindNodeGroup = "NodeGroup"
	KindNode      = "Node"
)

// Strict is the dialect of the agent's own documents.
var Strict = Dialect{
	APIVersion: "netwright.dev/v1alpha1",
	Kinds:      map[string]string{KindCluster: KindCluster, KindNodeGroup: KindNodeGroup, KindNode: KindNode},
}

// spell returns the agent's name for a field that the document writes as key under at.
func (d *Dialect) spell(at, key string) string {
	if len(d.Spelling) > 0 {
		if name, ok := d.Spelling[at+"."+key]; ok {
			return name
		}
	}
	return key
}

// skips reports whether an unknown field under at is accepted.
func (d *Dialect) skips(at string) bool {
	return d.Skips != nil && d.Skips(at)
}

// Doc is a document, with the dialect in which its fields are read.
type Doc struct {
	*document.Document
	Dialect *Dialect
	Kind    string // the required kind, from the path: KindCluster, KindNodeGroup, KindNode, or kOps' own
}

// NewDoc returns the document of a source. Its dialect is [Strict] until its header names another.
func NewDoc(s document.Source) *Doc {
	return &Doc{Document: document.New(s), Dialect: &Strict}
}
