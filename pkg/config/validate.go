package config

import (
	"fmt"
	"strings"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/problem"
)

// network settles which network is meant: exactly one, where cni beside another only carries the
// directories.
func (v *validator) network() bool {
	n := v.node
	w := &n.Networking
	var set []string
	for _, c := range choices() {
		if c.name != byoNetwork && c.set(w) {
			set = append(set, c.name)
		}
	}
	switch {
	case len(set) == 0 && w.CNI == nil && w.Multus != nil:
		v.ErrorAt(multusAt, document.Diagnostic{ID: problem.NetworkChoice, Summary: "multus is set and no network that it could call", Expected: "a network beside it",
			Hint: "for example networking: {bridge: {}, multus: {}}"})
		return false
	case len(set) == 0 && w.CNI == nil:
		v.ErrorAt("spec.networking", document.Diagnostic{ID: problem.NetworkChoice, Summary: "no network is set", Expected: decode.OneOf(SupportedNetworks()),
			Hint: "for example networking: {bridge: {}}"})
		return false
	case len(set) > 1:
		v.twoNetworks(set)
		return false
	case len(set) == 1 && w.CNI != nil:
		w.CNI = nil
		if n.CNI.UsesSecondaryIP {
			v.ErrorAt("spec.networking.cni.usesSecondaryIP", document.Diagnostic{Summary: "usesSecondaryIP goes with a network of your own, and the network is " + set[0],
				Hint: "beside another network cni holds binDir and confDir only"})
			return false
		}
	}
	return true
}

// twoNetworks reports at the one that was said last, and names the place of the other.
func (v *validator) twoNetworks(set []string) {
	later, earlier := set[0], set[1]
	a, b := v.node.Origin("spec.networking."+later), v.node.Origin("spec.networking."+earlier)
	rank := func(o document.Origin) int {
		kind, _ := kindOf(o.File)
		return strings.Index(decode.KindCluster+" "+decode.KindNodeGroup+" "+decode.KindNode, kind)
	}
	if rank(a) < rank(b) || rank(a) == rank(b) && a.Line < b.Line || rank(a) == rank(b) && a.Line == b.Line && a.Column < b.Column {
		later, earlier, b = earlier, later, a
	}
	v.ErrorAt("spec.networking."+later, document.Diagnostic{ID: problem.NetworkChoice, Summary: fmt.Sprintf("two networks are set: %s, and %s at %s", later, earlier, b),
		Expected: "exactly one network", Hint: "take one of them out"})
}

func (v *validator) all() {
	v.cloud()
	v.routed()
	v.release()
	v.windows()
	v.ofOneCloud()
	v.possible()
	v.ciliumRelease()
	v.ranges()
	v.families()
	v.ownRanges()
	v.overlaps()
	v.topology()
	v.mtus()
	v.calico()
	v.canal()
	v.romana()
	v.upstream()
	v.cilium()
	v.custom()
	v.multus()
	v.networkSwitch()
	v.exclusive()
	v.certificates()
	v.aws()
	if f := v.node.Networking.Flannel; f != nil && f.Backend == "" {
		v.ErrorAt("spec.networking.flannel", document.Diagnostic{ID: problem.FieldMissing, Summary: "spec.networking.flannel.backend is missing", Expected: decode.OneOf(flannelBackends[:])})
	}
}

