package network

import (
	"fmt"

	"github.com/netwright/netwright/pkg/cleanup"
)

// AzurePlugins is the name of the asset with Azure's plugins: an archive of
// https://github.com/Azure/azure-container-networking/releases.
const AzurePlugins = "azure-vnet"

const azureConf = "10-azure.conflist"

// azure returns the row of Azure CNI, which gives pods addresses of a virtual network. In scenario
// nodeSubnet there is no daemon, and the agent writes the conf, as AKS' own bootstrap does. In
// every other scenario the daemon CNS writes it. Sources:
// https://github.com/Azure/azure-container-networking (cni/*.conflist, cns/cniconflist, network,
// platform/os_linux.go).
func azure() Network {
	return Network{
		Title: "pods have addresses of an Azure virtual network, or of an overlay that Azure routes; no " +
			"encapsulation",
		Docs:      "https://learn.microsoft.com/azure/aks/azure-cni-overview",
		Lifecycle: Lifecycle{First: version(1, 10)},
		Conf:      Conf{Writer: WriterNetwright, File: azureConf, Chain: []string{"azure-vnet", "portmap"}, Awaited: "netwright"},
		Plugins: []Plugin{
			{Asset: AzurePlugins, Members: []string{"azure-vnet", "azure-vnet-ipam", "azure-vnet-telemetry"},
				Case:    Case{"scenario nodeSubnet; else CNS brings them", azureOurs},
				Source:  "https://github.com/Azure/azure-container-networking/releases",
				Archive: "azure-vnet-cni-linux-ARCH-VERSION.tgz"}, // Makefile, CNI_ARCHIVE_NAME
			reference("v0.8.0", "loopback", "portmap"),
		},
		Modules: []Module{
			brNetfilter(false),
			{Name: "ebtable_nat", Why: "mode bridge rewrites MAC addresses", Optional: true,
				Case: azureBridge},
			{Name: "bridge", Why: "azure0", Case: azureBridge},
		},
		Sysctls: forwarding(),
		Mounts:  []Mount{{What: "bpffs", Where: "/sys/fs/bpf", Type: "bpf", Case: azureCilium}},
		Packages: []Package{{Name: "ebtables", On: "ubuntu", Case: azureBridge},
			{Name: "ebtables", On: "debian", Case: azureBridge}},
		Kubeconfig: "none on the host: CNS asks Azure's 168.63.129.16 and 169.254.169.254, which must stay reachable",
		MTU:        "that of the node's own interface, in every scenario",
		IPv6:       true, // in scenario dualStackOverlay
		Requires: Requires{Clouds: []string{"azure"}, Why: "its virtual network routes the pods' addresses",
			Source: "https://learn.microsoft.com/azure/aks/azure-cni-overview"},
		SharedHost: ownLinks("azv*", "azure*").enis("", nil).besides(
			Shared{Service: "cloud-init", Ignores: "secondary addresses of the node's interface: they are the pods' " +
				"(apply_network_config: false for its Azure datasource)"}),
		HealthChecks: []HealthCheck{
			{Text: "its plugin gave an address on this node", Path: "/run/azure-vnet.json",
				Case: Case{"scenario nodeSubnet", azureOurs}, Pods: true,
				Missing: "see /var/log/azure-vnet.log: `No available addresses` " +
					"means secondary addresses of the interface"},
			{Text: "CNS keeps its state", Path: "/run/azure-cns",
				Case: Case{"another scenario", func(in Input) bool { return !azureOurs(in) }}},
		},
		Residue: azureResidue(),
		TestedBy: []Proof{{"its plugin supports the version of the agent's conf, and reads the conf",
			"test/plugins TestPlugins"}},
		Untested: "that pods reach each other: its addresses come only from Azure",
		// CNS writes the conf. azure-npm writes iptables chains and ipsets
		// (test/integration/manifests/cns/daemonset-linux.yaml, npm/azure-npm.yaml). In scenario
		// nodeSubnet without policy neither runs.
		Agents: []string{"azure-npm", "cns-container"},
		Build:  buildAzure,
	}
}

func azureOurs(in Input) bool { return in.Node.Networking.Azure.Scenario == "nodeSubnet" }

var (
	azureBridge = Case{"mode bridge",
		func(in Input) bool { return azureOurs(in) && in.Node.Networking.Azure.Mode == "bridge" }}
	azureCilium = Case{"scenario cilium",
		func(in Input) bool { return in.Node.Networking.Azure.Scenario == "cilium" }}
)

