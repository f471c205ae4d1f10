package model

import (
	"strconv"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/model/network"
)

// kubeletFlag is one kubelet flag that concerns the network.
type kubeletFlag struct {
	Name        string
	First, Last int    // minor releases of Kubernetes 1; Last 0: still there
	Docker      bool   // only read where kubelet itself calls the plugins
	OfKops      bool   // kOps says it by itself, whatever calls the plugins
	Field       string // of KubeletConfiguration; "": a flag only
	Number      bool   // what the field takes is a number
	Path        string // in the documents, under spec.kubelet
	Source      string // where the range is from

	// User is what the documents say; "" is nothing.
	User func(config.Kubelet) string
	// Value is what the network wants where no document speaks; "" is nothing. Nil: only people set
	// it.
	Value func(kubeletWant) string
}

// kubeletWant is what the model knows when it sets kubelet's flags.
type kubeletWant struct {
	network.Input
	plugin string // network.Built.KubeletPlugin
	mtu    int

	maxPods int
}

// kubeletFlags is every network flag of kubelet with its first and last release. In 1.24 dockershim
// went, and with it most of them (kubernetes#106907, --non-masquerade-cidr kubernetes#107096).
func kubeletFlags() []kubeletFlag {
	return []kubeletFlag{
		{Name: "network-plugin", First: 0, Last: 23, Docker: true, Path: "networkPluginName",
			Source: "kubernetes#106907",
			User:   func(k config.Kubelet) string { return "" }, // the network judges it and hands it on
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
			User:   func(k config.Kubelet) string { return k.NodeIP }}, // an address by now
		{Name: "resolv-conf", First: 0, Field: "resolvConf", Path: "resolvConf",
			Source: "pkg/kubelet/apis/config, KubeletConfiguration.ResolverConfig",
			User:   func(k config.Kubelet) string { return k.ResolvConf }}, // a path by now
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

// has tells whether a release of kubelet knows the flag.
func (f kubeletFlag) has(v values.Version) bool {
	return v.AtLeast(1, f.First) && (f.Last == 0 || !v.AtLeast(1, f.Last+1))
}

// pluginDir: kubenet looks for its binaries there and nowhere else up to 1.8 (kops#2331); before
// --cni-conf-dir existed, the CNI plugin read its confs from there (kubernetes#28563).
func pluginDir(w kubeletWant) string {
	switch {
	case w.plugin == "kubenet":
		return w.BinDir
	case w.plugin == "cni" && !w.Node.KubernetesVersion.AtLeast(1, 4):
		return w.ConfDir
	}
	return ""
}

// nonMasqueradeFlag: only kubenet reads it (kops#13007), and it knows one IPv4 range.
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
