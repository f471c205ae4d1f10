package network

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/cleanup"
)

const docsBYO = "https://kops.sigs.k8s.io/networking/#byo-cni"

// basePlugins returns the plugins that the reference asset has in every release since v0.8.7. kOps
// installs these for every network.
func basePlugins() []string {
	return []string{"bandwidth", "bridge", "dhcp", "firewall", "host-device", "host-local", "ipvlan", "loopback",
		"macvlan", "portmap",
		"ptp", "sbr", "static", "tuning", "vlan"}
}

// cni returns the row of `cni: {}`: another owner brings the network, and the agent prepares what
// all networks need. Its Agents are unknown.
func cni() Network {
	return Network{
		Title: "bring your own: base plugins, modules and sysctls; whoever brings the network writes the conf",
		Docs:  docsBYO,
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Stable, Kops: "1.5"}},
		},
		Conf:    Conf{Writer: WriterUser, Awaited: "bring your own: whoever brings the network writes it"},
		Kubelet: "cni, or what spec.kubelet.networkPluginName says",
		Plugins: []Plugin{{Asset: CNIPlugins, Members: basePlugins(), Default: true, Minimum: "v0.8.7",
			Case:   Case{"not with kubelet's no-op and exec plugins", wantsCNI},
			Source: "https://github.com/containernetworking/plugins"}},
		Modules:    []Module{brNetfilter(true)},
		Sysctls:    append(forwarding(), optionally(bridgeNetfilter())...),
		Kubeconfig: "the network's own",
		MTU:        "the network's own",
		IPv6:       true,
		SharedHost: ownLinks(), // its links are unknown, but it has routes and rules
		Residue: cleanup.Residue{Others: []string{"whatever the network that was brought leaves: `agent networks " +
			"--found` looks for those that are known"}},
		TestedBy: []Proof{{"under real kubelets a DaemonSet brings the network, and no pod is interrupted",
			"test/e2e TestKubernetesKubeletSwitches"}},
		Untested: "kubelet's own CNI mode (--network-plugin=cni, with docker, below Kubernetes 1.24): no test " +
			"runs such a kubelet, so its flags and directories come from its source code only",
		Build: buildCNI,
	}
}

// wantsCNI reports whether plugins are called through CNI. That is not so with kubelet's no-op and
// exec plugins.
func wantsCNI(in Input) bool {
	if !in.DockerKubelet() {
		return true
	}
	name := in.Node.Kubelet.NetworkPluginName
	return name == "" || name == "cni"
}

func optionally(in []Sysctl) []Sysctl {
	out := slices.Clone(in)
	for i := range out {
		out[i].Required, out[i].Optional = false, true
	}
	return out
}

func buildCNI(in Input, b *Built) error {
	const path = "spec.kubelet.networkPluginName"
	if name := in.Node.Kubelet.NetworkPluginName; in.DockerKubelet() && name != "" {
		switch name {
		case "cni":
		case "kubenet":
			return fmt.Errorf("use %s: kubenet (%s): kubenet is another network: write `networking: {kubenet: {}}`",
				path, in.Origin(path))
		case noopPlugin, noopName:
			b.KubeletPlugin = ""
		default:
			b.KubeletPlugin = name
		}
	}
	if in.Node.Networking.CNI.UsesSecondaryIP && in.Node.Kubelet.NodeIP == "" {
		b.note(Warning, in.Origin("spec.networking.cni.usesSecondaryIP"), "usesSecondaryIP: %s", nodeIPNeeded)
	}
	b.noteFormerCertificates(in)
	return nil
}

// noteFormerCertificates adds a note that certificates of an earlier network stay on the node.
// Calico's pods may still use them, and removing them at the switch would be an outage (kOps docs,
// networking, "switching between networking providers").
func (b *Built) noteFormerCertificates(in Input) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(in.Keypairs)),
		func(name string) bool { return !strings.HasPrefix(name, "calico") })
	if len(names) == 0 {
		return
	}
	b.note(Info, in.Keypairs[names[0]].Origin,
		"the certificates of a former network (%s) stay on the node as they are: remove them when nothing uses them",
		strings.Join(names, ", "))
}
