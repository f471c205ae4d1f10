package config

import (
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/host/hostfs"
)

// The fields of the three kinds. A cluster says what holds for all; a node group and a node say
// again, for theirs, whatever may differ between nodes.

// reader knows the fields of a kind of document, and reads them onto a node.
type reader struct {
	node    *Node
	dialect *dialect
	kinds   []string       // of keys: what spec.drift may name
	files   []hostfs.Named // of the store, sorted: what fileAssets name by source
}

func (r *reader) cluster() []field {
	n, fields := r.node, r.common()
	if r.dialect.nested {
		fields = append(fields, field{name: "cloudProvider", set: cloudName(&n.CloudProvider)})
	} else {
		fields = append(append(fields, field{name: "cloudProvider", set: Text(&n.CloudProvider, nil)}), r.ranges()...)
	}
	if r.dialect.lenient {
		return append(fields, field{name: "kubeAPIServer", set: func(d *decoder, v *document.Value, at string) {
			d.mapping(v, at, []field{{name: "serviceNodePortRange", set: func(d *decoder, v *document.Value, at string) {
				d.origins["spec.serviceNodePortRange"] = d.origins[at]
				Ports(&n.NodePortRange)(d, v, at)
			}}})
		}})
	}
	return append(fields, field{name: "serviceNodePortRange", set: Ports(&n.NodePortRange)})
}

// rangesSpec are the cluster's fields that kOps moved from spec to spec.networking with v1alpha3.
func (r *reader) ranges() []field {
	n := r.node
	fields := []field{
		{name: "topology", set: Into(func() []field { return n.Topology.fields() })},
		{name: "podCIDR", set: CIDRs(&n.PodCIDR)},
		{name: "nonMasqueradeCIDR", set: CIDRs(&n.NonMasqueradeCIDR)},
		{name: "serviceClusterIPRange", set: CIDRs(&n.ServiceClusterIPRange)},
		{name: "networkCIDR", set: CIDRs(&n.NetworkCIDR)},
	}
	if !r.dialect.nested {
		return fields
	}
	for i := range fields { // the origin is asked for where our own documents say it
		f := fields[i]
		fields[i].set = func(d *decoder, v *document.Value, at string) {
			d.origins["spec."+f.name] = d.origins[at]
			f.set(d, v, at)
		}
		fields[i].unlisted = true
	}
	for _, name := range nestedIgnored {
		fields = append(fields, field{name: name, set: Unread, unlisted: true})
	}
	return fields
}

// nestedIgnored are fields of kOps' spec.networking that do not concern a node.
var nestedIgnored = [...]string{"networkID", "additionalNetworkCIDRs", "subnets", "tagSubnets", "egressProxy", "isolateControlPlane"}

// cloud reads kOps' later form of the cloud: a mapping with one key, its name.
func cloudName(to *string) set {
	return func(d *decoder, v *document.Value, at string) {
		if v.Kind != document.KindMap || len(v.Entries) != 1 {
			d.wrongKind(v, at, "a mapping of one cloud such as aws: {}")
			return
		}
		*to = v.Entries[0].Key
	}
}

func (r *reader) group() []field {
	n := r.node
	var unread int // [loader.size] counts all groups
	return append(r.common(),
		field{name: "role", set: func(d *decoder, v *document.Value, at string) {
			n.kops.role = d.doc.dialect.lenient
			roleName(&n.Role)(d, v, at)
		}},
		field{name: "minSize", set: Number(&unread, 0, 100_000), about: "how few nodes the whole group has; kubenet's routes are held against what the cloud allows"},
		field{name: "maxSize", set: Number(&unread, 0, 100_000), about: "how many nodes the whole group may have"},
	)
}

func (r *reader) own() []field {
	n := r.node
	return append(r.common(),
		field{name: "nodeGroup", set: Text(&n.NodeGroup, validName)},
		field{name: "address", set: Addresses(&n.Address)},
		field{name: "podCIDRs", set: CIDRList(&n.PodCIDRs)},
	)
}

