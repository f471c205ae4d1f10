package config

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/problem"
)

// network checks that exactly one network is chosen. Beside another network, cni only sets the
// directories.
func (v *validator) network() bool {
	n := v.node
	w := &n.Networking
	set := w.Chosen()
	switch {
	case len(set) == 0 && w.CNI == nil && w.Multus != nil:
		v.ErrorAt("spec.networking.multus",
			document.Diagnostic{ID: problem.NetworkChoice, Summary: "multus is set and no network that it could call",
				Expected: "a network beside it",
				Hint:     "for example networking: {bridge: {}, multus: {}}"})
		return false
	case len(set) == 0 && w.CNI == nil:
		v.ErrorAt("spec.networking", document.Diagnostic{ID: problem.NetworkChoice, Summary: "no network is set",
			Expected: decode.OneOf(networks.Supported()),
			Hint:     "for example networking: {bridge: {}}"})
		return false
	case len(set) > 1:
		v.twoNetworks(set)
		return false
	case len(set) == 1 && w.CNI != nil:
		w.CNI = nil
		if n.CNI.UsesSecondaryIP {
			v.ErrorAt("spec.networking.cni.usesSecondaryIP",
				document.Diagnostic{Summary: "usesSecondaryIP goes with a network of your own, and the network is " +
					set[0],
					Hint: "beside another network cni holds binDir and confDir only"})
			return false
		}
	}
	return true
}

// twoNetworks reports the network that was set last, and names the place of the other one.
func (v *validator) twoNetworks(set []string) {
	later, earlier := set[0], set[1]
	a, b := v.node.Origin("spec.networking."+later), v.node.Origin("spec.networking."+earlier)
	rank := func(o document.Origin) int {
		kind, _ := kindOf(o.File)
		return strings.Index(decode.KindCluster+" "+decode.KindNodeGroup+" "+decode.KindNode, kind)
	}
	if rank(a) < rank(b) || rank(a) == rank(b) && a.Line < b.Line ||
		rank(a) == rank(b) && a.Line == b.Line && a.Column < b.Column {
		later, earlier, b = earlier, later, a
	}
	v.ErrorAt("spec.networking."+later,
		document.Diagnostic{ID: problem.NetworkChoice,
			Summary:  fmt.Sprintf("two networks are set: %s, and %s at %s", later, earlier, b),
			Expected: "exactly one network", Hint: "take one of them out"})
}

func (v *validator) all() {
	v.cloud()
	v.release()
	v.node.Update.Check(v.Reporter)
	v.ofOneCloud()
	v.possible()
	v.ranges()
	v.families()
	v.ownRanges()
	v.overlaps()
	v.topology()
	v.node.Networking.Check(v.node.settings(), v.Reporter)
	extras.CheckCertificates(v.node.Certificates, v.node.certificateNode(), v.Reporter)
	v.aws()
}

// versions refuses what the Kubernetes release no longer has. kOps refuses the same three kubelet
// fields from 1.24 on.
func (v *validator) versions() {
	n := v.node
	if n.KubernetesVersion.IsZero() {
		v.ErrorAt("spec.kubernetesVersion",
			document.Diagnostic{ID: problem.FieldMissing, Summary: "spec.kubernetesVersion is missing",
				Expected: "a Kubernetes version such as 1.31.2",
				Hint:     "add the field kubernetesVersion here"})
		return
	}
	if !n.KubernetesVersion.AtLeast(1, 24) {
		return
	}
	for _, name := range [...]string{"networkPluginName", "networkPluginMTU", "nonMasqueradeCIDR"} {
		if n.Origin("spec.kubelet."+name).File != "" {
			v.ErrorAt("spec.kubelet."+name,
				document.Diagnostic{Summary: fmt.Sprintf("kubelet lost %s with Kubernetes 1.24, and this is %s", name,
					n.KubernetesVersion),
					Hint: "take it out: the network is set under spec.networking, and containerd runs it"})
		}
	}
	if n.ContainerRuntime == "docker" {
		v.ErrorAt("spec.containerRuntime",
			document.Diagnostic{Summary: fmt.Sprintf("Kubernetes lost docker with 1.24, and this is %s",
				n.KubernetesVersion),
				Expected: "containerd"})
	}
}

// ranges checks that podCIDR lies within nonMasqueradeCIDR, as kOps requires: pods keep their
// addresses only where nothing masquerades them.
func (v *validator) ranges() {
	n := v.node
	for _, p := range n.PodCIDR {
		if whole := n.NonMasqueradeCIDR.SameFamily(p); whole.IsValid() && !values.Within(p, whole) {
			v.ErrorAt("spec.podCIDR", document.Diagnostic{ID: problem.AddressRanges,
				Summary: fmt.Sprintf("podCIDR %s is not within nonMasqueradeCIDR %s (%s)", p, whole,
					n.Origin("spec.nonMasqueradeCIDR")),
				Hint: fmt.Sprintf("traffic between pods would be masqueraded: set spec.nonMasqueradeCIDR to a "+
					"range that holds %s", p)})
		}
		if services := n.ServiceClusterIPRange.SameFamily(p); services.IsValid() && services.Overlaps(p) {
			say := v.Checked
			if n.Networking.PodsOfVPC() {
				say = v.WarnAt
			}
			say("spec.podCIDR", document.Diagnostic{ID: problem.AddressRanges,
				Summary: fmt.Sprintf("podCIDR %s overlaps serviceClusterIPRange %s (%s)", p, services,
					n.Origin("spec.serviceClusterIPRange")),
				Expected: "ranges that do not overlap", Hint: "a pod may get the address of a service"})
		}
	}
	for _, p := range n.ServiceClusterIPRange {
		if n.Networking.PodsOfVPC() {
			break // nonMasqueradeCIDR is then the VPC's, and kOps chooses the range of services freely
		}
		if whole := n.NonMasqueradeCIDR.SameFamily(p); whole.IsValid() && !values.Within(p, whole) {
			v.WarnAt("spec.serviceClusterIPRange",
				document.Diagnostic{ID: problem.AddressRanges,
					Summary: fmt.Sprintf("serviceClusterIPRange %s is not within nonMasqueradeCIDR %s (%s)", p, whole,
						n.Origin("spec.nonMasqueradeCIDR")),
					Hint: "set spec.nonMasqueradeCIDR to a range that holds both; otherwise kOps refuses it"})
		}
	}
	if name := n.Networking.Name(); (name == "kubenet" || name == "flannel" && n.OfKops()) && n.PodCIDR.V6().IsValid() {
		v.ErrorAt("spec.podCIDR", document.Diagnostic{ID: problem.NetworkUnfit,
			Summary: fmt.Sprintf("%s has no IPv6, and podCIDR is %s", name, n.PodCIDR),
			Hint:    "bridge, calico and cni have"})
	}
}

func (v *validator) topology() {
	if name := v.node.Networking.Name(); (name == "kubenet" || name == "external") &&
		v.node.Topology.Nodes == "private" {
		v.ErrorAt("spec.topology.nodes",
			document.Diagnostic{ID: problem.NetworkUnfit, Summary: name + " does not support private topology",
				Hint: "its routes live in the cloud's one route table, and private nodes have one table a zone: " +
					"choose " +
					"another network, or public nodes"})
	}
}
