package network

import (
	"cmp"
	"path"
	"strings"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config"
)

// The plugins of kubelet that are not CNI: the no-op plugin, and programs that other people wrote.
const (
	noopPlugin = "noop"                // the name in our documents
	noopName   = "kubernetes.io/no-op" // kubelet's internal name
	execPlugin = "exec"                // the row of all such programs
	execDir    = "/usr/libexec/kubernetes/kubelet-plugins/net/exec/"
)

// legacy returns the row of the kubelet plugin that a node with `cni: {}` chooses by
// networkPluginName; false if the node uses CNI or kubenet. Only kubelet with docker, below
// Kubernetes 1.24, calls plugins itself. The name under spec.networking stays cni.
func legacy(n *config.Node) (Network, bool) {
	in := Input{Node: n}
	name := n.Kubelet.NetworkPluginName
	switch {
	case n.Networking.Name() != "cni" || wantsCNI(in) || name == "kubenet":
		return Network{}, false
	case name == noopPlugin || name == noopName:
		return noop(), true
	}
	return exec(cmp.Or(n.Kubelet.NetworkPluginDir, execDir), name), true
}

// noop returns the row of kubelet without --network-plugin. Pods are on docker's own bridge.
// Source: pkg/kubelet/dockershim/network/plugins.go up to Kubernetes 1.23.
func noop() Network {
	return Network{
		Name:   noopPlugin,
		Title:  "kubelet's no-op plugin: docker's own bridge, with a range of its own on each node; no CNI",
		Chosen: "spec:\n  networking:\n    cni: {}\n  kubelet: {networkPluginName: noop}",
		Docs:   "https://v1-23.docs.kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/",
		Lifecycle: Lifecycle{Last: version(1, 23), Instead: "bridge",
			Note: "chosen by `cni: {}` with spec.kubelet.networkPluginName: noop, with docker only; " +
				"kubelet 1.24 lost dockershim"},
		Conf:    Conf{Writer: WriterNone},
		Kubelet: "none: --network-plugin is left out",
		Modules: []Module{brNetfilter(true)},
		Sysctls: append(forwarding(), optionally(bridgeNetfilter())...),
		MTU:     "docker's (--mtu, 1500)",
		SharedHost: SharedHost{Firewall: true, Others: []Shared{
			{Service: "docker",
				Ignores: "forwarding: since 1.13 it sets the policy of FORWARD to DROP; its --bip must " +
					"differ on each node, and who routes between them is nobody of ours"}}},
		HealthChecks: []HealthCheck{{Text: "docker's bridge is up", Link: "docker0", Kind: "bridge"},
			{Text: "each pod has its link", Link: "veth*", Kind: "veth", Master: "docker0", Pods: true,
				Missing: "a pod without a link has no network: `docker network inspect bridge` lists the pods that " +
					"have one"}},
		Residue: cleanup.Residue{Others: []string{"docker0, its links and the chains DOCKER*: they are docker's and " +
			"go with it; a later network gets on with them, " +
			"but not with the policy DROP of FORWARD that docker set"}},
		Build: buildCNI,
	}
}

// exec returns the row of a program that kubelet up to Kubernetes 1.5 runs for each pod. Source:
// pkg/kubelet/network/exec/exec.go; kubernetes/kubernetes#39254.
func exec(dir, plugin string) Network {
	vendor, name, both := strings.Cut(plugin, "/")
	if !both {
		name = vendor
	}
	return Network{
		Name:   execPlugin,
		Title:  "a program of somebody's that kubelet runs for each pod (init, setup, teardown, status); no CNI",
		Chosen: "spec:\n  networking:\n    cni: {}\n  kubelet: {networkPluginName: VENDOR/NAME}",
		Docs:   "https://github.com/kubernetes/kubernetes/blob/v1.5.8/pkg/kubelet/network/exec/exec.go",
		Lifecycle: Lifecycle{Last: version(1, 5), Instead: "a CNI plugin (`cni: {}` without networkPluginName)",
			Note: "chosen by `cni: {}` with spec.kubelet.networkPluginName: VENDOR/NAME, with docker only; deprecated " +
				"by " +
				"kubernetes#38639, removed in 1.6; its directory (--network-plugin-dir) ended with 1.8"},
		Conf:    Conf{Writer: WriterNone},
		Kubelet: "the plugin's name, VENDOR/NAME",
		Modules: []Module{brNetfilter(true)},
		Sysctls: append(forwarding(), optionally(bridgeNetfilter())...),
		MTU:     "the plugin's own",
		HealthChecks: []HealthCheck{{Text: "kubelet finds the plugin",
			Path: path.Join(dir, strings.Replace(plugin, "/", "~", 1), name)}},
		Residue: cleanup.Residue{Others: []string{"the plugin's directory below " + dir +
			", and whatever the plugin made: nobody but its vendor knows its names"}},
		Build: buildCNI,
	}
}