// versions: what a Kubernetes release no longer has. kOps refuses the same three kubelet fields
// from 1.24 on.
func (v *validator) versions() {
	n := v.node
	if n.KubernetesVersion.IsZero() {
		v.ErrorAt("spec.kubernetesVersion", document.Diagnostic{ID: problem.FieldMissing, Summary: "spec.kubernetesVersion is missing", Expected: "a Kubernetes version such as 1.31.2",
			Hint: "add the field kubernetesVersion here"})
		return
	}
	if !n.KubernetesVersion.AtLeast(1, 24) {
		return
	}
	for _, name := range [...]string{"networkPluginName", "networkPluginMTU", "nonMasqueradeCIDR"} {
		if n.Origin("spec.kubelet."+name).File != "" {
			v.ErrorAt("spec.kubelet."+name, document.Diagnostic{Summary: fmt.Sprintf("kubelet lost %s with Kubernetes 1.24, and this is %s", name, n.KubernetesVersion),
				Hint: "take it out: the network is set under spec.networking, and containerd runs it"})
		}
	}
	if n.ContainerRuntime == "docker" {
		v.ErrorAt("spec.containerRuntime", document.Diagnostic{Summary: fmt.Sprintf("Kubernetes lost docker with 1.24, and this is %s", n.KubernetesVersion),
			Expected: "containerd"})
	}
}

// ranges: pods keep their addresses only where nothing masquerades them, so their range lies in
// nonMasqueradeCIDR, as kOps demands.
func (v *validator) ranges() {
	n := v.node
	for _, p := range n.PodCIDR {
		if whole := n.NonMasqueradeCIDR.SameFamily(p); whole.IsValid() && !values.Within(p, whole) {
			v.ErrorAt("spec.podCIDR", document.Diagnostic{ID: problem.AddressRanges, Summary: fmt.Sprintf("podCIDR %s is not within nonMasqueradeCIDR %s (%s)", p, whole, n.Origin("spec.nonMasqueradeCIDR")),
				Hint: fmt.Sprintf("traffic between pods would be masqueraded: set spec.nonMasqueradeCIDR to a range that holds %s", p)})
		}
		if services := n.ServiceClusterIPRange.SameFamily(p); services.IsValid() && services.Overlaps(p) {
			say := v.Checked
			if n.Networking.podsOfVPC() {
				say = v.WarnAt
			}
			say("spec.podCIDR", document.Diagnostic{ID: problem.AddressRanges, Summary: fmt.Sprintf("podCIDR %s overlaps serviceClusterIPRange %s (%s)", p, services, n.Origin("spec.serviceClusterIPRange")),
				Expected: "ranges that do not overlap", Hint: "a pod may get the address of a service"})
		}
	}
	for _, p := range n.ServiceClusterIPRange {
		if n.Networking.podsOfVPC() {
			break // nonMasqueradeCIDR is then the VPC's, and kOps puts services where it likes
		}
		if whole := n.NonMasqueradeCIDR.SameFamily(p); whole.IsValid() && !values.Within(p, whole) {
			v.WarnAt("spec.serviceClusterIPRange", document.Diagnostic{ID: problem.AddressRanges, Summary: fmt.Sprintf("serviceClusterIPRange %s is not within nonMasqueradeCIDR %s (%s)", p, whole, n.Origin("spec.nonMasqueradeCIDR")),
				Hint: "set spec.nonMasqueradeCIDR to a range that holds both; kOps refuses it else"})
		}
	}
	if name := n.Networking.Name(); (name == "kubenet" || name == "flannel") && n.PodCIDR.V6().IsValid() {
		v.ErrorAt("spec.podCIDR", document.Diagnostic{ID: problem.NetworkUnfit, Summary: fmt.Sprintf("%s has no IPv6, and podCIDR is %s", name, n.PodCIDR), Hint: "bridge, calico and cni have"})
	}
}

func (v *validator) topology() {
	if name := v.node.Networking.Name(); (name == "kubenet" || name == "external") && v.node.Topology.Nodes == "private" {
		v.ErrorAt("spec.topology.nodes", document.Diagnostic{ID: problem.NetworkUnfit, Summary: name + " does not support private topology",
			Hint: "its routes live in the cloud's one route table, and private nodes have one table a zone: choose another network, or public nodes"})
	}
}

// minIPv6MTU is the least that a link with IPv6 may have (RFC 8200, section 5).
const minIPv6MTU = 1280

