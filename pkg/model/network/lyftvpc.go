package network

import (
	"cmp"
	"fmt"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/values"
)

// LyftPlugins is the name of the asset with Lyft's plugins.
const LyftPlugins = "cni-ipvlan-vpc-k8s"

const (
	lyftName = "cni-ipvlan-vpc-k8s"
	lyftConf = "10-cni-ipvlan-vpc-k8s.conflist"
)

// lyftVPC returns the row of Lyft's CNI, which has no daemon. Its three plugins ask EC2 for
// interfaces and addresses, and the agent writes the conf. Sources:
// https://github.com/lyft/cni-ipvlan-vpc-k8s v0.6.3 (README.md, plugin/unnumbered-ptp, nl) and kOps
// up to 1.22 (nodeup/pkg/model/networking/lyft.go).
func lyftVPC() Network {
	return Network{
		Title: "pods have addresses of the VPC by ipvlan on further interfaces, and the node's own address to the " +
			"rest by a veth; no daemon",
		Docs: "https://github.com/lyft/cni-ipvlan-vpc-k8s",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Experimental, Kops: "1.11"}, {Level: Deprecated, Kops: "1.22"},
				{Level: Removed, Kops: "1.23"}},
			First:    version(1, 11),
			Upstream: "ended (last commit in October 2021)",
			Instead:  "amazonVPC or cilium with ipam eni",
		},
		Conf: Conf{Writer: WriterNetwright, File: lyftConf,
			Chain: []string{lyftName + "-ipam", lyftName + "-ipvlan", lyftName + "-unnumbered-ptp"}, Awaited: "netwright"},
		Plugins: []Plugin{
			{Asset: LyftPlugins, Members: []string{lyftName + "-ipam", lyftName + "-ipvlan", lyftName + "-tool",
				lyftName + "-unnumbered-ptp"}, Minimum: "v0.5.0",
				Source: "https://github.com/lyft/cni-ipvlan-vpc-k8s/releases"},
			reference("v0.2.0", "loopback"),
		},
		Modules: []Module{{Name: "ipvlan", Why: "the pods' links"},
			{Name: "xt_connmark", Why: "answers of node ports find back", Optional: true}},
		Sysctls: forwarding(),
		MTU:     "that of the node's own interface (9001 in a VPC)",
		Requires: Requires{Clouds: []string{"aws"}, Why: "its plugins ask EC2 for interfaces and addresses",
			Source: "https://github.com/lyft/cni-ipvlan-vpc-k8s/blob/v0.6.3/README.md"},
		SharedHost: ownLinks("veth*").enis("", nil),
		HealthChecks: []HealthCheck{{Text: "its plugins gave an address on this node", Path: "/run/cni-ipvlan-vpc-k8s",
			Pods: true, Missing: "run `" + lyftName +
				"-tool free-ips`: no free address is a tag that no subnet has, or a limit of the instance"},
			podSign("veth*", "veth")}, // plugin/unnumbered-ptp, setupContainerVeth
		Residue: lyftResidue(),
		TestedBy: []Proof{{"its plugins support the version of the agent's conf, and read the conf",
			"test/plugins TestPlugins"}},
		Untested: "that pods reach each other: its plugins take addresses only from EC2",
		Build:    buildLyftVPC,
	}
}

// lyftResidue returns what Lyft's plugins leave. The rule of each pod leads to a table of its own,
// from 256 on. The routes in it use the pod's veth and disappear with it.
func lyftResidue() cleanup.Residue {
	return cleanup.Residue{
		Units: []string{"cni-gc.timer", "cni-gc.service"},
		Rules: []cleanup.RuleSelector{{Priority: 1024, IIF: "veth*", Table: 256, Last: 1355},
			{Priority: 512, Mark: 0x2000, Table: 254}},
		Chains: []cleanup.ChainSelector{{Table: "mangle", Chain: "PREROUTING", Comment: "NodePort Mark"},
			{Table: "nat", Chain: "POSTROUTING", Comment: `name: "` + lyftName + `" id: *`},
			{Table: "nat", Chain: "CNI-*", Comment: `name: "` + lyftName + `" id: *`}},
		Links: []cleanup.LinkSelector{{Name: "veth*", Kind: "veth", Pods: true}},
		Files: []string{"/opt/cni/bin/" + lyftName + "-*", "/run/cni-ipvlan-vpc-k8s/",
			"/tmp/cni-ipvlan-vpc-k8s.lock",
			"/var/lib/cni/results/" + lyftName + "-*", "/etc/systemd/system/cni-gc.service",
			"/etc/systemd/system/cni-gc.timer"},
		Others: []string{"interfaces described `CNI-ENI <instance>` and their secondary addresses stay in EC2, and " +
			"attached", "rp_filter=2 on the node's own interface",
			"empty chains CNI-<24 hex> of table nat, which ptp, bridge and others name in the same way"},
	}
}

