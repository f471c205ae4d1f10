package network

import (
	"fmt"
	"strconv"

	"github.com/netwright/netwright/pkg/cleanup"
)

// amazonVPC returns the row of Amazon VPC CNI. Netwright prepares the node and waits for the conf.
// aws-node writes it when its address manager ipamd answers, and then the node is ready. Sources:
// https://github.com/aws/amazon-vpc-cni-k8s v1.23 (README.md, misc/10-aws.conflist,
// pkg/networkutils).
func amazonVPC() Network {
	return Network{
		Title: "pods have addresses of the VPC, on the instance's interfaces; by the DaemonSet aws-node",
		Docs:  "https://github.com/aws/amazon-vpc-cni-k8s",
		Lifecycle: Lifecycle{
			Stages: []Stage{{Level: Experimental, Kops: "1.9"}, {Level: Stable, Kops: "1.21"}},
			First:  version(1, 9),
		},
		Conf: byDaemonSet("10-aws.conflist", "aws-cni", "egress-cni", "portmap").awaited(
			"its DaemonSet writes it when its address manager answers: that is the node's readiness"),
		// The init container copies the reference plugins. aws-cni must have the same release as
		// the daemon.
		Plugins: nil,
		Modules: []Module{brNetfilter(true)},
		Sysctls: append(forwarding(),
			Sysctl{Key: "net.ipv4.neigh.default.gc_thresh1", Value: "0",
				Why: "an address of the VPC is soon another pod's: no stale neighbour"}),
		Mounts: []Mount{{What: "bpffs", Where: "/sys/fs/bpf", Type: "bpf",
			Case: Case{When: "network policy pins its programs there"}}},
		Kubeconfig: "none on the host: its DaemonSet uses the service account, and AWS' credentials of the instance",
		MTU: "9001 on the interfaces and pods (AWS_VPC_ENI_MTU, POD_MTU); it sets that of the node's own " +
			"interface too",
		IPv6:         true,
		Requires:     Requires{Clouds: []string{"aws"}, Why: "pods have addresses of an AWS VPC"},
		SharedHost:   amazonVPCHost(),
		HealthChecks: amazonVPCHealth(),
		Residue:      amazonVPCResidue(),
		Agents:       []string{"aws-node"},
		TestedBy: []Proof{
			{"pods of two nodes reach each other with its own daemon and plugins, and a host outside by the " +
				"node's address; a simulated EC2 gives addresses and a second interface; `agent verify` gets the " +
				"daemon's answer",
				"test/e2e TestPodsTalkByAmazonVPC"},
			{"its two plugins support the version of the conf that its installer writes, and read the conf",
				"test/plugins TestPlugins"}},
		Untested: "security groups for pods (vlan*, tables 101 and up), egress-cni's chains, network policy and " +
			"IPv6: they need controllers in AWS or a Nitro instance, so their names come from the source code only",
		Build: buildAmazonVPC,
	}
}

// amazonVPCHealth returns the checks of ipamd (pkg/ipamd/introspect.go) and of the pods' links. The
// link of a pod with security groups of its own is named vlan…, that of any other pod eni….
func amazonVPCHealth() []HealthCheck {
	return []HealthCheck{
		{Text: "its address manager keeps its list of addresses", Path: "/run/aws-node/ipam.json", Pods: true,
			Missing: "ipamd gave no address: the subnet has no free address, the instance can have no more " +
				"interfaces, or ec2:*NetworkInterface* is not permitted; see /var/log/aws-routed-eni/ipamd.log"},
		{Text: "its address manager answers", URL: "http://localhost:61679/v1/enis",
			Missing: "aws-node does not run here, or DISABLE_INTROSPECTION is true: see " +
				"/var/log/aws-routed-eni/ipamd.log"},
		podSign("[ev][nl][ia]*", "veth"),
	}
}

