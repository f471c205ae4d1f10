package kops

import (
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
)

// These are the names in kOps' own state store, by release:
// https://github.com/kubernetes/kops/blob/master/pkg/client/simple/vfsclientset/cluster.go
// https://github.com/kubernetes/kops/blob/master/pkg/apis/nodeup/config.go

// Clusters are the cluster's documents, in the order in which they are preferred. The first two
// have all defaults filled in, as of the cluster's last update. config is what the user writes.
var Clusters = []string{"cluster-completed.spec", "cluster.spec", "config"} // from 1.22, up to 1.21, all releases

// Group returns the name of a node group's document, as users write it.
func Group(group string) string { return "instancegroup/" + group }

// Nodeup returns the name of a node group's document as nodeup reads it (from 1.22), in the
// directory of a role.
func Nodeup(dir, group string) string {
	return path.Join("igconfig", dir, group, "nodeupconfig.yaml")
}

// Nodeups returns all names that the nodeup document of a group may have if the group's role is not
// known.
func Nodeups(group string) []string {
	var out []string
	for _, role := range []string{RoleNode, RoleControlPlane, RoleAPIServer, RoleBastion} {
		out = append(out, NodeupsOf(role, group)...)
	}
	return out
}

// KindOf returns which kind of document one of kOps' own names must hold, and the name of its
// group. The kind is "" if kOps has no such name.
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

// From reports whether a document has one of kOps' own names.
func From(file string) bool {
	kind, _ := KindOf(file)
	return kind != ""
}

// nodeupDirs are kOps' names for the directory of each role. "master" was the control plane's up to
// 1.25.
var nodeupDirs = map[string][]string{
	RoleNode: {"node"}, RoleControlPlane: {"control-plane", "master"}, RoleAPIServer: {"apiserver"},
	RoleBastion: {"bastion"},
}

// NodeupsOf returns the names that the nodeup document of a group with that role may have, in the
// order in which they are tried.
func NodeupsOf(role, group string) []string {
	var out []string
	for _, dir := range nodeupDirs[role] {
		out = append(out, Nodeup(dir, group))
	}
	return out
}
