package manifest

import (
	"slices"

	"github.com/netwright/netwright/pkg/config/kops"
)

// kopsLayout has the names of those objects in kOps' own store that matter to a node, since kOps
// 1.18: the cluster that `kops update` completed (one name from 1.22, another up to 1.21), the
// cluster that the user wrote, the node groups that the user wrote, and the node groups for nodeup
// (from 1.22). The pki files have the names of [Layout].
// https://kops.sigs.k8s.io/state/
var kopsLayout = append(slices.Clone(kops.Clusters), kops.Group("*"), kops.Nodeup("*", "*"))

// ClusterDocuments are the names that the cluster document may have, in the order in which readers
// look for them. One of them must exist.
var ClusterDocuments = append([]string{ClusterDocument}, kops.Clusters...)

// KopsApart are the other names in kOps' own store. They belong to its control plane or to kOps
// itself, or matter to no node's network.
// https://github.com/kubernetes/kops/blob/master/pkg/client/simple/vfsclientset/clientset.go
var KopsApart = []string{"addons", "backups", "clusteraddons", "igconfig/*/*/nodeupscript.sh", "kops-version.txt",
	"manifests", "openid", "pki/ssh", "secrets"}

// IsKopsObject reports whether name is an object of kOps' own store that we read.
func IsKopsObject(name string) bool { return Matches(kopsLayout, name) }

// IsKopsStore reports whether the names in a cluster's directory are those of kOps' own store.
func IsKopsStore(names []string) bool {
	has := func(name string) bool { return slices.Contains(names, name) }
	return !has(ClusterDocument) && slices.ContainsFunc(kops.Clusters, has)
}
