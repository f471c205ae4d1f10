package network

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// A mark must prove whose a thing is: by a name that only the network uses, or by more than a name.
func TestMarksAreNobodyElses(t *testing.T) {
	for _, n := range All() {
		for _, d := range Dangers(n.Residue) {
			t.Errorf("%s: %s: %s can be somebody else's: %s", n.Name, d.At, d.Mark, d.Why)
		}
		for i, m := range n.Residue.Routes {
			own := named(m.Link) || m.Pods || m.Type == "local" || m.Type == "blackhole" || cleanup.OwnProtocol(m.Protocol)
			if !own {
				t.Errorf("%s: routes[%d] of table %d: others have routes by link %q", n.Name, i, m.Table, m.Link)
			}
		}
	}
}

// A network says what its removal leaves: what upstream's own clean-up also leaves, or takes
// although it cannot be told from things of others.
func TestWhatHasNoMarkIsSaid(t *testing.T) {
	for name, want := range map[string]string{
		"calico": "eBPF programs by names of others that use Calico's maps", "kubeRouter": "ipsets TMP-*", "flannel": "rules of flannel below 0.16",
	} {
		i := slices.IndexFunc(All(), func(n Network) bool { return n.Name == name })
		if i < 0 || !strings.Contains(strings.Join(All()[i].Residue.Others, "\n"), want) {
			t.Errorf("%s does not say that there stay %s", name, want)
		}
	}
}

// The masquerade addresses of OVN-Kubernetes, with either of its default subnets, do not count as
// the machine's own.
func TestAddedByOVNKubernetes(t *testing.T) {
	for _, address := range []string{"169.254.169.2", "169.254.0.2", "fd69::2"} {
		if !slices.ContainsFunc(Named("ovnKubernetes").Residue.Added,
			func(p netip.Prefix) bool { return p.Contains(netip.MustParseAddr(address)) }) {
			t.Errorf("%s would go to the device", address)
		}
	}
}

// A datapath that no network uses any more is removed if each of its ports belongs to a network.
// Antrea's has the ports of L7NetworkPolicy, too.
func TestPortsOfAntrea(t *testing.T) {
	for _, port := range []string{"antrea-gw0", "antrea-l7-tap0", "antrea-l7-tap1"} {
		if !anyMatches(Named("antrea").Residue.OVS[0].Ports, port) {
			t.Errorf("port %s keeps the datapath", port)
		}
	}
}

// A file that a daemon or an installer was writing when it was killed is removed, under the name
// that upstream's code gives it.
func TestHalfWrittenFiles(t *testing.T) {
	for name, files := range map[string][]string{
		"amazonVPC": {"/opt/cni/bin/aws-cni.tmp", "/opt/cni/bin/egress-cni.tmp"},
		"azure":     {"/run/azure-vnet.json1234567890", "/run/azure-vnet-ipam.json1234567890"},
		"calico":    {"/opt/cni/bin/calico.tmp", "/opt/cni/bin/calico-ipam.tmp"},
		"canal":     {"/opt/cni/bin/calico.tmp", "/opt/cni/bin/calico-ipam.tmp"},
		"kubeOVN": {"/opt/cni/bin/kube-ovn.tmp.42", "/usr/local/bin/kubectl-ko.tmp.42",
			"/etc/cni/net.d/01-kube-ovn.conflist.tmp.1234567890"},
		"multus": {"/opt/cni/bin/_multus1234567890", "/opt/cni/bin/multus.temp1234567890",
			"/opt/cni/bin/multus-shim.temp1234567890", "/opt/cni/bin/passthru.temp1234567890"},
	} {
		residue := Named(name).Residue
		if name == "multus" {
			residue = multus(nil).Residue
		}
		for _, file := range files {
			if !anyMatches(residue.Files, file) {
				t.Errorf("%s: %s is left", name, file)
			}
		}
	}
}