// commonSpec are the fields that every kind has.
func (r *reader) common() []field {
	n := r.node
	assets := assetList(n)
	if r.dialect.lenient {
		assets = kopsAssets(n) // the same name for another thing: where to download from
	}
	fields := []field{
		{name: "kubernetesVersion", set: Version(&n.KubernetesVersion)},
		{name: "containerRuntime", set: Choice(&n.ContainerRuntime, "containerd", "docker")},
		{name: "networking", set: r.networking()},
		{name: "sysctlParameters", set: sysctlList(n)},
		{name: "assets", set: assets},
		{name: "assetsMirror", set: Text(&n.AssetsMirror, validMirror)},
		{name: "kubelet", set: Into(func() []field { return n.Kubelet.fields() })},
		{name: "kubeProxy", set: Into(func() []field {
			return []field{{name: "enabled", set: OptionalBool(&n.KubeProxy), about: "whether it runs: false where the network serves the services, as Cilium, kube-router and Calico with eBPF can"}}
		})},
		{name: "containerd", set: Into(func() []field { return n.Containerd.fields() })},
		{name: "fileAssets", set: fileList(n, r.files)},
		{name: "hooks", set: hookList(n)},
	}
	if r.dialect.lenient {
		return fields // kOps removes nothing: it has no word for it
	}
	fields = append(fields, field{name: "followLinks", set: followLinks(n), newer: true})
	return append(fields, field{name: "aws", set: awsFields(&n.AWS)}, field{name: "drift", set: Into(func() []field { return driftFields(&n.Drift, r.kinds) })}, field{name: "certificates", set: certificateList(n)}, field{name: "prune", set: Into(func() []field {
		return []field{{name: "changed", set: Choice(&n.Prune.Changed, Keep, Remove)}}
	})}, field{name: "update", set: Into(func() []field { return n.Update.fields() })})
}

// followLinks reads the links of the host that may be followed.
func followLinks(n *Node) set {
	return func(d *decoder, v *document.Value, at string) {
		n.FollowLinks = nil
		seen := make(keys)
		List(func(d *decoder, v *document.Value, item string) {
			var link string
			if AbsolutePath(&link)(d, v, item); link != "" && d.unique(seen, link, v.Pos, item) {
				n.FollowLinks = append(n.FollowLinks, link)
			}
		})(d, v, at)
	}
}

// kopsAssets reads kOps' spec.assets. https://kops.sigs.k8s.io/cluster_spec/#assets
func kopsAssets(n *Node) set {
	return Into(func() []field {
		return []field{{name: "fileRepository", set: func(d *decoder, v *document.Value, at string) {
			d.origins["spec.assetsMirror"] = d.origins[at]
			Text(&n.AssetsMirror, validMirror)(d, v, at)
		}}}
	})
}

func (t *Topology) fields() []field {
	return []field{
		{name: "nodes", set: Choice(&t.Nodes, "public", "private")},
		{name: "controlPlane", set: Choice(&t.ControlPlane, "public", "private")},
	}
}

func (k *Kubelet) fields() []field {
	return []field{
		{name: "networkPluginName", set: Text(&k.NetworkPluginName, nil)},
		{name: "networkPluginMTU", set: MTU(&k.NetworkPluginMTU)},
		{name: "networkPluginDir", set: AbsolutePath(&k.NetworkPluginDir)},
		{name: "cniBinDir", set: AbsolutePath(&k.CNIBinDir)},
		{name: "cniConfDir", set: AbsolutePath(&k.CNIConfDir)},
		{name: "nonMasqueradeCIDR", set: CIDRs(&k.NonMasqueradeCIDR)},
		{name: "hairpinMode", set: Choice(&k.HairpinMode, "promiscuous-bridge", "hairpin-veth", "none")},
		{name: "podCIDR", set: CIDRs(&k.PodCIDR)},
		{name: "reconcileCIDR", set: OptionalBool(&k.ReconcileCIDR)},
		{name: "configureCbr0", set: OptionalBool(&k.ConfigureCBR0)},
		{name: "maxPods", set: Number(&k.MaxPods, 1, 10_000)},
	}
}

func (c *Containerd) fields() []field {
	return []field{
		{name: "address", set: AbsolutePath(&c.Address)},
		{name: "configPath", set: AbsolutePath(&c.ConfigPath)},
	}
}

// roles as kOps writes them, old and new, and as we call them.
var roles = [...]struct{ written, role string }{
	{"Node", RoleNode}, {"ControlPlane", RoleControlPlane}, {"APIServer", RoleAPIServer}, {"Bastion", RoleBastion}, {"Master", RoleControlPlane},
}

func roleName(to *string) set {
	return func(d *decoder, v *document.Value, at string) {
		var s string
		Choice(&s, roles[0].written, roles[1].written, roles[2].written, roles[3].written, roles[4].written)(d, v, at)
		if r := roleOf(s); r != "" {
			*to = r
		}
	}
}

func roleOf(written string) string {
	for _, r := range roles {
		if r.written == written {
			return r.role
		}
	}
	return ""
}
