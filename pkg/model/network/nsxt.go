package network

import "github.com/netwright/netwright/pkg/cleanup"

// nsxT returns the row of NSX-T. Netwright prepares the node and waits for the conf, which the
// DaemonSet nsx-ncp-bootstrap writes. Its programs are closed source. The facts come from the
// manifests (https://github.com/vmware/nsx-container-plugin-operator) and from the vendor's cleanup
// procedure (NCP 3.1, "Clean Up Kubernetes Nodes").
func nsxT() Network {
	return Network{
		Title: "VMware NSX: the hypervisor's switch carries each pod in a VLAN of the node; policy in NSX",
		Docs:  "https://github.com/vmware/nsx-container-plugin-operator",
		Lifecycle: Lifecycle{Note: "which release of NCP takes which Kubernetes is in the vendor's release notes " +
			"only"},
		Conf:       byDaemonSet("10-nsx.conflist", "nsx", "portmap").awaited("its DaemonSet nsx-ncp-bootstrap writes it"),
		Plugins:    nil, // nsx-ncp-bootstrap installs nsx and, on RHEL, loopback
		Modules:    []Module{openvswitch()},
		Sysctls:    forwarding(),
		Kubeconfig: "none on the host: its agents use service accounts, and NCP's certificate for NSX is a Secret",
		MTU:        "1500 (mtu of ncp.ini): the tunnel is the hypervisor's, not the node's",
		SharedHost: ownLinks("br-int").besides(ovsInPods(),
			Shared{Service: "AppArmor", Ignores: "nothing: on Ubuntu it must run, or the bootstrap ends"}),
		HealthChecks: []HealthCheck{{Text: "its agent takes pods", Path: "/run/nsx-ujo"},
			// The pods nsx-ovs and nsx-node-agent mount this socket
			// (manifest/kubernetes/ubuntu/ncp-ubuntu.yaml).
			{Text: "the switch that its agent drives is there", Path: "/run/openvswitch/db.sock",
				Missing: "Open vSwitch does not run: the container nsx-ovs starts it, where the host has none"}},
		Residue: nsxResidue(),
		Untested: "any of its own parts: their source is closed, and they work only below an NSX hypervisor; even " +
			"the text of its conf is not known",
		Agents: []string{"nsx-node-agent"},
		Build:  buildNSXT,
	}
}

func nsxResidue() cleanup.Residue {
	return cleanup.Residue{
		// On OpenShift, ovs_uplink_port is a port of this bridge.
		Uplinks: []cleanup.UplinkSelector{{Link: "br-int", Kind: "openvswitch"}},
		OVS:     []cleanup.OVSSelector{ovsMark("br-int")},
		Files: []string{"/etc/cni/net.d/10-nsx.conf", "/opt/cni/bin/nsx",
			"/etc/apparmor.d/ncp-apparmor", "/run/nsx-ujo/", "/var/log/nsx-ujo/"},
		Others: []string{"ports that portmap published for its pods: the name in its conf, which tells, is not public",
			"/etc/cni/net.d/99-loopback.conf, if it is of 54 bytes as NSX writes it",
			"the AppArmor profile node-agent-apparmor, loaded until `apparmor_parser -R` or a reboot",
			"modules of Open vSwitch that it built (weak-updates/openvswitch or updates/dkms below /lib/modules): the " +
				"originals are in nsx/usr-ovs-kmod-backup, with a file INFO that says where they go; then depmod",
			"/etc/openvswitch/conf.db, if no other Open vSwitch uses it",
			"the tags ncp/node_name and ncp/cluster of the node's port in NSX"},
	}
}

func buildNSXT(in Input, b *Built) error {
	b.note(Info, in.NetworkOrigin(),
		"nsx-kube-proxy serves the services: kube-proxy must not run on this node (kubeProxy.enabled: false)")
	b.note(Info, in.NetworkOrigin(),
		"the port of this machine in NSX must have the tags ncp/node_name=%s and ncp/cluster=…, or no pod gets an "+
			"address", in.Node.Name)
	return nil
}
