package network

import "github.com/netwright/netwright/pkg/cleanup"

const (
	coilConf    = "10-coil.conflist"
	coilChained = "01-coil.conflist" // for egress only, after another network's plugin
)

// coil returns the row of Coil. Netwright prepares the node and waits for the conf. Coil's
// installer writes it, after it has removed every file with conflist in its name. Sources:
// https://github.com/cybozu-go/coil v2.15.0 (docs/setup.md, v2/pkg/{constants,fou,nodenet},
// v2/cmd/coil-installer).
func coil() Network {
	return Network{
		Title: "pods have addresses of pools, in blocks a node; routes of its own or by a routing daemon of " +
			"yours; egress by NAT servers",
		Docs:      "https://github.com/cybozu-go/coil/tree/v2.15.0/docs",
		Lifecycle: Lifecycle{First: version(1, 16), Note: "2.15 supports Kubernetes 1.33 to 1.35"},
		Conf:      byDaemonSet(coilConf, "coil", "portmap"),
		// The installer brings coil, but none of these.
		Plugins: []Plugin{reference("v0.8.0", "bandwidth", "loopback", "portmap", "tuning")},
		Modules: []Module{
			{Name: "fou", Why: "egress: UDP around IPIP", Case: coilEgress4},
			{Name: "ipip", Why: "egress: the tunnel", Case: coilEgress4},
			{Name: "fou6", Why: "egress: UDP around IPv6", Case: coilEgress6},
			{Name: "ip6_tunnel", Why: "egress: the tunnel", Case: coilEgress6},
		},
		Sysctls: append(forwarding(),
			Sysctl{Key: "net.core.fb_tunnels_only_for_init_net", Value: "2",
				Why: "no fallback tunnels in pods, which coil else renames", Optional: true, Case: coilEgress}),
		Kubeconfig: "none on the host: its DaemonSet uses the service account",
		Ports: []Port{
			{"udp", 5555, "egress, between pods' addresses"},
			{"tcp", 179, "BGP of a routing daemon of yours, where nodes are in several segments"},
			{"tcp", 9384, "metrics of coild"}, {"tcp", 9385, "health of coild"},
		},
		MTU:        "that of the host's links: nothing is encapsulated between nodes; another by the plugin tuning",
		IPv6:       true,
		SharedHost: ownLinks("veth*"),
		HealthChecks: []HealthCheck{{Text: "coild answers the plugin", Path: "/run/coild.sock",
			Missing: "look at the pod coild; that it gave addresses shows `ip rule` (2000: lookup 116) and `ip route " +
				"show table 116`"},
			// This is the address of --health-addr. The probes in v2/config/pod/coild.yaml use it
			// too.
			{Text: "coild is ready", URL: "http://localhost:9385/readyz",
				Missing: "coild does not run here, or does not see the API: its log says which"},
			podSign("veth*", "veth")},
		// coild looks each pod up, whatever it gives it
		Untestable: []Untestable{{Why: "coild asks the API for each pod: its plugin refuses one that the API does not know",
			Instead: apiPods, Source: "https://github.com/cybozu-go/coil/blob/v2.15.0/v2/runners/coild_server.go"}},
		Residue: coilResidue(),
		TestedBy: []Proof{{"its plugin supports the version of the conf that its installer writes, and reads the " +
			"conf",
			"test/plugins TestPlugins"},
			{"pods of two nodes reach each other with the real coild, coil-router, controller and installer, " +
				"beside a real API; verify names the sign of life that is missing", "test/e2e TestKubernetesPodsTalk"},
			{"a switch to another network removes all that its daemons made, for IPv4 and IPv6, except what is " +
				"said to stay",
				"test/cleanup TestKubernetesDaemonsLeaveNothing"}},
		Untested: "egress: its tunnels need modules that the kernel of the tests does not have (fou, ipip)",
		Agents:   []string{"coild"},
		Build:    buildCoil,
	}
}

var (
	coilEgress  = Case{"egress", func(in Input) bool { return in.Node.Networking.Coil.Egress }}
	coilEgress4 = coilEgress.and(withIPv4)
	coilEgress6 = coilEgress.and(withIPv6)
)

// coilResidue returns what coild leaves. coild removes nothing of it unless it was started with
// --clear-routes-on-shutdown. The alias of a pod's link identifies it as Coil's.
func coilResidue() cleanup.Residue {
	return cleanup.Residue{
		Portmap: []string{kubenetName},
		Rules:   []cleanup.RuleSelector{{Priority: 2000, Table: 116, All: true}}, // initRule of v2/pkg/nodenet/pod.go
		// coild makes the routes to pods in table 116, and those to its blocks for other programs
		// in table 119. coil-router makes the routes to other nodes. The protocols are the
		// --protocol-id of each.
		Routes:  []cleanup.RouteSelector{{Protocol: 30, Table: allTables}, {Protocol: 31}},
		Links:   []cleanup.LinkSelector{{Name: "veth*", Kind: "veth", Alias: "COIL:*"}},
		Sysctls: []cleanup.SysctlSelector{{Key: "net.core.fb_tunnels_only_for_init_net", Wrote: "2", Default: "0"}},
		Files: []string{"/etc/cni/net.d/" + coilChained, "/opt/cni/bin/coil",
			"/run/coild.sock"},
		Others: []string{"/var/lib/cni/results/" + kubenetName +
			"-*: its network has the name that calico and kubenet give theirs",
			"blocks of this node in the API (`kubectl get addressblocks -l coil.cybozu.com/node=NODE`)",
			"in pods that are NAT servers or their clients: tables 117, 118, 1000 and links fou4_*, fou6_*, coil_*, " +
				"which go with the pod"},
	}
}

func buildCoil(in Input, b *Built) error {
	c := in.Node.Networking.Coil
	if !c.IPAM {
		b.Wait.File = coilChained
	}
	b.note(Warning, in.NetworkOrigin(),
		"coil's installer removes every file with conflist in its name from %s when it starts: what another network, "+
			"multus or you put there is gone", in.ConfDir)
	if c.IPAM {
		b.note(Info, in.NetworkOrigin(),
			"coil makes routes to nodes of its own segment only: across routers a routing daemon must take the blocks "+
				"of this node from table 119")
	}
	return nil
}
