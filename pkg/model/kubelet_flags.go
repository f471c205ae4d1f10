package model

import (
	"strconv"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/model/network"
)

// kubeletFlag is a kubelet flag that concerns the network.
type kubeletFlag struct {
	Name        string
	First, Last int    // minor releases of Kubernetes 1; Last 0: current releases have it
	Docker      bool   // kubelet reads it only where it calls the plugins itself
	OfKops      bool   // kOps always sets it, whoever calls the plugins
	Field       string // the field of KubeletConfiguration; "": there is only a flag
	Number      bool   // the field is a number
	Path        string // the path in the documents, below spec.kubelet
	Source      string // where First and Last are documented

	// User returns the value in the documents; "": they have none.
	User func(config.Kubelet) string
	// Value returns what the network needs if no document has a value; "": nothing. nil: only
	// users set the flag.
	Value func(kubeletWant) string
}

// kubeletWant is what the model knows when it sets kubelet's flags.
type kubeletWant struct {
	network.Input
	plugin string // network.Built.KubeletPlugin
	mtu    int

	maxPods int
}

// kubeletFlags returns every network flag of kubelet with its first and last release. Kubernetes
// 1.24 removed dockershim and with it most of these flags (kubernetes#106907,
// --non-masquerade-cidr kubernetes#107096).
func kubeletFlags() []kubeletFlag {
	return []kubeletFlag{
		{Name: "network-plugin", First: 0, Last: 23, Docker: true, Path: "networkPluginName",
			Source: "kubernetes#106907",
			User:   func(k config.Kubelet) string { return "" }, // the network checks the user's value and returns it
			Value:  func(w kubeletWant) string { return w.plugin }},
		{Name: "network-plugin-dir", First: 0, Last: 8, Docker: true, Path: "networkPluginDir",
			Source: "kubernetes#53564",
			User:   func(k config.Kubelet) string { return k.NetworkPluginDir },
			Value:  pluginDir},
		{Name: "network-plugin-mtu", First: 4, Last: 23, Docker: true, Path: "networkPluginMTU",
			Source: "kubernetes#30376, kubernetes#106907",
			User:   func(k config.Kubelet) string { return number(k.NetworkPluginMTU) },
			Value:  func(w kubeletWant) string { return number(w.mtu) }},
		{Name: "cni-conf-dir", First: 4, Last: 23, Docker: true, Path: "cniConfDir",
			Source: "kubernetes#32151, kubernetes#106907",
			User:   func(k config.Kubelet) string { return k.CNIConfDir },
			Value:  func(w kubeletWant) string { return only(w.plugin == "cni", w.ConfDir) }},
		{Name: "cni-bin-dir", First: 4, Last: 23, Docker: true, Path: "cniBinDir",
			Source: "kubernetes#32151, kubernetes#106907",
			User:   func(k config.Kubelet) string { return k.CNIBinDir },
			Value:  func(w kubeletWant) string { return only(w.plugin == "cni" || w.plugin == "kubenet", w.BinDir) }},
		{Name: "hairpin-mode", First: 2, Field: "hairpinMode", Path: "hairpinMode",
			Source: "kubernetes#21326",
			User:   func(k config.Kubelet) string { return k.HairpinMode }},
		{Name: "pod-cidr", First: 0, Field: "podCIDR", Path: "podCIDR",
			Source: "kubernetes#10211",
			User:   func(k config.Kubelet) string { return k.PodCIDR.String() }},
		{Name: "max-pods", First: 0, Field: "maxPods", Number: true, Path: "maxPods",
			Source: "pkg/kubelet/apis/config, KubeletConfiguration.MaxPods",
			User:   func(k config.Kubelet) string { return number(k.MaxPods) },
			Value:  func(w kubeletWant) string { return number(w.maxPods) }},
		{Name: "node-ip", First: 2, Path: "nodeIP",
			Source: "kubernetes#18541",
			User:   func(k config.Kubelet) string { return k.NodeIP }}, // already resolved to an address
		{Name: "resolv-conf", First: 0, Field: "resolvConf", Path: "resolvConf",
			Source: "pkg/kubelet/apis/config, KubeletConfiguration.ResolverConfig",
			User:   func(k config.Kubelet) string { return k.ResolvConf }}, // already resolved to a path
		{Name: "reconcile-cidr", First: 2, Last: 5, Docker: true, Path: "reconcileCIDR",
			Source: "kubernetes#39322",
			User:   func(k config.Kubelet) string { return boolean(k.ReconcileCIDR) }},
		{Name: "configure-cbr0", First: 0, Last: 4, Docker: true, Path: "configureCbr0",
			Source: "kubernetes#7984, kubernetes#34906",
			User:   func(k config.Kubelet) string { return boolean(k.ConfigureCBR0) }},
		{Name: "non-masquerade-cidr", First: 2, Last: 23, Docker: true, OfKops: true, Path: "nonMasqueradeCIDR",
			Source: "kubernetes#107096",
			User:   func(k config.Kubelet) string { return k.NonMasqueradeCIDR.String() },
			Value:  nonMasqueradeFlag},
	}
}

// has reports whether a kubelet release knows the flag.
func (f kubeletFlag) has(v values.Version) bool {
	return v.AtLeast(1, f.First) && (f.Last == 0 || !v.AtLeast(1, f.Last+1))
}

// pluginDir returns the value of --network-plugin-dir. Up to 1.8 kubenet looks for its binaries
// only there (kops#2331). Before --cni-conf-dir existed, the CNI plugin of kubelet read its confs
// from there (kubernetes#28563).
func pluginDir(w kubeletWant) string {
	switch {
	case w.plugin == "kubenet":
		return w.BinDir
	case w.plugin == "cni" && !w.Node.KubernetesVersion.AtLeast(1, 4):
		return w.ConfDir
	}
	return ""
}

// nonMasqueradeFlag returns the value of --non-masquerade-cidr. Only kubenet reads it
// (kops#13007), and it supports one IPv4 range.
func nonMasqueradeFlag(w kubeletWant) string {
	if v4 := w.Node.NonMasqueradeCIDR.V4(); w.plugin == "kubenet" && v4.IsValid() {
		return v4.String()
	}
	return ""
}

func only(yes bool, value string) string {
	if yes {
		return value
	}
	return ""
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func boolean(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}