func amazonVPCResidue() cleanup.Residue {
	return cleanup.Residue{
		Portmap:   []string{"aws-cni"},
		LocalRule: true, // moved to priority 20 by strict mode of security groups for pods
		Rules: []cleanup.RuleSelector{
			{Priority: 512, Pods: true}, {Priority: 1024, Mark: 0x80, Mask: 0x80},
			{Priority: 1536, From: true, Table: 2, Last: 15},
			// These rules lead to AWS_EXTERNAL_SERVICE_CIDRS. UpdateExternalServiceIpRules of
			// pkg/networkutils/network.go finds its own rules by the same two fields.
			{Priority: 1535, To: true, Table: mainTable},
			// The number of the table is 100 plus that of the VLAN.
			{Priority: 10, IIF: "vlan???????????", Table: 101, Last: 252},
			{Priority: 10, IIF: "vlan???????????", Table: 256, Last: 4195},
		},
		Routes: []cleanup.RouteSelector{{Link: "eni*"}, {Table: 101, Last: 4195, Link: "vlan???????????"}},
		Links: []cleanup.LinkSelector{{Name: "eni???????????", Kind: "veth"}, {Name: "vlan???????????", Kind: "veth"},
			{Name: "vlan.eth.*", Kind: "vlan"}},
		Chains: []cleanup.ChainSelector{{Table: "nat", Chain: "AWS-SNAT-CHAIN-*"},
			{Table: "nat", Chain: "AWS-CONNMARK-CHAIN-*"}, {Table: "nat", Chain: "CNI-E4-*"},
			{Table: "nat", Chain: "CNI-E6-*"},
			{Table: "nat", Comment: "AWS SNAT CHAIN"}, {Table: "nat", Comment: "AWS, outbound connections"},
			{Table: "nat", Comment: "AWS, CONNMARK"},
			{Table: "mangle", Comment: "AWS, primary ENI"},
			{Table: "filter", Comment: "Block Node Local Pod access via IPv[46]"}},
		Tables: []cleanup.TableSelector{{Family: "ip", Name: "aws-cni"}},
		Pins:   []string{"/sys/fs/bpf/globals/aws/"},
		Files: []string{"/opt/cni/bin/aws-cni", "/opt/cni/bin/egress-cni",
			"/opt/cni/bin/aws-cni.tmp", "/opt/cni/bin/egress-cni.tmp", // temporary files (utils/cp)
			"/opt/cni/bin/aws-cni-support.sh", "/opt/cni/bin/aws-eks-na-cli",
			"/opt/cni/bin/aws-eks-na-cli-v6", "/opt/cni/bin/tc.v*.bpf.o", "/opt/cni/bin/v[46]events.bpf.o",
			"/run/aws-node/", "/run/cni/v4pd/", "/run/cni/v6pd/",
			"/var/log/aws-routed-eni/", "/var/lib/cni/results/aws-cni-*"},
		Others: []string{"further interfaces stay attached and up, with their primary addresses, the rules from these " +
			"(32765) and the tables that the rules lead to, which are like a person's; EC2 has them by the tag " +
			"node.k8s.amazonaws.com/instance_id",
			"secondary addresses and prefixes on the primary interface, in EC2",
			"rp_filter=2 on the primary interface"},
	}
}

func buildAmazonVPC(in Input, b *Built) error {
	if in.V4 && in.V6 {
		return fmt.Errorf("use amazonVPC (%s): its pods have IPv4 or IPv6 addresses, never both (%s): take one "+
			"range out of podCIDR, or choose cilium",
			in.NetworkOrigin(), in.Origin("spec.podCIDR"))
	}
	if err := amazonVPCMTU(in); err != nil {
		return err
	}
	if in.Facts.ForwardPolicy["ip"] == "drop" {
		b.note(Warning, in.NetworkOrigin(),
			"a firewall of this node drops forwarded packets by policy (as Docker's does), and the pods have a link "+
				"each: they reach nothing until it accepts eni*")
	}
	env := in.Node.Networking.AmazonVPC.Env
	b.fitENIs(in, env["ENABLE_PREFIX_DELEGATION"] == "true" || in.V6,
		env["AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG"] == "true")
	return nil
}

// amazonVPCMTU checks that the MTUs in aws-node's environment are in the range that its README.md
// names. It does not compare them with the links, because aws-node sets the MTU of the links
// itself.
func amazonVPCMTU(in Input) error {
	least := minimumMTU
	if in.V6 {
		least = minimumMTU6
	}
	for _, name := range []string{"AWS_VPC_ENI_MTU", "POD_MTU"} {
		text, set := in.Node.Networking.AmazonVPC.Env[name]
		if mtu, err := strconv.Atoi(text); set && (err != nil || mtu < least || mtu > awsJumbo) {
			return fmt.Errorf("use amazonVPC (%s) with %s: %q: aws-node takes %d to %d: correct the value, or take it "+
				"out of env",
				in.Origin("spec.networking.amazonVPC.env"), name, text, least, awsJumbo)
		}
	}
	return nil
}

// amazonVPCHost returns what other services must leave alone. On the images of AWS these services
// would configure the further interfaces as if they belonged to the host.
func amazonVPCHost() SharedHost {
	// The patterns have the full length, because vlan10 may be a VLAN that a person made.
	return ownLinks("eni???????????", "vlan???????????", "vlan.eth.*").macs("eni???????????",
		"vlan???????????").enis("", nil)
}
