package config

import (
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
)

// dialect is how documents of one apiVersion are written: which kinds there are, which fields go by
// another name, and how strict we are.
type dialect struct {
	apiVersion string
	kinds      map[string]string // kind as written → KindCluster, KindNodeGroup, KindNode
	spelling   map[string]string // path as written → our name of its last part
	// lenient: fields that we do not know are skipped, and YAML 1.1's yes and no are booleans.
	// spec.networking stays strict.
	lenient bool
	// nested: the cluster's address ranges and topology are under spec.networking.
	nested bool
}

// The kinds of documents.
const (
	KindCluster   = "Cluster"
	KindNodeGroup = "NodeGroup"
	KindNode      = "Node"
)

var strict = dialect{
	apiVersion: "netwright.dev/v1alpha1",
	kinds:      map[string]string{KindCluster: KindCluster, KindNodeGroup: KindNodeGroup, KindNode: KindNode},
}

// spell is our name for a field that the document writes as key under at.
func (d *dialect) spell(at, key string) string {
	if len(d.spelling) > 0 {
		if name, ok := d.spelling[at+"."+key]; ok {
			return name
		}
	}
	return key
}

// skips tells that an unknown field under at is no error.
func (d *dialect) skips(at string) bool {
	return d.lenient && (at == "spec.networking.topology" || at != "spec.networking" && !strings.HasPrefix(at, "spec.networking."))
}

// specDocument is a document with the dialect that its fields are read in.
type specDocument struct {
	*document.Document
	dialect *dialect
}

// newSpecDocument is a source on its way; its dialect is ours until its header says another.
func newSpecDocument(s document.Source) *specDocument { return &specDocument{document.New(s), &strict} }
