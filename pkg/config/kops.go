package config

import (
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
)

// What kOps itself keeps in its state store, by release:
// https://github.com/kubernetes/kops/blob/master/pkg/client/simple/vfsclientset/cluster.go
// https://github.com/kubernetes/kops/blob/master/pkg/apis/nodeup/config.go

// KopsClusters are the cluster's documents, the one to read first. The first two have all defaults
// filled in, as they were when the cluster was last updated; config is what the user writes.
var KopsClusters = []string{"cluster-completed.spec", "cluster.spec", "config"} // from 1.22, to 1.21, all

// KopsGroup is the name of a node group's document, as users write it.
func KopsGroup(group string) string { return "instancegroup/" + group }

// KopsNodeup is the name of a node group's document as nodeup reads it (from 1.22), in the
// directory of a role.
func KopsNodeup(dir, group string) string {
	return path.Join("igconfig", dir, group, "nodeupconfig.yaml")
}

// KopsNodeups are the names that a group's may have whose role is not known.
func KopsNodeups(group string) []string {
	var out []string
	for _, role := range []string{RoleNode, RoleControlPlane, RoleAPIServer, RoleBastion} {
		for _, dir := range nodeupDirs[role] {
			out = append(out, KopsNodeup(dir, group))
		}
	}
	return out
}

// kindNodeup is a node group's part as kOps' nodeup reads it (from 1.22). It has no header.
const kindNodeup = "NodeupConfig"

// nodeup is how a NodeupConfig is written. Its Networking is a part of the cluster's, and not read.
var nodeup = decode.Dialect{
	APIVersion: "nodeup.kops.k8s.io",
	Spelling: map[string]string{
		"spec.KubeletConfig":         "kubelet",
		"spec.KubernetesVersion":     "kubernetesVersion",
		"spec.SysctlParameters":      "sysctlParameters",
		"spec.FileAssets":            "fileAssets",
		"spec.containerdConfig":      "containerd",
		"spec.ContainerdConfig":      "containerd",
		"spec.kubelet.configureCBR0": "configureCbr0",
		"spec.ServiceNodePortRange":  "serviceNodePortRange",
	},
	Lenient: true,
}

// kindOfKops is [kindOf] for kOps' own names.
func kindOfKops(file string) (kind, name string) {
	parts := strings.Split(file, "/")
	switch {
	case slices.Contains(KopsClusters, file):
		return decode.KindCluster, ""
	case len(parts) == 2 && file == KopsGroup(parts[1]):
		return decode.KindNodeGroup, parts[1]
	case len(parts) == 4 && file == KopsNodeup(parts[1], parts[2]):
		return kindNodeup, parts[2]
	}
	return "", ""
}

// fromKops tells that a document bears one of kOps' own names.
func fromKops(file string) bool {
	kind, _ := kindOfKops(file)
	return kind != ""
}

// nodeupDirs are the names that kOps has given to the directory of a role, and "master" to that of
// the control plane up to 1.25.
var nodeupDirs = map[string][]string{
	RoleNode: {"node"}, RoleControlPlane: {"control-plane", "master"}, RoleAPIServer: {"apiserver"}, RoleBastion: {"bastion"},
}

// nodeupOf is the NodeupConfig of a group; nil: there is none.
func (l *loader) nodeupOf(group, role string) *decode.Document {
	for _, dir := range nodeupDirs[role] {
		if doc := l.docs[KopsNodeup(dir, group)]; doc != nil {
			return doc
		}
	}
	return nil
}

// nodeup reads a NodeupConfig.
func (r *reader) nodeup(d *decode.Decoder) {
	n := r.node
	var plugins kopsPlugins
	d.Mapping(d.Doc.Root, "spec", append(r.nodeupSpec(), kopsPluginFields(&plugins)...))
	setKopsPlugins(d, &plugins, n)
}

// nodeupSpec are the fields of a NodeupConfig that we read, by the names of a group's.
func (r *reader) nodeupSpec() []decode.Field {
	n := r.node
	wanted := []string{"kubernetesVersion", "kubelet", "sysctlParameters", "fileAssets", "containerd"}
	return append(slices.DeleteFunc(r.common(), func(f decode.Field) bool { return !slices.Contains(wanted, f.Name) }),
		decode.Field{Name: "serviceNodePortRange", Set: decode.Ports(&n.NodePortRange)})
}