func (v *validator) mtus() {
	w := &v.node.Networking
	mtu, path, inside := 0, "", 0
	switch {
	case w.Bridge != nil:
		mtu, path = w.Bridge.MTU, "spec.networking.bridge.mtu"
	case w.Calico != nil:
		mtu, path = w.Calico.MTU, "spec.networking.calico.mtu"
	case w.Cilium != nil:
		mtu, path = w.Cilium.MTU, "spec.networking.cilium.mtu"
		if w.Cilium.Tunnel != "disabled" {
			inside = 50 // it means the links', and pods have less
		}
	case w.Antrea != nil:
		mtu, path = w.Antrea.DefaultMTU, "spec.networking.antrea.defaultMTU"
	case w.KubeOVN != nil:
		mtu, path = w.KubeOVN.MTU, "spec.networking.kubeOVN.mtu"
	case w.OVNKubernetes != nil:
		mtu, path = w.OVNKubernetes.MTU, "spec.networking.ovnKubernetes.mtu"
	case w.Custom != nil:
		mtu, path = w.Custom.MTU, "spec.networking.custom.mtu"
	}
	if six := v.node.PodCIDR.V6().IsValid() || v.node.PodCIDRs.V6().IsValid(); six && mtu != 0 && mtu-inside < minIPv6MTU {
		v.ErrorAt(path, document.Diagnostic{Summary: fmt.Sprintf("mtu %d is too small for IPv6 pods", mtu), Expected: fmt.Sprintf("at least %d", minIPv6MTU+inside)})
	}
}

// cilium refuses what kOps refuses (pkg/apis/kops/validation/validation.go,
// validateNetworkingCilium).
func (v *validator) cilium() {
	c := v.node.Networking.Cilium
	if c == nil {
		return
	}
	const at = "spec.networking.cilium"
	switch {
	case c.ENI() && c.Tunnel != "disabled":
		v.ErrorAt(at+".tunnel", document.Diagnostic{Summary: "with ipam eni pods have addresses of the VPC, and the tunnel is " + c.Tunnel, Expected: "tunnel: disabled"})
	case c.ENI() && v.node.CloudProvider != "" && v.node.CloudProvider != "aws":
		v.ErrorAt(at+".ipam", document.Diagnostic{Summary: "ipam eni is for AWS, and the cloud is " + v.node.CloudProvider, Expected: "kubernetes"})
	case c.IdentityAllocationMode == "kvstore" && !c.EtcdManaged:
		v.ErrorAt(at+".identityAllocationMode", document.Diagnostic{Summary: "identities in a kvstore need an etcd", Expected: "etcdManaged: true, or identityAllocationMode: crd"})
	}
}

func (v *validator) calico() {
	c := v.node.Networking.Calico
	if c == nil {
		return
	}
	const at = "spec.networking.calico.etcd"
	switch {
	case c.Datastore == "kubernetes" && c.Etcd != nil:
		v.ErrorAt(at, document.Diagnostic{Summary: "etcd is set, but the datastore is kubernetes", Hint: "set datastore: etcd, or take etcd out"})
		return
	case c.Datastore == "etcd" && (c.Etcd == nil || len(c.Etcd.Endpoints) == 0):
		v.ErrorAt(at, document.Diagnostic{Summary: "the datastore is etcd, but it has no endpoints", Expected: "etcd: {endpoints: [https://…:2379]}"})
		return
	case c.Etcd == nil:
		return
	}
	for i, e := range c.Etcd.Endpoints {
		tls := strings.HasPrefix(e, "https:")
		if i > 0 && tls != c.Etcd.TLS {
			v.ErrorAt(at+".endpoints", document.Diagnostic{Summary: "some etcd endpoints are https and some are http", Expected: "all the same"})
			return
		}
		c.Etcd.TLS = tls
	}
	if !c.Etcd.TLS && v.node.Origin(at+".certificates").File != "" {
		v.WarnAt(at+".certificates", document.Diagnostic{Summary: "certificates are set, but the etcd endpoints are http: none are installed"})
	}
}
