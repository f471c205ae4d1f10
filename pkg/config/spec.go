package config

import (
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/kops"
)

// These are the fields of the three kinds of document. A cluster sets them for all nodes. A node
// group and a node may set again those that can differ between nodes.

// reader reads the fields of one kind of document into a node.
type reader struct {
	node    *Node
	dialect *decode.Dialect
	kinds   []string     // the kinds of keys that spec.drift may name
	files   []blob.Named // files of the store that fileAssets name with source; sorted
}

func (r *reader) cluster() []decode.Field {
	n, fields := r.node, r.common()
	if r.dialect.Nested {
		fields = append(fields, kops.Cloud(&n.CloudProvider))
	} else {
		fields = append(append(fields, decode.Text("cloudProvider", &n.CloudProvider, nil)), r.ranges()...)
	}
	if r.dialect.Lenient {
		return append(fields, kops.NodePorts(&n.NodePortRange))
	}
	return append(fields, decode.Ports("serviceNodePortRange", &n.NodePortRange))
}

// ranges returns the fields of the cluster that kOps moved from spec to spec.networking in
// v1alpha3.
func (r *reader) ranges() []decode.Field {
	n := r.node
	fields := []decode.Field{
		decode.Into("topology", n.Topology.fields),
		decode.CIDRs("podCIDR", &n.PodCIDR),
		decode.CIDRs("nonMasqueradeCIDR", &n.NonMasqueradeCIDR),
		decode.CIDRs("serviceClusterIPRange", &n.ServiceClusterIPRange),
		decode.CIDRs("networkCIDR", &n.NetworkCIDR),
	}
	if !r.dialect.Nested {
		return fields
	}
	return kops.Nested(fields)
}

func (r *reader) group() []decode.Field {
	n := r.node
	var unread int // not kept: [loader.size] counts all groups
	return append(r.common(),
		decode.Field{Name: "role", Set: func(v decode.Reading) {
			n.kops.role = v.Doc.Dialect.Lenient
			kops.Role(&n.Role)(v)
		}},
		decode.Number("minSize", &unread, 0, 100_000).
			About("Sets the smallest number of nodes in the group. For kubenet, the agent compares the number of nodes "+
				"with the routes that the cloud allows"),
		decode.Number("maxSize", &unread, 0, 100_000).About("Sets the largest number of nodes in the group"),
	)
}

func (r *reader) own() []decode.Field {
	n := r.node
	return append(r.common(),
		decode.Text("nodeGroup", &n.NodeGroup, decode.ValidName),
		decode.Addresses("address", &n.Address),
		decode.CIDRList("podCIDRs", &n.PodCIDRs),
	)
}

// common returns the fields that every kind has.
func (r *reader) common() []decode.Field {
	n := r.node
	assets := extras.Assets(&n.Assets)
	if r.dialect.Lenient {
		// In kOps the same name means something else: where to download from.
		assets = kops.Mirror(&n.AssetsMirror, &n.kops.ownPlugins, extras.ValidMirror)
	}
	fields := []decode.Field{
		decode.Version("kubernetesVersion", &n.KubernetesVersion),
		decode.Choice("containerRuntime", &n.ContainerRuntime, "containerd", "docker"),
		r.networking(),
		extras.Sysctls(&n.SysctlParameters),
		assets,
		decode.Text("assetsMirror", &n.AssetsMirror, extras.ValidMirror),
		decode.Into("kubelet", n.Kubelet.fields),
		decode.Into("kubeProxy", func() []decode.Field {
			return []decode.Field{
				decode.OptionalBool("enabled", &n.KubeProxy).
					About("Says whether kube-proxy runs. false is for networks that serve the services, as Cilium, " +
						"kube-router and Calico with eBPF can. Then the agent removes what any mode of kube-proxy left"),
				decode.Choice("proxyMode", &n.ProxyMode, "iptables", "ipvs", "nftables", "userspace").Newer().
					About("Names the mode in which kube-proxy is started. When kube-proxy reports this mode at port " +
						"10249, the agent removes what other modes left"),
			}
		}),
		decode.Into("containerd", n.Containerd.fields),
		extras.Files(&n.FileAssets, r.files, n.meant),
		extras.Hooks(&n.Hooks, n.meant),
	}
	if r.dialect.Lenient {
		return fields // kOps removes nothing, so it has none of these fields
	}
	return append(fields,
		followLinks(n).Newer(),
		decode.Into("aws", n.AWS.fields),
		decode.Into("drift", func() []decode.Field { return n.Drift.Fields(r.kinds) }),
		extras.Certificates(&n.Certificates),
		decode.Into("prune", n.Prune.Fields),
		decode.Into("update", n.Update.Fields))
}

// followLinks reads the symbolic links of the host that may be followed.
func followLinks(n *Node) decode.Field {
	return decode.Field{Name: "followLinks", Set: func(v decode.Reading) {
		n.FollowLinks = nil
		seen := make(decode.Keys)
		v.List(func(item decode.Reading) {
			var link string
			if decode.AbsolutePath("", &link).Set(item); link != "" && item.Unique(seen, link) {
				n.FollowLinks = append(n.FollowLinks, link)
			}
		})
	}}
}

func (t *Topology) fields() []decode.Field {
	return []decode.Field{
		decode.Choice("nodes", &t.Nodes, "public", "private"),
		decode.Choice("controlPlane", &t.ControlPlane, "public", "private"),
	}
}

func (k *Kubelet) fields() []decode.Field {
	return []decode.Field{
		decode.Text("networkPluginName", &k.NetworkPluginName, nil),
		decode.MTU("networkPluginMTU", &k.NetworkPluginMTU),
		decode.AbsolutePath("networkPluginDir", &k.NetworkPluginDir),
		decode.AbsolutePath("cniBinDir", &k.CNIBinDir),
		decode.AbsolutePath("cniConfDir", &k.CNIConfDir),
		decode.CIDRs("nonMasqueradeCIDR", &k.NonMasqueradeCIDR),
		decode.Choice("hairpinMode", &k.HairpinMode, "promiscuous-bridge", "hairpin-veth", "none"),
		decode.CIDRs("podCIDR", &k.PodCIDR),
		decode.OptionalBool("reconcileCIDR", &k.ReconcileCIDR),
		decode.OptionalBool("configureCbr0", &k.ConfigureCBR0),
		decode.Number("maxPods", &k.MaxPods, 1, 10_000),
		notOfKops(decode.Text("nodeIP", &k.NodeIP, validNodeIP)).Newer(),
		notOfKops(decode.Text("resolvConf", &k.ResolvConf, validResolvConf)).Newer(),
	}
}

// notOfKops ignores a field in a document of kOps: nodeup acts on it, and kops.LeftOut says so.
func notOfKops(f decode.Field) decode.Field {
	set := f.Set
	f.Set = func(v decode.Reading) {
		if v.Describing() || !v.Doc.Dialect.Lenient {
			set(v)
		}
	}
	return f
}

// validNodeIP accepts one or two addresses, ranges or names of links. A name has at most 15 bytes
// and neither a slash nor white space, as in the kernel.
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
		decode.AbsolutePath("address", &c.Address),
		decode.AbsolutePath("configPath", &c.ConfigPath),
	}
}

// meant reports whether something for some roles and groups is also for n. An empty list means all.
func (n *Node) meant(roles, groups []string) bool {
	return (len(roles) == 0 || slices.Contains(roles, n.Role)) &&
		(len(groups) == 0 || slices.Contains(groups, n.NodeGroup))
}
