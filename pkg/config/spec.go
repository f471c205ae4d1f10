package config

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/kops"
)

// The fields of the three kinds. A cluster says what holds for all; a node group and a node say
// again, for theirs, whatever may differ between nodes.

// reader knows the fields of a kind of document, and reads them onto a node.
type reader struct {
	node    *Node
	dialect *decode.Dialect
	kinds   []string     // of keys: what spec.drift may name
	files   []blob.Named // of the store, sorted: what fileAssets name by source
}

func (r *reader) cluster() []decode.Field {
	n, fields := r.node, r.common()
	if r.dialect.Nested {
		fields = append(fields, decode.Field{Name: "cloudProvider", Set: kops.Cloud(&n.CloudProvider)})
	} else {
		fields = append(append(fields, decode.Field{Name: "cloudProvider", Set: decode.Text(&n.CloudProvider, nil)}),
			r.ranges()...)
	}
	if r.dialect.Lenient {
		return append(fields, kops.NodePorts(&n.NodePortRange))
	}
	return append(fields, decode.Field{Name: "serviceNodePortRange", Set: decode.Ports(&n.NodePortRange)})
}

// ranges are the cluster's fields that kOps moved from spec to spec.networking with v1alpha3.
func (r *reader) ranges() []decode.Field {
	n := r.node
	fields := []decode.Field{
		{Name: "topology", Set: decode.Into(func() []decode.Field { return n.Topology.fields() })},
		{Name: "podCIDR", Set: decode.CIDRs(&n.PodCIDR)},
		{Name: "nonMasqueradeCIDR", Set: decode.CIDRs(&n.NonMasqueradeCIDR)},
		{Name: "serviceClusterIPRange", Set: decode.CIDRs(&n.ServiceClusterIPRange)},
		{Name: "networkCIDR", Set: decode.CIDRs(&n.NetworkCIDR)},
	}
	if !r.dialect.Nested {
		return fields
	}
	return kops.Nested(fields)
}

func (r *reader) group() []decode.Field {
	n := r.node
	var unread int // [loader.size] counts all groups
	return append(r.common(),
		decode.Field{Name: "role", Set: func(d *decode.Decoder, v *document.Value, at string) {
			n.kops.role = d.Doc.Dialect.Lenient
			kops.Role(&n.Role)(d, v, at)
		}},
		decode.Field{Name: "minSize", Set: decode.Number(&unread, 0, 100_000),
			About: "how few nodes the whole group has; kubenet's routes are held against what the cloud allows"},
		decode.Field{Name: "maxSize", Set: decode.Number(&unread, 0, 100_000),
			About: "how many nodes the whole group may have"},
	)
}

func (r *reader) own() []decode.Field {
	n := r.node
	return append(r.common(),
		decode.Field{Name: "nodeGroup", Set: decode.Text(&n.NodeGroup, decode.ValidName)},
		decode.Field{Name: "address", Set: decode.Addresses(&n.Address)},
		decode.Field{Name: "podCIDRs", Set: decode.CIDRList(&n.PodCIDRs)},
	)
}

// common are the fields that every kind has.
func (r *reader) common() []decode.Field {
	n := r.node
	assets := extras.Assets(&n.Assets)
	if r.dialect.Lenient {
		// the same name for another thing: where to download from
		assets = kops.Mirror(&n.AssetsMirror, &n.kops.ownPlugins, extras.ValidMirror)
	}
	fields := []decode.Field{
		{Name: "kubernetesVersion", Set: decode.Version(&n.KubernetesVersion)},
		{Name: "containerRuntime", Set: decode.Choice(&n.ContainerRuntime, "containerd", "docker")},
		{Name: "networking", Set: r.networking()},
		{Name: "sysctlParameters", Set: extras.Sysctls(&n.SysctlParameters)},
		{Name: "assets", Set: assets},
		{Name: "assetsMirror", Set: decode.Text(&n.AssetsMirror, extras.ValidMirror)},
		{Name: "kubelet", Set: decode.Into(func() []decode.Field { return n.Kubelet.fields() })},
		{Name: "kubeProxy", Set: decode.Into(func() []decode.Field {
			return []decode.Field{{Name: "enabled", Set: decode.OptionalBool(&n.KubeProxy),
				About: "whether it runs: false where the network serves the services, as Cilium, kube-router and " +
					"Calico with eBPF can; then what any of its modes left goes"},
				{Name: "proxyMode", Set: decode.Choice(&n.ProxyMode, "iptables", "ipvs", "nftables", "userspace"),
					Newer: true,
					About: "the mode that it runs in, as who starts it has it: what other modes left goes when it says " +
						"at port 10249 that it runs in this one"}}
		})},
		{Name: "containerd", Set: decode.Into(func() []decode.Field { return n.Containerd.fields() })},
		{Name: "fileAssets", Set: extras.Files(&n.FileAssets, r.files, n.meant)},
		{Name: "hooks", Set: extras.Hooks(&n.Hooks, n.meant)},
	}
	if r.dialect.Lenient {
		return fields // kOps removes nothing: it has no word for it
	}
	fields = append(fields, decode.Field{Name: "followLinks", Set: followLinks(n), Newer: true})
	return append(fields, decode.Field{Name: "aws", Set: awsFields(&n.AWS)},
		decode.Field{Name: "drift", Set: decode.Into(func() []decode.Field { return n.Drift.Fields(r.kinds) })},
		decode.Field{Name: "certificates", Set: extras.Certificates(&n.Certificates)},
		decode.Field{Name: "prune", Set: decode.Into(func() []decode.Field {
			return n.Prune.Fields()
		})}, decode.Field{Name: "update", Set: decode.Into(func() []decode.Field { return n.Update.Fields() })})
}