// azureFiles has the name of the conf for each scenario. Source: cns/service/main.go,
// CNIConflistScenario.
var azureFiles = map[string]string{"nodeSubnet": azureConf, "swift": "15-azure-swift.conflist",
	"v4overlay": "15-azure-swift-overlay.conflist", "overlay": "15-azure-swift-overlay.conflist",
	"dualStackOverlay": "15-azure-swift-overlay.conflist", "cilium": ciliumConf,
	"azurecni-chained-cilium": "05-azure-chained-cilium.conflist"}

// azureResidue returns what Azure CNI leaves. In mode bridge, azure0 has the addresses of the
// interface. They move back before azure0 is removed.
func azureResidue() cleanup.Residue {
	return cleanup.Residue{
		Portmap: []string{"azure"},
		Uplinks: []cleanup.UplinkSelector{{Link: "azure[0-9]*", Kind: "bridge"}},
		Routes:  []cleanup.RouteSelector{{Link: "azv*"}},
		Chains: []cleanup.ChainSelector{{Table: "nat", Chain: "SWIFT"}, {Table: "nat", Chain: "SWIFT-POSTROUTING"},
			{Table: "filter", Chain: "AZURECNIINPUT"}, {Table: "filter", Chain: "AZURECNIOUTPUT"},
			{Chain: "AZURE-NPM*"}},
		IPSets: []string{"azure-npm-*"},
		Links: []cleanup.LinkSelector{{Name: "azv" + hexDigits(11), Kind: "veth"}, {Name: "azvint*", Kind: "veth"},
			{Name: "azvifv*", Kind: "veth"},
			{Name: "azure[0-9]*", Kind: "bridge"}, {Name: "azSnatbr", Kind: "bridge"}},
		Files: []string{"/etc/cni/net.d/15-azure-swift*.conflist",
			"/etc/cni/net.d/05-azure-chained-cilium.conflist", "/opt/cni/bin/azure-vnet*", "/opt/cni/bin/azure-ipam",
			"/opt/cni/bin/10-azure.conflist", "/run/azure-vnet/", "/run/azure-vnet*.json", "/run/azure-vnet*.json.lock",
			"/run/azure-vnet*.json[0-9]*", // temporary files of its state (store/json.go)
			"/run/azure-vnet-telemetry.sock", "/run/azure-cns/", "/var/lib/azure-network/",
			"/var/log/azure-vnet*.log", "/var/log/azure-cns.log", "/var/log/azure-ipam.log",
			"/var/lib/cni/results/azure-*"},
		Others: []string{"ebtables: rules of table nat for azure0 (mode bridge)",
			"rules of POSTROUTING that whoever made the node added for what leaves the virtual network",
			"namespaces az_ns_* of multitenancy, with what is in them",
			"/etc/cni/net.d/" + ciliumConf + ", if CNS wrote it (its ipam is azure-ipam)"},
	}
}

type azureVnet struct {
	Type   string   `json:"type"`
	Mode   string   `json:"mode"`
	Bridge string   `json:"bridge,omitempty"`
	Via    []string `json:"ipsToRouteViaHost,omitempty"`
	IPAM   ipamType `json:"ipam"`
}

type ipamType struct {
	Type string `json:"type"`
}

type azurePortmap struct {
	chainedPlugin
	SNAT bool `json:"snat"`
}

func buildAzure(in Input, b *Built) error {
	a := in.Node.Networking.Azure
	if in.V6 && a.Scenario != "dualStackOverlay" {
		return fmt.Errorf("use azure with scenario %s (%s): its pods have no IPv6, and the cluster's do (%s): set "+
			"scenario: dualStackOverlay, or take the IPv6 range out of podCIDR",
			a.Scenario, in.Origin("spec.networking.azure.scenario"), in.Origin("spec.podCIDR"))
	}
	if !azureOurs(in) {
		b.Wait = in.waitConf(azureFiles[a.Scenario], "CNS writes it")
		return nil
	}
	vnet := azureVnet{Type: "azure-vnet", Mode: a.Mode, Via: a.IPsToRouteViaHost, IPAM: ipamType{"azure-vnet-ipam"}}
	if azureBridge.If(in) {
		vnet.Bridge = "azure0"
		b.note(Warning, in.Origin("spec.networking.azure.mode"),
			"mode bridge: at the first pod azure0 takes the addresses of %s, and the node's connections pause; "+
				"transparent does without", in.Facts.Uplink)
	}
	// The plugin supports only 0.3.0 and 0.3.1 (cni/cni.go).
	if err := b.addConf(in, azureConf, conflist{CNIVersion: "0.3.0", Name: "azure",
		Plugins: []any{vnet, azurePortmap{portmap(), true}}}); err != nil {
		return err
	}
	b.Conf.Mode = 0o600
	b.note(Info, in.NetworkOrigin(),
		"as many pods fit as the node's interface has secondary addresses: set kubelet's maxPods to that, and the "+
			"pods on the host's network")
	return nil
}
