package manifest

import (
	"slices"

	"github.com/netwright/netwright/pkg/config/kops"
)

// kopsLayout is what kOps itself keeps of a cluster and concerns a node, since 1.18: what its
// update filled in (from 1.22, to 1.21), what a user writes, node groups as users write them, and
// as nodeup reads them (from 1.22). Its pki files have the names of [Layout].
// https://kops.sigs.k8s.io/state/
var kopsLayout = append(slices.Clone(kops.Clusters), kops.Group("*"), kops.Nodeup("*", "*"))

// ClusterDocuments are the names of the cluster's document, of which one must be there, in the
// order in which they are looked for.
var ClusterDocuments = append([]string{ClusterDocument}, kops.Clusters...)

// KopsApart are the other names of a store of kOps: its control plane's, its own, and those that
// concern no node's network.
// https://github.com/kubernetes/kops/blob/master/pkg/client/simple/vfsclientset/clientset.go
var KopsApart = []string{"addons", "backups", "clusteraddons", "igconfig/*/*/nodeupscript.sh", "kops-version.txt",
	"manifests", "openid", "pki/ssh", "secrets"}

// IsKopsObject reports whether kOps keeps an object of this name that is read.
func IsKopsObject(name string) bool { return Matches(kopsLayout, name) }

// IsKopsStore tells by the names in a cluster's directory that kOps keeps it.
func IsKopsStore(names []string) bool {
	has := func(name string) bool { return slices.Contains(names, name) }
	return !has(ClusterDocument) && slices.ContainsFunc(kops.Clusters, has)
}