// followLinks reads the links of the host that may be followed.
func followLinks(n *Node) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		n.FollowLinks = nil
		seen := make(decode.Keys)
		decode.List(func(d *decode.Decoder, v *document.Value, item string) {
			var link string
			if decode.AbsolutePath(&link)(d, v, item); link != "" && d.Unique(seen, link, v.Pos, item) {
				n.FollowLinks = append(n.FollowLinks, link)
			}
		})(d, v, at)
	}
}

func (t *Topology) fields() []decode.Field {
	return []decode.Field{
		{Name: "nodes", Set: decode.Choice(&t.Nodes, "public", "private")},
		{Name: "controlPlane", Set: decode.Choice(&t.ControlPlane, "public", "private")},
	}
}

func (k *Kubelet) fields() []decode.Field {
	return []decode.Field{
		{Name: "networkPluginName", Set: decode.Text(&k.NetworkPluginName, nil)},
		{Name: "networkPluginMTU", Set: decode.MTU(&k.NetworkPluginMTU)},
		{Name: "networkPluginDir", Set: decode.AbsolutePath(&k.NetworkPluginDir)},
		{Name: "cniBinDir", Set: decode.AbsolutePath(&k.CNIBinDir)},
		{Name: "cniConfDir", Set: decode.AbsolutePath(&k.CNIConfDir)},
		{Name: "nonMasqueradeCIDR", Set: decode.CIDRs(&k.NonMasqueradeCIDR)},
		{Name: "hairpinMode", Set: decode.Choice(&k.HairpinMode, "promiscuous-bridge", "hairpin-veth", "none")},
		{Name: "podCIDR", Set: decode.CIDRs(&k.PodCIDR)},
		{Name: "reconcileCIDR", Set: decode.OptionalBool(&k.ReconcileCIDR)},
		{Name: "configureCbr0", Set: decode.OptionalBool(&k.ConfigureCBR0)},
		{Name: "maxPods", Set: decode.Number(&k.MaxPods, 1, 10_000)},
		{Name: "nodeIP", Set: notOfKops(decode.Text(&k.NodeIP, validNodeIP)), Newer: true},
		{Name: "resolvConf", Set: notOfKops(decode.Text(&k.ResolvConf, validResolvConf)), Newer: true},
	}
}

// notOfKops passes over what a document of kOps says: nodeup acts on it, and kops.LeftOut says so.
func notOfKops(set decode.Set) decode.Set {
	return func(d *decode.Decoder, v *document.Value, at string) {
		if d.Describing() || !d.Doc.Dialect.Lenient {
			set(d, v, at)
		}
	}
}

// validNodeIP takes addresses, ranges and names of links (at most 15 bytes, without a slash or
// white space, as the kernel has them), one or two.
func validNodeIP(s string) string {
	const want = "an address such as 10.0.0.1, a range such as 10.0.0.0/8, or a link such as eth1; two with a comma"
	parts := strings.Split(s, ",")
	for _, p := range parts {
		if _, err := netip.ParseAddr(p); err == nil {
			continue
		}
		if r, err := netip.ParsePrefix(p); err == nil && r.Masked() == r {
			continue
		}
		if p == "" || len(p) > 15 || strings.ContainsAny(p, "/ \t:,") || !decode.Printable(p) {
			return want
		}
	}
	if len(parts) > 2 {
		return want
	}
	return ""
}

func validResolvConf(s string) string {
	if s != ResolvConfAuto && (!path.IsAbs(s) || path.Clean(s) != s || !decode.Printable(s)) {
		return "auto, or an absolute path such as /run/systemd/resolve/resolv.conf"
	}
	return ""
}

func (c *Containerd) fields() []decode.Field {
	return []decode.Field{
		{Name: "address", Set: decode.AbsolutePath(&c.Address)},
		{Name: "configPath", Set: decode.AbsolutePath(&c.ConfigPath)},
	}
}

// meant reports whether what is for some roles and groups (none: for all) is for n.
func (n *Node) meant(roles, groups []string) bool {
	return (len(roles) == 0 || slices.Contains(roles, n.Role)) &&
		(len(groups) == 0 || slices.Contains(groups, n.NodeGroup))
}
