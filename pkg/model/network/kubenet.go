package network

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/tasks"
)

// The names of kubenet on containerd, as in kOps (nodeup/pkg/model/containerd.go) and in containerd
// (internal/cri/server/update_runtime_config.go).
const (
	kubenetTemplate = "/etc/containerd/config-cni.template"
	kubenetConf     = "10-containerd-net.conflist"
	kubenetName     = "k8s-pod-network"
	templatePodCIDR = "{{.PodCIDR}}"
)

// awsJumbo is the MTU inside an AWS VPC. kOps passed it to kubenet (--network-plugin-mtu=9001).
const awsJumbo = 9001

// kubenet returns the row of the plugin inside kubelet (docker, up to Kubernetes 1.23), and of
// kOps' conf_template with containerd. It has no Agents: kubelet, which the agent stops for a
// switch, and the cloud's controller do everything. The same is true of gcp, and of external apart
// from a DaemonSet that only its owner knows.
func kubenet() Network {
	return Network{
		Title: "kubelet's own plugin below 1.24 (docker), containerd's conf_template from there on; the cloud routes " +
			"between nodes",
		Docs: "https://kops.sigs.k8s.io/networking/#kubenet-default",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Stable, Kops: "1.5"}},
			First:  version(1, 2),
		},
		Conf: Conf{Writer: WriterContainerd, File: kubenetConf,
			Chain: []string{"ptp", "portmap", "bandwidth"}},
		Kubelet: "kubenet",
		Plugins: []Plugin{
			{Asset: CNIPlugins, Members: []string{"bridge", "host-local", "loopback"}, Minimum: "v0.2.0",
				Case:   Case{"kubelet calls them", Input.DockerKubelet},
				Source: "https://v1-23.docs.kubernetes.io/docs/concepts/extend-kubernetes/compute-storage-net/network-plugins/"},
			{Asset: CNIPlugins, Members: []string{"host-local", "loopback", "portmap", "ptp"}, Minimum: "v0.8.0",
				Case:   Case{"containerd calls them", notDockerKubelet},
				Source: "https://github.com/containernetworking/plugins"},
			templateShaping(),
		},
		Modules: []Module{brNetfilter(false)},
		Sysctls: append(forwarding(), bridgeNetfilter()...),
		MTU: "in kubelet: its own rule, or --network-plugin-mtu (AWS 9001); in the template: the smallest MTU of " +
			"the links that are up, if it is not 1500",
		SharedHost: ownLinks("cbr0", "veth*").besides(
			Shared{Service: "docker", Ignores: "masquerading and iptables (--ip-masq=false --iptables=false), where " +
				"kubelet calls the plugins"}),
		Residue: cleanup.Residue{
			Portmap: []string{kubenetName, "containerd-net"},
			Types:   []string{"bridge"}, // kubelet itself used this plugin
			Units:   []string{"cni-iptables-setup.service"},
			Links: []cleanup.LinkSelector{{Name: BridgeLink, Kind: "bridge"},
				{Name: "veth*", Kind: "veth", Master: BridgeLink}, {Name: "veth*", Kind: "veth", Pods: true}},
			Chains: []cleanup.ChainSelector{
				{Table: "nat", Chain: "KUBE-HOSTPORTS"}, {Table: "nat", Chain: "KUBE-HP-*"},
				{Table: "nat", Chain: "IP-MASQ"},
				{Table: "nat", Chain: "POSTROUTING", Comment: "kubenet: SNAT for outbound traffic from cluster"},
				{Table: "nat", Chain: "POSTROUTING", Comment: "SNAT for localhost access to hostports",
					Out: BridgeLink},
			},
			Tables: []cleanup.TableSelector{{Family: "ip", Name: "netwright"}},
			Files: []string{kubenetTemplate, "/etc/containerd/cni-config.template",
				"/var/lib/cni/networks/kubenet/",
				"/var/lib/cni/networks/containerd-net/", "/var/lib/cni/networks/" + kubenetName + "/",
				"/var/lib/cni/results/" + kubenetName + "-*",
				"/var/lib/cni/cache/results/kubenet-*", "/opt/kops/bin/cni-iptables-setup",
				"/etc/systemd/system/cni-iptables-setup.service"},
			Others: []string{"ebtables: chain KUBE-DEDUP of table filter and the jump to it in OUTPUT",
				"the cloud's route to this node's pod CIDR"},
		},
		HealthChecks: kubenetHealth(),
		TestedBy: []Proof{
			{"pods of two nodes reach each other over the cloud's routes, on containerd 1 and on containerd 2, " +
				"which render the template", "test/e2e TestPodsTalkByKubenet"},
			{"nothing is left to do when containerd 2 has rendered the template", "test/e2e TestKubenetOnContainerd2"},
		},
		SafeToReplace: "it has no agent, and the cloud keeps the routes to the pods of other nodes (kOps: considered safe)",
		Build:         buildKubenet,
	}
}

// kubenetHealth returns the checks for what the runtime needs before the first pod, and for what
// the plugins make for each pod.
func kubenetHealth() []HealthCheck {
	each := podSign("veth*", "veth")
	each.Case = containerdCalls
	return []HealthCheck{
		{Text: "the runtime has the node's pod CIDR", Path: "/etc/cni/net.d/" + kubenetConf,
			Case: containerdCalls,
			Missing: "kubelet told no pod CIDR, or another conf was there when it did: `kubectl get nodes -o " +
				"custom-columns=NAME:.metadata.name,CIDR:.spec.podCIDR`; who gives them out is the controller manager (--allocate-node-cidrs) or " +
				"the cloud's"},
		{Text: "the bridge of the pods is up", Link: BridgeLink, Kind: "bridge",
			Case:    Case{"kubelet calls the plugins", Input.DockerKubelet},
			Missing: "normal before the first pod; else the node has no pod CIDR"},
		each,
	}
}