// TestDangers: each of these rows would remove what belongs to others, and must be refused.
func TestDangers(t *testing.T) {
	for _, c := range []struct {
		name string
		l    cleanup.Residue
	}{
		{"links", cleanup.Residue{Links: []cleanup.LinkSelector{{Name: "veth*", Kind: "veth"}}}},
		{"links", cleanup.Residue{Links: []cleanup.LinkSelector{{Name: "eth0", Kind: "vlan"}}}},
		{"links", cleanup.Residue{Links: []cleanup.LinkSelector{{Name: "*", Kind: "veth", Pods: true}}}},
		{"links", cleanup.Residue{Links: []cleanup.LinkSelector{{Name: "acme*"}}}},
		{"links", cleanup.Residue{Links: []cleanup.LinkSelector{{Name: "docker?", Kind: "bridge"}}}},
		{"links", cleanup.Residue{Links: []cleanup.LinkSelector{{Name: "[a-z]*", Kind: "bridge"}}}},
		{"routes", cleanup.Residue{Routes: []cleanup.RouteSelector{{Protocol: protocolBoot}}}},
		{"routes", cleanup.Residue{Routes: []cleanup.RouteSelector{{Table: 254}}}},
		{"routes", cleanup.Residue{Routes: []cleanup.RouteSelector{{Table: rtnl.AllTables, Protocol: 4}}}},
		{"routes", cleanup.Residue{Routes: []cleanup.RouteSelector{{Table: 2, Last: 255}}}},
		{"routes", cleanup.Residue{Routes: []cleanup.RouteSelector{{Link: "e*"}}}},
		{"routes", cleanup.Residue{Routes: []cleanup.RouteSelector{{Table: 200}}}},
		{"routes", cleanup.Residue{Routes: []cleanup.RouteSelector{{Table: 10000, Last: 20000}}}},
		{"routes", cleanup.Residue{Routes: []cleanup.RouteSelector{{Table: 77, Protocol: protocolBoot}}}},
		{"routes", cleanup.Residue{Routes: []cleanup.RouteSelector{{Table: 77, Via: true, Type: "unicast"}}}},
		{"rules", cleanup.Residue{Rules: []cleanup.RuleSelector{{Table: 77}}}},
		{"rules", cleanup.Residue{Rules: []cleanup.RuleSelector{{Table: 10, Last: 50, From: true}}}},
		{"rules", cleanup.Residue{Rules: []cleanup.RuleSelector{{Table: 77, Marked: true}}}},
		{"rules", cleanup.Residue{Rules: []cleanup.RuleSelector{{Table: 77, Protocol: protocolBoot}}}},
		{"rules", cleanup.Residue{Rules: []cleanup.RuleSelector{{Priority: 100}}}},
		{"rules", cleanup.Residue{Rules: []cleanup.RuleSelector{{Table: 254}}}},
		{"rules", cleanup.Residue{Rules: []cleanup.RuleSelector{{Table: 254, To: true}}}},
		{"rules", cleanup.Residue{Rules: []cleanup.RuleSelector{{Table: 254, Priority: 1535}}}},
		{"rules", cleanup.Residue{Rules: []cleanup.RuleSelector{{Priority: 1535, To: true}}}},
		{"chains", cleanup.Residue{Chains: []cleanup.ChainSelector{{Table: "nat", Chain: "POSTROUTING"}}}},
		{"chains", cleanup.Residue{Chains: []cleanup.ChainSelector{{Chain: "KUBE-*"}}}},
		{"chains", cleanup.Residue{Chains: []cleanup.ChainSelector{{Table: "nat"}}}},
		{"chains", cleanup.Residue{Chains: []cleanup.ChainSelector{{Comment: "*"}}}},
		{"chains", cleanup.Residue{Chains: []cleanup.ChainSelector{{Table: "nat", Chain: "CNI-HOSTPORT-MASQ"}}}},
		{"chains", cleanup.Residue{Chains: []cleanup.ChainSelector{{Chain: "CNI-DN-*"}}}},
		{"tables", cleanup.Residue{Tables: []cleanup.TableSelector{{Family: "ip6", Name: "cni_hostport"}}}},
		{"portmap", cleanup.Residue{Portmap: []string{"*"}}},
		{"tables", cleanup.Residue{Tables: []cleanup.TableSelector{{Family: "ip", Name: "filter"}}}},
		{"ipsets", cleanup.Residue{IPSets: []string{"KUBE-*"}}},
		{"chains", cleanup.Residue{Chains: []cleanup.ChainSelector{{Set: "*"}}}},
		{"xfrm", cleanup.Residue{XFRM: []cleanup.XFRMSelector{{ReqID: 1}}}},
		{"xfrm", cleanup.Residue{XFRM: []cleanup.XFRMSelector{{ReqID: 1, States: true}}}},
		{"xfrm", cleanup.Residue{XFRM: []cleanup.XFRMSelector{{Priority: 50}}}},
		{"ipvs", cleanup.Residue{IPVS: []cleanup.IPVSSelector{{Pods: true}}}},
		{"sysctls", cleanup.Residue{Sysctls: []cleanup.SysctlSelector{{Key: "net.ipv4.ip_forward", Wrote: "1"}}}},
		{"programs", cleanup.Residue{Programs: []cleanup.ProgramSelector{{Hook: "tc", Name: "*"}}}},
		{"ovs", cleanup.Residue{OVS: []cleanup.OVSSelector{{Bridges: []string{"*"}}}}},
		{"moved", cleanup.Residue{Uplinks: []cleanup.UplinkSelector{{Link: "*"}}}},
		{"lines", cleanup.Residue{Lines: []cleanup.LineSelector{{File: "/etc/iproute2/rt_tables", Line: "77"}}}},
		{"units", cleanup.Residue{Units: []string{"kubelet.service"}}},
		{"pins", cleanup.Residue{Pins: []string{"/sys/fs/bpf/"}}},
		{"pins", cleanup.Residue{Pins: []string{"/etc/acme/"}}},
		{"files", cleanup.Residue{Files: []string{"/etc/"}}},
		{"files", cleanup.Residue{Files: []string{"/opt/cni/"}}},
		{"files", cleanup.Residue{Files: []string{"/opt/cni/bin/"}}},
		{"files", cleanup.Residue{Files: []string{"/opt/cni/bin/*"}}},
		{"files", cleanup.Residue{Files: []string{"/var/lib/*/"}}},
		{"files", cleanup.Residue{Files: []string{"/var/lib/acme/../kubelet/"}}},
		{"files", cleanup.Residue{Files: []string{"var/lib/acme"}}},
		{"files", cleanup.Residue{Files: []string{"/run/s*/"}}},
	} {
		if !slices.ContainsFunc(Dangers(c.l), func(d Danger) bool {
			return strings.HasPrefix(d.At, c.name+"[0]") && d.Why != "" && !strings.Contains(d.Mark, "{")
		}) {
			t.Errorf("%s: nothing dangerous is seen, or it is not described: %+v", c.name, c.l)
		}
	}
}
