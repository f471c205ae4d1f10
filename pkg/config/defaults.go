package config

import (
	"encoding/binary"
	"net/netip"

	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/kops"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/config/values"
)

// These are kOps' defaults and the agent's own.
// https://github.com/kubernetes/kops/blob/master/pkg/model/components/networking.go and
// upup/pkg/fi/cloudup/defaults.go
var (
	kopsNonMasquerade  = netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)
	kopsNonMasquerade6 = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	// fd00:5e4f:ce::/108
	kopsServices6       = netip.PrefixFrom(netip.AddrFrom16([16]byte{0xfd, 0, 0x5e, 0x4f, 0, 0xce}), 108)
	kopsNodePorts       = values.PortRange{First: 30000, Last: 32767}
	containerdSocket    = "/run/containerd/containerd.sock"
	containerdConfig    = "/etc/containerd/config.toml"
	defaultCNIBinDir    = "/opt/cni/bin"
	defaultCNIConfDir   = "/etc/cni/net.d"
	firstContainerdKops = values.Version{Major: 1, Minor: 20}
)

func (n *Node) fillDefaults() {
	decode.Fill(n.origins, "spec.role", document.KopsDefault, &n.Role, kops.RoleNode)
	runtime := "containerd"
	if !n.KubernetesVersion.AtLeast(firstContainerdKops.Major, firstContainerdKops.Minor) &&
		!n.KubernetesVersion.IsZero() {
		runtime = "docker"
	}
	decode.Fill(n.origins, "spec.containerRuntime", document.KopsDefault, &n.ContainerRuntime, runtime)
	decode.Fill(n.origins, "spec.networking.cni.binDir", document.NodeDefault, &n.CNI.BinDir, defaultCNIBinDir)
	decode.Fill(n.origins, "spec.networking.cni.confDir", document.NodeDefault, &n.CNI.ConfDir, defaultCNIConfDir)
	decode.Fill(n.origins, "spec.serviceNodePortRange", document.KopsDefault, &n.NodePortRange, kopsNodePorts)
	decode.Fill(n.origins, "spec.containerd.address", document.NodeDefault, &n.Containerd.Address, containerdSocket)
	decode.Fill(n.origins, "spec.containerd.configPath", document.NodeDefault, &n.Containerd.ConfigPath,
		containerdConfig)
	decode.FillFields(n.origins, "spec.prune", n.Prune.Fields())
	decode.FillFields(n.origins, "spec.update", n.Update.Fields())
	n.fillRanges()
	n.Networking.Fill(n.settings(), n.origins)
	extras.FillCertificates(n.Certificates, n.certificateNode())
}

// fillRanges sets the ranges as kOps does. The default of nonMasqueradeCIDR is 100.64.0.0/10. Pods
// get its upper half, and services its first eighth. A cluster with IPv6 only gets ::/0, so that
// nothing is masqueraded.
func (n *Node) fillRanges() {
	sixOnly := func(c values.CIDRs) bool { return c.V6().IsValid() && !c.V4().IsValid() }
	if sixOnly(n.PodCIDR) || sixOnly(n.NonMasqueradeCIDR) {
		decode.Fill(n.origins, "spec.nonMasqueradeCIDR", document.KopsDefault, &n.NonMasqueradeCIDR,
			values.CIDRs{kopsNonMasquerade6})
		decode.Fill(n.origins, "spec.serviceClusterIPRange", document.KopsDefault, &n.ServiceClusterIPRange,
			values.CIDRs{kopsServices6})
		return
	}
	decode.Fill(n.origins, "spec.nonMasqueradeCIDR", document.KopsDefault, &n.NonMasqueradeCIDR,
		values.CIDRs{kopsNonMasquerade})
	whole := n.NonMasqueradeCIDR.V4()
	if !whole.IsValid() || whole.Bits() == 0 || whole.Bits() > 24 {
		return // too wide or too narrow to divide: a range that is not set stays unknown
	}
	decode.Fill(n.origins, "spec.podCIDR", document.KopsDefault, &n.PodCIDR, values.CIDRs{part(whole, 1, 1)})
	decode.Fill(n.origins, "spec.serviceClusterIPRange", document.KopsDefault, &n.ServiceClusterIPRange,
		values.CIDRs{part(whole, 3, 0)})
}

// part returns the index-th of the 2^bits equal parts of an IPv4 range.
func part(p netip.Prefix, bits, index int) netip.Prefix {
	four := p.Addr().As4()
	length := p.Bits() + bits
	binary.BigEndian.PutUint32(four[:], binary.BigEndian.Uint32(four[:])|uint32(index)<<(32-length))
	return netip.PrefixFrom(netip.AddrFrom4(four), length)
}

// settings returns the settings of n that a network's defaults and checks need.
func (n *Node) settings() *networks.ClusterSettings {
	return &networks.ClusterSettings{
		Cluster: n.Cluster, Kubernetes: n.KubernetesVersion, Cloud: n.CloudProvider, Runtime: n.ContainerRuntime,
		Kops: n.kops.cluster, KubeProxy: n.KubeProxy,
		PodCIDR: n.PodCIDR, PodCIDRs: n.PodCIDRs, Services: n.ServiceClusterIPRange,
	}
}

// certificateNode returns what certificates need to know about n.
func (n *Node) certificateNode() *extras.CertificateNode {
	h := &extras.CertificateNode{Name: n.Name, Role: n.Role, ControlPlane: n.ControlPlane(),
		KubeRouter: n.Networking.KubeRouter != nil}
	if len(n.Address) > 0 {
		h.Address = n.Address[0].String()
	}
	return h
}