func notDockerKubelet(in Input) bool { return !in.DockerKubelet() }

var containerdCalls = Case{"containerd calls the plugins", notDockerKubelet}

func buildKubenet(in Input, b *Built) error {
	if in.Node.Topology.Private() {
		return fmt.Errorf("use kubenet (%s): it does not support private topology (%s), which needs a route table "+
			"a zone: choose another network, or make the topology public",
			in.NetworkOrigin(), in.Origin("spec.topology"))
	}
	if err := b.checkRouteTable(in); err != nil {
		return err
	}
	b.checkRoutes(in)
	mtu := in.Node.Networking.Kubenet.MTU
	if in.DockerKubelet() {
		if mtu == 0 && in.Node.CloudProvider == "aws" {
			mtu = awsJumbo
		}
		b.KubeletMTU = mtu
	}
	if err := b.fitMTU(in, "spec.networking.kubenet.mtu", mtu, encapsulation{}); err != nil {
		return err
	}
	return b.addTemplate(in, mtu)
}

// templateShapes reports whether the template has the plugin bandwidth. In a kOps cluster it does
// not, because kOps' nodeup writes the same template in another layout, and both must have the same
// content.
func templateShapes(in Input) bool { return notDockerKubelet(in) && !in.Node.OfKops() && in.shapes() }

func templateShaping() Plugin {
	p := bandwidthPlugin()
	p.Case = Case{"containerd calls the plugins, unless spec.assets names the archive and does not list it, " +
		"or kOps made the cluster", templateShapes}
	return p
}

// addTemplate adds the template from which containerd writes the conf when kubelet tells it the
// node's pod CIDR. An MTU of 0 means that of the links. A kubelet that calls the plugins itself
// needs no file: it has the conf in memory, and it masquerades itself.
func (b *Built) addTemplate(in Input, mtu int) error {
	if in.DockerKubelet() {
		b.KubeletPlugin = "kubenet"
		return nil
	}
	if mtu == 0 {
		rule, err := LinkMTU(in.Facts.Links, podLinks(in)...)
		if err != nil {
			return fmt.Errorf("lay out %s for this node: %w", in.Node.Networking.Name(), err)
		}
		if rule != 1500 { // a veth has 1500 by default
			mtu = rule
		}
	}
	plugins := []any{
		ptpPlugin{Type: "ptp", MTU: mtu, IPAM: hostLocal{Type: "host-local",
			Ranges: [][]ipRange{{{Subnet: templatePodCIDR}}}, Routes: []ipRoute{{Dst: "0.0.0.0/0"}}}},
		portmap(),
	}
	if templateShapes(in) {
		plugins = append(plugins, in.shaping()...)
	}
	content, err := indented(conflist{CNIVersion: templateVersion(in.Node.KubernetesVersion), Name: kubenetName,
		Plugins: plugins})
	if err != nil {
		return err
	}
	if err := b.addConfTemplate(in, content, kubenetConf); err != nil {
		return err
	}
	b.addMasquerade(in, in.Node.PodCIDR, "")
	return nil
}

// addConfTemplate adds a conf_template of containerd, and the check of the conf that containerd
// writes from it. Other runtimes have no conf_template: CRI-O and others are an error.
func (b *Built) addConfTemplate(in Input, content []byte, file string) error {
	network := in.Node.Networking.Name()
	switch name := in.Facts.Runtime.Name; name {
	case "", "containerd":
	case "cri-o":
		return errors.New("use " + network +
			": CRI-O has no conf_template: choose `bridge`, which is the same without the cloud's routes, or another " +
			"network")
	default:
		return fmt.Errorf("use %s: from Kubernetes 1.24 it is containerd's conf_template, and the runtime here is %s: "+
			"choose another network", network, name)
	}
	b.add(tasks.File{
		Meta: in.Meta("containerd renders it when kubelet tells the pod CIDR"),
		Path: kubenetTemplate, Content: content, Mode: 0o644})
	b.ConfTemplate = kubenetTemplate
	if in.Facts.ForwardPolicy["ip"] == "drop" {
		b.note(Warning, in.NetworkOrigin(),
			"a firewall of this node drops forwarded packets by policy (as Docker's does), and the pods have a link "+
				"each: they reach nothing until it accepts veth*")
	}
	b.Wait = in.waitConf(file,
		"containerd writes it when kubelet tells the pod CIDR, and only while no other conf is there")
	return nil
}

// podLinks returns cbr0 and the host's ends of pods' links, which have the pods' gateway as their
// address (plugin ptp). [LinkMTU] must ignore them, or the MTU of present pods would decide that of
// all later ones.
func podLinks(in Input) []string {
	out := []string{BridgeLink}
	for _, l := range in.Facts.Links {
		if l.Kind == "veth" && slices.ContainsFunc(l.Addresses, func(a netip.Prefix) bool {
			return slices.ContainsFunc(in.Node.PodCIDR, func(pods netip.Prefix) bool { return pods.Contains(a.Addr()) })
		}) {
			out = append(out, l.Name)
		}
	}
	return out
}

// templateVersion returns the cniVersion of kOps' template: 1.0.0 since kOps 1.35.
func templateVersion(v values.Version) string {
	if v.AtLeast(1, 35) {
		return "1.0.0"
	}
	return "0.4.0"
}
