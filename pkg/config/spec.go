package config

import (
	"github.com/netwright/netwright/pkg/config/document"
)

// The fields of the three kinds. A cluster says what holds for all; a node group and a node say
// again, for theirs, whatever may differ between nodes.

func (d *decoder) clusterSpec(n *Node) []field {
	fields := d.commonSpec(n)
	if d.doc.dialect.nested {
		fields = append(fields, field{name: "cloudProvider", set: d.cloud(&n.CloudProvider)})
	} else {
		fields = append(append(fields, field{name: "cloudProvider", set: d.text(&n.CloudProvider, nil)}), d.rangesSpec(n)...)
	}
	if d.doc.dialect.lenient {
		return append(fields, field{name: "kubeAPIServer", set: func(v *document.Value, at string) {
			d.mapping(v, at, []field{{name: "serviceNodePortRange", set: func(v *document.Value, at string) {
				d.origins["spec.serviceNodePortRange"] = d.origins[at]
				d.ports(&n.NodePortRange)(v, at)
			}}})
		}})
	}
	return append(fields, field{name: "serviceNodePortRange", set: d.ports(&n.NodePortRange)})
}

// rangesSpec are the cluster's fields that kOps moved from spec to spec.networking with v1alpha3.
func (d *decoder) rangesSpec(n *Node) []field {
	fields := []field{
		{name: "topology", set: d.into(func() []field { return d.topology(&n.Topology) })},
		{name: "podCIDR", set: d.cidrs(&n.PodCIDR)},
		{name: "nonMasqueradeCIDR", set: d.cidrs(&n.NonMasqueradeCIDR)},
		{name: "serviceClusterIPRange", set: d.cidrs(&n.ServiceClusterIPRange)},
		{name: "networkCIDR", set: d.cidrs(&n.NetworkCIDR)},
	}
	if !d.doc.dialect.nested {
		return fields
	}
	for i := range fields { // the origin is asked for where our own documents say it
		f := fields[i]
		fields[i].set = func(v *document.Value, at string) {
			d.origins["spec."+f.name] = d.origins[at]
			f.set(v, at)
		}
		fields[i].unlisted = true
	}
	for _, name := range nestedIgnored {
		fields = append(fields, field{name: name, set: d.ignore, unlisted: true})
	}
	return fields
}

// nestedIgnored are fields of kOps' spec.networking that do not concern a node.
var nestedIgnored = [...]string{"networkID", "additionalNetworkCIDRs", "subnets", "tagSubnets", "egressProxy", "isolateControlPlane"}

// cloud reads kOps' later form of the cloud: a mapping with one key, its name.
func (d *decoder) cloud(to *string) set {
	return func(v *document.Value, at string) {
		if v.Kind != document.KindMap || len(v.Entries) != 1 {
			d.wrongKind(v, at, "a mapping of one cloud such as aws: {}")
			return
		}
		*to = v.Entries[0].Key
	}
}

func (d *decoder) groupSpec(n *Node) []field {
	var unread int // [loader.size] counts all groups
	return append(d.commonSpec(n),
		field{name: "role", set: func(v *document.Value, at string) {
			n.kops.role = d.doc.dialect.lenient
			d.role(&n.Role)(v, at)
		}},
		field{name: "minSize", set: d.number(&unread, 0, 100_000), about: "how few nodes the whole group has; kubenet's routes are held against what the cloud allows"},
		field{name: "maxSize", set: d.number(&unread, 0, 100_000), about: "how many nodes the whole group may have"},
	)
}

func (d *decoder) nodeSpec(n *Node) []field {
	return append(d.commonSpec(n),
		field{name: "nodeGroup", set: d.text(&n.NodeGroup, validName)},
		field{name: "address", set: d.addresses(&n.Address)},
		field{name: "podCIDRs", set: d.cidrList(&n.PodCIDRs)},
	)
}

