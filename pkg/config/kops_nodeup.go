package config

import (
	"fmt"
	"slices"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/kops"
)

// nodeupOf returns the NodeupConfig of a group, or nil if there is none.
func (l *loader) nodeupOf(group, role string) *decode.Doc {
	for _, name := range kops.NodeupsOf(role, group) {
		if doc := l.docs[name]; doc != nil {
			return doc
		}
	}
	return nil
}

// nodeup reads a NodeupConfig.
func (r *reader) nodeup(d *decode.Decoder) {
	n := r.node
	var plugins kops.Plugins
	d.At(d.Doc.Root, "spec").Mapping(append(r.nodeupSpec(), plugins.Fields()...))
	setPlugins(d, &plugins, n)
}

// nodeupSpec returns the fields of a NodeupConfig that are read. They have the names of a node
// group's fields.
func (r *reader) nodeupSpec() []decode.Field {
	n := r.node
	wanted := []string{"kubernetesVersion", "kubelet", "sysctlParameters", "fileAssets", "containerd"}
	return append(slices.DeleteFunc(r.common(), func(f decode.Field) bool { return !slices.Contains(wanted, f.Name) }),
		decode.Ports("serviceNodePortRange", &n.NodePortRange))
}

// setPlugins makes an asset of the plugins that kOps installs, with kOps' hash and URLs. They may
// come from the user (CNI_VERSION_URL) or from a mirror. An asset that another document names comes
// first.
func setPlugins(d *decode.Decoder, p *kops.Plugins, n *Node) {
	if slices.ContainsFunc(n.Assets, func(a extras.Asset) bool { return a.Name == kops.PluginsAsset }) {
		return
	}
	archives, own := p.Archives()
	n.kops.ownPlugins = n.kops.ownPlugins || own
	if len(archives) == 0 {
		return
	}
	asset := extras.Asset{Name: kops.PluginsAsset, Arch: map[string]extras.AssetFile{}}
	for _, a := range archives {
		asset.Arch[a.Arch] = extras.AssetFile{SHA256: a.SHA256, URLs: a.URLs}
		asset.Origin, asset.Version = a.Origin, a.Version
	}
	n.Assets = append(n.Assets, asset)
	d.Origins[fmt.Sprintf("spec.assets[%s]", asset.Name)] = asset.Origin
}

// leftOut adds a note about what is left to nodeup. It looks at the document that people write, not
// at the one that kOps made from it.
func (l *loader) leftOut() {
	cluster := l.cluster
	if written := l.docs["config"]; written != nil && kops.From(l.cluster.Path) {
		cluster = written
	}
	docs := l.groups
	if cluster != nil {
		docs = append([]*decode.Doc{cluster}, docs...)
	}
	if note, found := kops.LeftOut(docs); found {
		l.lost(note)
	}
}

// sysctlsLast makes a cluster's sysctls win over a group's, as in kOps: nodeup writes them into one
// file after the group's, and the last value counts.
// https://github.com/kubernetes/kops/blob/release-1.27/nodeup/pkg/model/sysctls.go
func (l *loader) sysctlsLast(n *Node) {
	if said := l.cluster.Root.Get("spec").Get("sysctlParameters"); said != nil && n.kops.cluster {
		d := decode.Decoder{Doc: l.cluster, Origins: n.origins, Checks: l.checks, Hints: hints{}}
		extras.Sysctls(&n.SysctlParameters).Set(d.At(said, "spec.sysctlParameters"))
	}
}
