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

// kopsEarlyGroup is what kOps called its API group before it was [kopsGroup]. It reads both still.
// https://github.com/kubernetes/kops/blob/master/pkg/kopscodecs/codecs.go
const (
	kopsEarlyGroup = "kops/"
	kopsGroup      = "kops.k8s.io/"
)

// kops is the API version that kOps has always served to users; the spellings are those of its
// releases 1.4 to 1.37.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/v1alpha2/networking.go
var kops = dialect{
	apiVersion: kopsGroup + "v1alpha2",
	kinds:      map[string]string{"Cluster": KindCluster, "InstanceGroup": KindNodeGroup},
	spelling: map[string]string{
		"spec.topology.masters":      "controlPlane",
		"spec.networking.amazonvpc":  "amazonVPC",
		"spec.networking.kuberouter": "kubeRouter",
		"spec.networking.gce":        "gcp",
		"spec.kubelet.configureCBR0": "configureCbr0",
	},
	lenient: true,
}

// kopsThree is kOps' next version: the fields of the cluster's network are under spec.networking,
// names are ours, and the cloud is a mapping of that name.
// https://github.com/kubernetes/kops/blob/master/pkg/apis/kops/v1alpha3/networking.go
var kopsThree = dialect{
	apiVersion: kopsGroup + "v1alpha3",
	kinds:      kops.kinds,
	spelling:   map[string]string{"spec.kubelet.configureCBR0": "configureCbr0"},
	lenient:    true,
	nested:     true,
}

// dialects we read, in the order in which a diagnostic lists them.
var dialects = [...]*dialect{&strict, &kops, &kopsThree}

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