// commonSpec are the fields that every kind has.
func (d *decoder) commonSpec(n *Node) []field {
	assets := d.assets(n)
	if d.doc.dialect.lenient {
		assets = d.kopsAssets(n) // the same name for another thing: where to download from
	}
	fields := []field{
		{name: "kubernetesVersion", set: d.version(&n.KubernetesVersion)},
		{name: "containerRuntime", set: d.choice(&n.ContainerRuntime, "containerd", "docker")},
		{name: "networking", set: d.networking(n)},
		{name: "sysctlParameters", set: d.sysctls(n)},
		{name: "assets", set: assets},
		{name: "assetsMirror", set: d.text(&n.AssetsMirror, validMirror)},
		{name: "kubelet", set: d.into(func() []field { return d.kubelet(&n.Kubelet) })},
		{name: "kubeProxy", set: d.into(func() []field {
			return []field{{name: "enabled", set: d.optionalBool(&n.KubeProxy), about: "whether it runs: false where the network serves the services, as Cilium, kube-router and Calico with eBPF can"}}
		})},
		{name: "containerd", set: d.into(func() []field { return d.containerd(&n.Containerd) })},
		{name: "fileAssets", set: d.fileAssets(n)},
		{name: "hooks", set: d.hooks(n)},
	}
	if d.doc.dialect.lenient {
		return fields // kOps removes nothing: it has no word for it
	}
	fields = append(fields, field{name: "followLinks", set: d.followLinks(n), newer: true})
	return append(fields, field{name: "aws", set: d.aws(&n.AWS)}, field{name: "drift", set: d.into(func() []field { return d.drift(&n.Drift) })}, field{name: "certificates", set: d.certificates(n)}, field{name: "prune", set: d.into(func() []field {
		return []field{{name: "changed", set: d.choice(&n.Prune.Changed, Keep, Remove)}}
	})}, field{name: "update", set: d.into(func() []field { return d.update(&n.Update) })})
}

// followLinks reads the links of the host that may be followed.
func (d *decoder) followLinks(n *Node) set {
	return func(v *document.Value, at string) {
		n.FollowLinks = nil
		seen := make(keys)
		d.list(func(v *document.Value, item string) {
			var link string
			if d.absolutePath(&link)(v, item); link != "" && d.unique(seen, link, v.Pos, item) {
				n.FollowLinks = append(n.FollowLinks, link)
			}
		})(v, at)
	}
}

// kopsAssets reads kOps' spec.assets. https://kops.sigs.k8s.io/cluster_spec/#assets
func (d *decoder) kopsAssets(n *Node) set {
	return d.into(func() []field {
		return []field{{name: "fileRepository", set: func(v *document.Value, at string) {
			d.origins["spec.assetsMirror"] = d.origins[at]
			d.text(&n.AssetsMirror, validMirror)(v, at)
		}}}
	})
}

func (d *decoder) topology(t *Topology) []field {
	return []field{
		{name: "nodes", set: d.choice(&t.Nodes, "public", "private")},
		{name: "controlPlane", set: d.choice(&t.ControlPlane, "public", "private")},
	}
}

func (d *decoder) kubelet(k *Kubelet) []field {
	return []field{
		{name: "networkPluginName", set: d.text(&k.NetworkPluginName, nil)},
		{name: "networkPluginMTU", set: d.mtu(&k.NetworkPluginMTU)},
		{name: "networkPluginDir", set: d.absolutePath(&k.NetworkPluginDir)},
		{name: "cniBinDir", set: d.absolutePath(&k.CNIBinDir)},
		{name: "cniConfDir", set: d.absolutePath(&k.CNIConfDir)},
		{name: "nonMasqueradeCIDR", set: d.cidrs(&k.NonMasqueradeCIDR)},
		{name: "hairpinMode", set: d.choice(&k.HairpinMode, "promiscuous-bridge", "hairpin-veth", "none")},
		{name: "podCIDR", set: d.cidrs(&k.PodCIDR)},
		{name: "reconcileCIDR", set: d.optionalBool(&k.ReconcileCIDR)},
		{name: "configureCbr0", set: d.optionalBool(&k.ConfigureCBR0)},
		{name: "maxPods", set: d.number(&k.MaxPods, 1, 10_000)},
	}
}

func (d *decoder) containerd(c *Containerd) []field {
	return []field{
		{name: "address", set: d.absolutePath(&c.Address)},
		{name: "configPath", set: d.absolutePath(&c.ConfigPath)},
	}
}

// roles as kOps writes them, old and new, and as we call them.
var roles = [...]struct{ written, role string }{
	{"Node", RoleNode}, {"ControlPlane", RoleControlPlane}, {"APIServer", RoleAPIServer}, {"Bastion", RoleBastion}, {"Master", RoleControlPlane},
}

func (d *decoder) role(to *string) set {
	return func(v *document.Value, at string) {
		var s string
		d.choice(&s, roles[0].written, roles[1].written, roles[2].written, roles[3].written, roles[4].written)(v, at)
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
