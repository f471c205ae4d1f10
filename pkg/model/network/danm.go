package network

import "github.com/netwright/netwright/pkg/cleanup"

const danmConf = "00-danm.conf"

// danm returns the row of DANM, which gives a pod several interfaces through other plugins.
// Netwright prepares the node and waits for the conf, which the installer or a person writes.
// Sources:
// https://github.com/nokia/danm v4.3.0 (integration/cni_config, integration/install,
// pkg/netcontrol, pkg/cnidel).
func danm() Network {
	return Network{
		Title: "several interfaces a pod, by other plugins; VLAN and VXLAN links on the host",
		Docs:  "https://github.com/nokia/danm/blob/master/user-guide.md",
		Lifecycle: Lifecycle{
			Upstream: "dormant since 2022 (v4.3.0, tested with Kubernetes 1.17)",
			Instead:  "multus",
		},
		Conf: byDaemonSet(danmConf, "danm").awaited("its installer writes it, or a person"),
		// The installer brings danm and fakeipam. A document lists the plugins that danm calls.
		Plugins: nil,
		Modules: []Module{
			{Name: "ipvlan", Why: "its own kind of network", Optional: true},
			{Name: "macvlan", Why: "a plugin behind it", Optional: true},
			{Name: "vxlan", Why: "links vx_<network>", Optional: true},
			{Name: "8021q", Why: "links <network>.<vlan>", Optional: true},
		},
		Kubeconfig: "/etc/cni/net.d/danm-kubeconfig by its installer, or /etc/kubernetes/kubeconfig/danmc.yml by hand",
		Ports:      []Port{{"udp", 4789, "VXLAN, to a multicast group of 239.0.0.0/8 or ff02::/16"}},
		MTU:        "that of the link below; macvlan 1500; 50 less for VXLAN, which it does not set itself",
		IPv6:       true,
		Requires: Requires{Kernel: version(4, 4), Why: "ipvlan",
			Source: "https://github.com/nokia/danm/blob/v4.3.0/user-guide.md"},
		SharedHost: SharedHost{Links: []string{"vx_*"}, Firewall: true},
		HealthChecks: []HealthCheck{
			{Text: "its program is there", Path: "/opt/cni/bin/danm",
				Missing: "its installer has not finished here: look at the pod danm-cni"},
			// scm/build/cni_ds/entrypoint.sh writes danm-kubeconfig; a person writes danmc.yml.
			{Text: "it can talk to the API", Path: "/etc/*/*/danm*",
				Missing: "no pod gets a network: neither /etc/cni/net.d/danm-kubeconfig nor " +
					"/etc/kubernetes/kubeconfig/danmc.yml is there"},
			{Text: "its IPAM is there", Path: "/opt/cni/bin/fakeipam",
				Missing: "plugins behind it get no address from it: its installer brings it beside danm"}},
		Residue: cleanup.Residue{
			Links: []cleanup.LinkSelector{{Name: "vx_*", Kind: "vxlan"}},
			Files: []string{"/etc/cni/net.d/_" + danmConf,
				"/etc/cni/net.d/danm-kubeconfig", "/etc/kubernetes/kubeconfig/danmc.yml",
				"/opt/cni/bin/danm", "/opt/cni/bin/fakeipam", "/opt/cni/bin/_danm", "/opt/cni/bin/_fakeipam",
				"/var/log/danm.log"},
			Others: []string{"VLAN links <network>.<vlan>: their names are the network's, of up to 10 characters, and " +
				"may be anybody's",
				"the network that was there first becomes the default again, and what it leaves is by its own row"},
		},
		// danm-cni writes its files when it starts, and netwatcher makes links
		// (integration/manifests, scm/build/cni_ds/entrypoint.sh).
		Agents: []string{"danm-cni", "netwatcher"},
		Untested: "what the plugin answers: no test builds it, because its tag v4.3.0 is no version of its " +
			"module, and the module has replace lines",
	}
}
