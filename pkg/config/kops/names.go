package kops

import (
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
)

// What kOps itself keeps in its state store, by release:
// https://github.com/kubernetes/kops/blob/master/pkg/client/simple/vfsclientset/cluster.go
// https://github.com/kubernetes/kops/blob/master/pkg/apis/nodeup/config.go

// Clusters are the cluster's documents, the one to read first. The first two have all defaults
// filled in, as they were when the cluster was last updated; config is what the user writes.
var Clusters = []string{"cluster-completed.spec", "cluster.spec", "config"} // from 1.22, to 1.21, all

// Group is the name of a node group's document, as users write it.
func Group(group string) string { return "instancegroup/" + group }

// Nodeup is the name of a node group's document as nodeup reads it (from 1.22), in the
// directory of a role.
func Nodeup(dir, group string) string {
	return path.Join("igconfig", dir, group, "nodeupconfig.yaml")
}

// Nodeups are the names that a group's may have whose role is not known.
func Nodeups(group string) []string {
	var out []string
	for _, role := range []string{RoleNode, RoleControlPlane, RoleAPIServer, RoleBastion} {
		out = append(out, NodeupsOf(role, group)...)
	}
	return out
}

// KindOf says which kind of document one of kOps' own names must hold, and the name of its group;
// the empty kind: the name is none of kOps'.
func KindOf(file string) (kind, name string) {
	parts := strings.Split(file, "/")
	switch {
	case slices.Contains(Clusters, file):
		return decode.KindCluster, ""
	case len(parts) == 2 && file == Group(parts[1]):
		return decode.KindNodeGroup, parts[1]
	case len(parts) == 4 && file == Nodeup(parts[1], parts[2]):
		return KindNodeup, parts[2]
	}
	return "", ""
}

// From reports whether a document bears one of kOps' own names.
func From(file string) bool {
	kind, _ := KindOf(file)
	return kind != ""
}

// nodeupDirs are the names that kOps has given to the directory of a role, and "master" to that of
// the control plane up to 1.25.
var nodeupDirs = map[string][]string{
	RoleNode: {"node"}, RoleControlPlane: {"control-plane", "master"}, RoleAPIServer: {"apiserver"},
	RoleBastion: {"bastion"},
}

// NodeupsOf are the names that the document of a group of that role may have, the first to be read
// first.
func NodeupsOf(role, group string) []string {
	var out []string
	for _, dir := range nodeupDirs[role] {
		out = append(out, Nodeup(dir, group))
	}
	return out
}
