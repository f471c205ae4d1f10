package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/problem"
)

// An earlier release accepted what is refused here. So it is an error where documents are checked.
// On a node it is a warning, or nothing if the one key that it concerns fails there by itself.

// clouds are the clouds that kOps supports, by its names, and metal for one's own machines.
var clouds = []string{"aws", "azure", "digitalocean", "gce", "hetzner", "linode", "metal", "openstack", "scaleway"}

// cloud refuses the name of an unknown cloud. Otherwise what depends on the cloud would be left out
// without a message.
func (v *validator) cloud() {
	said := v.node.CloudProvider
	if said == "" || slices.Contains(clouds, said) || v.Cluster.Dialect.Lenient { // kOps checks this itself
		return
	}
	if c := v.node.Networking.Custom; c != nil && slices.Contains(c.Requires.Clouds, said) {
		return
	}
	hint := "leave it out where the nodes run in none of these"
	near := document.Nearest(said, clouds)
	switch {
	case strings.HasPrefix(said, "amazon") || said == "ec2":
		near = "aws"
	case said == "gcp" || said == "google":
		near = "gce"
	}
	if near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	v.Checked("spec.cloudProvider",
		document.Diagnostic{ID: problem.FieldValue, Summary: fmt.Sprintf("cloudProvider is %q", document.Clip(said)),
			Expected: decode.OneOf(clouds), Hint: hint})
}

// ofOneCloud warns if no document names the one cloud in which a network works. What depends on the
// cloud is then left out.
func (v *validator) ofOneCloud() {
	n := v.node
	if n.CloudProvider != "" || !v.Checks || v.Cluster.Dialect.Lenient {
		return
	}
	for cloud, has := range map[string]bool{
		"aws": n.Networking.AmazonVPC != nil || n.Networking.LyftVPC != nil ||
			n.Networking.Cilium != nil && n.Networking.Cilium.ENI(), "gce": n.Networking.GCP != nil,
		"azure": n.Networking.Azure != nil,
	} {
		if has {
			v.WarnAt("spec.networking."+n.Networking.Name(),
				document.Diagnostic{ID: problem.NetworkUnfit,
					Summary:  n.Networking.Name() + " works in one cloud only, and no cloudProvider is set",
					Expected: "cloudProvider: " + cloud, Hint: "without it what depends on the cloud is left out"})
		}
	}
}

// families checks that pods and services have the same address families: a pod with only an IPv4
// address reaches no service with an IPv6 address.
func (v *validator) families() {
	n := v.node
	for _, p := range n.ServiceClusterIPRange {
		if len(n.PodCIDR) > 0 && !n.PodCIDR.Family(p.Addr().Is4()).IsValid() && !n.Networking.PodsOfVPC() &&
			!n.Origin("spec.podCIDR").IsDefault() && !n.Origin("spec.serviceClusterIPRange").IsDefault() {
			v.Checked("spec.serviceClusterIPRange",
				document.Diagnostic{ID: problem.AddressRanges,
					Summary: fmt.Sprintf("serviceClusterIPRange %s is of another family than podCIDR %s (%s)",
						p, n.PodCIDR, n.Origin("spec.podCIDR")), Expected: "the same families in both",
					Hint: "pods reach services of their own families only"})
		}
	}
}

const ownPart = "a part of podCIDR that no other node has"

// special are ranges whose addresses no pod and no service can have: RFC 6890 and the multicast
// ranges.
var special = [...]struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network's own"},
	{netip.MustParsePrefix("127.0.0.0/8"), "the loopback's"}, {netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("224.0.0.0/3"), "for multicast or reserved"},
	{netip.MustParsePrefix("::/8"), "reserved, the loopback's among them"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"}, {netip.MustParsePrefix("ff00::/8"), "for multicast"},
}

// leastServices is how many addresses kube-apiserver requires in a range of services.
// https://github.com/kubernetes/kubernetes/blob/master/cmd/kube-apiserver/app/options/validation.go
const leastServices = 8

// possible refuses ranges with addresses that nobody can have, and ranges with too few addresses.
func (v *validator) possible() {
	n := v.node
	for _, r := range [...]struct {
		path   string
		ranges values.CIDRs
		least  int
	}{{"spec.podCIDR", n.PodCIDR, 4}, {"spec.serviceClusterIPRange", n.ServiceClusterIPRange, leastServices}} {
		name := strings.TrimPrefix(r.path, "spec.")
		for _, p := range r.ranges {
			if n.Origin(r.path).IsDefault() {
				continue
			}
			for _, s := range special {
				if s.prefix.Overlaps(p) {
					v.Checked(r.path, document.Diagnostic{ID: problem.AddressRanges,
						Summary:  fmt.Sprintf("%s %s holds addresses of %s, which are %s", name, p, s.prefix, s.what),
						Expected: "a private range such as 100.96.0.0/11 or fd00:10::/64"})
					break
				}
			}
			if free := p.Addr().BitLen() - p.Bits(); free < 20 && 1<<free < r.least {
				v.Checked(r.path, document.Diagnostic{ID: problem.AddressRanges,
					Summary:  fmt.Sprintf("%s %s is too small", name, p),
					Expected: fmt.Sprintf("a range of %s or more", plural.Of(r.least, "address", "addresses"))})
			}
		}
	}
}

// ownRanges checks that a node's pod CIDRs lie within the cluster's and have enough addresses.
func (v *validator) ownRanges() {
	n := v.node
	for _, p := range n.PodCIDRs {
		if pods := n.PodCIDR.SameFamily(p); pods.IsValid() && !values.Within(p, pods) &&
			!n.Origin("spec.podCIDR").IsDefault() {
			v.Checked("spec.podCIDRs", document.Diagnostic{ID: problem.AddressRanges,
				Summary: fmt.Sprintf("pod range %s of node %s is not within podCIDR %s (%s)", p, n.Name, pods,
					n.Origin("spec.podCIDR")),
				Expected: ownPart})
		}
		free := p.Addr().BitLen() - p.Bits()
		// The network, gateway and broadcast addresses are not for pods.
		if most := 1<<min(free, 20) - 3; n.Kubelet.MaxPods > 0 && n.Kubelet.MaxPods > most {
			v.Checked("spec.kubelet.maxPods",
				document.Diagnostic{ID: problem.AddressRanges,
					Summary: fmt.Sprintf("maxPods is %d, and pod range %s (%s) has %s for pods",
						n.Kubelet.MaxPods, p, n.Origin("spec.podCIDRs"),
						plural.Of(max(most, 0), "address", "addresses")),
					Expected: fmt.Sprintf("at most %d, or a larger range", max(most, 0))})
		}
	}
}

// newest is the latest Kubernetes release that this version of the agent was checked against.
var newest = values.Version{Major: 1, Minor: 37}

// release warns about an unknown release. It may be a future one, or a mistake.
func (v *validator) release() {
	if said := v.node.KubernetesVersion; v.Checks && (said.Major > newest.Major || said.Minor > newest.Minor) {
		v.WarnAt("spec.kubernetesVersion",
			document.Diagnostic{ID: problem.FieldValue,
				Summary: fmt.Sprintf("Kubernetes %s is newer than this agent knows: what it changes for networks is "+
					"not looked at", said),
				Expected: fmt.Sprintf("at most %d.%d", newest.Major, newest.Minor)})
	}
}