type lyftIPAM struct {
	CNIVersion       string            `json:"cniVersion"`
	Type             string            `json:"type"`
	InterfaceIndex   int               `json:"interfaceIndex"`
	SkipDeallocation bool              `json:"skipDeallocation"`
	SubnetTags       map[string]string `json:"subnetTags"`
	SecGroupIDs      []string          `json:"secGroupIds"`
}

type lyftIPVlan struct {
	CNIVersion string `json:"cniVersion"`
	Type       string `json:"type"`
	Mode       string `json:"mode"`
}

type lyftPTP struct {
	CNIVersion         string `json:"cniVersion"`
	Type               string `json:"type"`
	HostInterface      string `json:"hostInterface"`
	ContainerInterface string `json:"containerInterface"`
	IPMasq             bool   `json:"ipMasq"`
}

// lyftVersion returns the only CNI version that its ipam plugin supports, which is that of its CNI
// library: 0.3.1 up to v0.6.1, and 0.4.0 since then (go.mod, plugin/ipam/main.go:
// PluginSupports(version.Current())).
func lyftVersion(in Input) string {
	for _, a := range in.Node.Assets {
		if v, err := values.ParseVersion(a.Version); a.Name == LyftPlugins && err == nil &&
			!v.Before(values.Version{Minor: 6, Patch: 2}) {
			return "0.4.0"
		}
	}
	return "0.3.1"
}

// WantsInterfaces reports whether the network needs the security groups of the instance's
// interfaces, because no document has them.
func WantsInterfaces(n *config.Node) bool {
	l := n.Networking.LyftVPC
	return l != nil && len(l.SecGroupIDs) == 0
}

// lyftGroups returns the security groups for the pods' interfaces: those of the documents, or else
// those of the node's primary interface, as in kOps.
// https://github.com/kubernetes/kops/blob/v1.22.0/nodeup/pkg/model/networking/lyft.go
func lyftGroups(in Input) []string {
	if !WantsInterfaces(in.Node) {
		return in.Node.Networking.LyftVPC.SecGroupIDs
	}
	if i := in.Facts.Instance; i != nil && len(i.Interfaces) > 0 {
		return i.Interfaces[0].SecurityGroups
	}
	return nil
}

func buildLyftVPC(in Input, b *Built) error {
	l := in.Node.Networking.LyftVPC
	groups := lyftGroups(in)
	if len(groups) == 0 {
		return fmt.Errorf("use lyftvpc (%s): its plugins give every interface of the pods its security groups, no "+
			"document says them, and the instance's metadata does not say the node's, which kOps took (`agent "+
			"facts`): write `secGroupIds: [sg-…]`",
			in.NetworkOrigin())
	}
	v := lyftVersion(in)
	if in.Node.Kubelet.NodeIP == "" {
		b.note(Info, in.NetworkOrigin(), "pods have secondary addresses of the interfaces: %s", nodeIPNeeded)
	}
	return b.addConf(in, lyftConf, conflist{CNIVersion: v, Name: lyftName, Plugins: []any{
		lyftIPAM{v, lyftName + "-ipam", l.InterfaceIndex, true, l.SubnetTags, groups},
		lyftIPVlan{v, lyftName + "-ipvlan", "l2"},
		lyftPTP{v, lyftName + "-unnumbered-ptp", cmp.Or(in.Facts.Uplink, "eth0"), "veth0", true},
	}})
}
