package network

import (
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/tasks"
)

// Ledgers name modes. So no two modes of a row have the same name, and no name has the separator in
// it. The removal of a mode takes nothing that a switch of networks would leave.
func TestModesOfRows(t *testing.T) {
	for _, n := range append(All(), KubeProxy()) {
		var names []string
		for _, m := range n.Modes {
			if m.Name == "" || m.Of == "" || m.If == nil || strings.ContainsAny(m.Name, ", ()") || slices.Contains(names, m.Name) {
				t.Errorf("%s: mode %+v", n.Name, m)
			}
			names = append(names, m.Name)
			if rest := m.Residue.Without(n.Residue).Describe(); len(rest) > 0 {
				t.Errorf("%s: of mode %s there would stay after a switch: %q", n.Name, m.Name, rest)
			}
			if len(m.Residue.Describe()) == 0 {
				t.Errorf("%s: mode %s has nothing", n.Name, m.Name)
			}
		}
	}
}

// wants returns a node whose documents have this network.
func wants(n networks.Networking) Input {
	return Input{Node: &config.Node{Networking: n}, V4: true}
}

func TestWhatAModeLeavesGoesWhenAnotherIsWanted(t *testing.T) {
	on := true
	flannel := func(backend string) Input {
		return wants(networks.Networking{Flannel: &networks.Flannel{Backend: backend}})
	}
	calico := func(c networks.Calico) Input { return wants(networks.Networking{Calico: &c}) }
	cilium := func(c networks.Cilium) Input { return wants(networks.Networking{Cilium: &c}) }
	for _, c := range []struct {
		network string
		before  Input
		now     Input
		goes    string // names of the tasks, with commas
		gone    []string
		stays   []string
	}{
		{"flannel", flannel("vxlan"), flannel("vxlan"), "", nil, nil},
		{"flannel", flannel("vxlan"), flannel("host-gw"), "flannel (vxlan)", []string{"link flannel.1", "route to the pods' addresses dev flannel.1"}, []string{"by a gateway", "cni0", "nft"}},
		{"flannel", flannel("host-gw"), flannel("vxlan"), "flannel (host-gw)", []string{"by a gateway"}, []string{"flannel.1"}},
		{"flannel", flannel("udp"), flannel("wireguard"), "flannel (udp)", []string{"flannel0"}, []string{"flannel-wg"}},
		{"calico", calico(networks.Calico{}), calico(networks.Calico{EncapsulationMode: "vxlan"}), "calico (ipip)", []string{"tunl0"}, []string{"vxlan", "cali*"}},
		{"calico", calico(networks.Calico{EncapsulationMode: "vxlan"}), calico(networks.Calico{EncapsulationMode: "ipip"}), "calico (vxlan)", []string{"vxlan.calico"}, []string{"tunl0"}},
		{"calico", calico(networks.Calico{NFTablesMode: "Disabled"}), calico(networks.Calico{NFTablesMode: "Enabled"}), "calico (iptables)", []string{"*/cali-*", "ipset cali40*"}, []string{"nft table"}},
		{"calico", calico(networks.Calico{NFTablesMode: "Enabled"}), calico(networks.Calico{NFTablesMode: "Disabled"}), "calico (nftables)", []string{"nft table ip calico"}, []string{"cali-*"}},
		// The document does not choose, so either may be in use.
		{"calico", calico(networks.Calico{NFTablesMode: "Disabled"}), calico(networks.Calico{}), "", nil, nil},
		{"calico", calico(networks.Calico{NFTablesMode: "Disabled"}), calico(networks.Calico{NFTablesMode: "Auto"}), "", nil, nil},
		{"calico", calico(networks.Calico{BPFEnabled: true, WireguardEnabled: &on}), calico(networks.Calico{}), "calico (eBPF),calico (WireGuard)", []string{"bpfin.cali", "ctlb", "wireguard.cali"}, []string{"cali-*"}},
		{"cilium", cilium(networks.Cilium{Tunnel: "vxlan"}), cilium(networks.Cilium{Tunnel: "disabled"}), "cilium (vxlan)", []string{"link cilium_* (vxlan)"}, []string{"geneve", "lxc"}},
		{"cilium", cilium(networks.Cilium{Tunnel: "geneve", EnableEncryption: true, EncryptionType: "ipsec"}), cilium(networks.Cilium{Tunnel: "vxlan", EnableEncryption: true, EncryptionType: "wireguard"}), "cilium (geneve),cilium (ipsec)", []string{"(geneve)", "IPsec", "table 200"}, []string{"(vxlan)", "wireguard"}},
	} {
		n, _ := Find(c.network)
		var names, marks []string
		for _, task := range n.LeftModes(c.now, n.ModesOf(c.before), "cluster.yaml:1:1") {
			gone := task.(tasks.Cleanup)
			names = append(names, gone.Network)
			marks = append(marks, gone.Residue.(cleanup.Selection).Describe()...)
		}
		text := strings.Join(marks, "\n")
		if got := strings.Join(names, ","); got != c.goes {
			t.Errorf("%s from %s to %s: %q goes, want %q", c.network, n.ModesOf(c.before), n.ModesOf(c.now), got, c.goes)
		}
		for _, words := range c.gone {
			if !strings.Contains(text, words) {
				t.Errorf("%s from %s: %s stays:\n%s", c.network, n.ModesOf(c.before), words, text)
			}
		}
		for _, words := range c.stays {
			if strings.Contains(text, words) {
				t.Errorf("%s from %s: %s goes:\n%s", c.network, n.ModesOf(c.before), words, text)
			}
		}
		if left := n.LeftModes(c.now, "", ""); len(left) > 0 {
			t.Errorf("%s: a node of which nothing is known loses %v", c.network, left)
		}
	}
}

// The modes of kube-proxy: without a stated mode nothing is judged, and a disabled kube-proxy
// leaves all modes. What two modes have in common stays, and so do kubelet's chains always.
func TestKubeProxyModes(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		mode  string
		on    *bool
		goes  string
		stays []string
	}{
		{"", nil, "", nil}, {"", &yes, "", nil},
		{"iptables", nil, "kubeProxy (userspace, ipvs, nftables)", []string{"nat/KUBE-SERVICES", "nat/KUBE-POSTROUTING", "filter/KUBE-FORWARD", "filter/KUBE-PROXY-FIREWALL", "KUBE-SVC-"}},
		{"ipvs", &yes, "kubeProxy (userspace, iptables, nftables)", []string{"nat/KUBE-SERVICES", "nat/KUBE-POSTROUTING", "filter/KUBE-FORWARD", "filter/KUBE-PROXY-FIREWALL", "kube-ipvs0", "ipset"}},
		{"nftables", nil, "kubeProxy (userspace, iptables, ipvs)", []string{"nft table"}},
		{"nftables", &no, "kubeProxy (userspace, iptables, ipvs, nftables)", nil}, {"", &no, "kubeProxy (userspace, iptables, ipvs, nftables)", nil},
	} {
		in := Input{Node: &config.Node{KubeProxy: c.on, ProxyMode: c.mode}}
		var names []string
		var marks cleanup.Residue
		for _, task := range KubeProxy().LeftModes(in, "", "") {
			names = append(names, task.(tasks.Cleanup).Network)
			marks = task.(tasks.Cleanup).Residue.(cleanup.Selection).Residue
		}
		if got := strings.Join(names, ","); got != c.goes {
			t.Errorf("mode %q: %q goes, want %q", c.mode, got, c.goes)
		}
		for _, line := range marks.Describe() {
			for _, words := range c.stays {
				if strings.HasPrefix(line, "iptables chain "+words) || !strings.Contains(words, "/") && strings.Contains(line, words) {
					t.Errorf("in mode %s there goes: %s", c.mode, line)
				}
			}
		}
		for _, m := range marks.Chains {
			for _, theirs := range []string{"KUBE-FIREWALL", "KUBE-KUBELET-CANARY", "KUBE-IPTABLES-HINT", "KUBE-MARK-MASQ", "KUBE-MARK-DROP", "KUBE-ROUTER-INPUT", "KUBE-POD-FW-ABCDEFGHIJKLMNOP", "KUBE-NWPLCY-ABCDEFGHIJKLMNOP", "INPUT", "POSTROUTING"} {
				if m.Comment == "" && common(m.Chain, []string{theirs}) {
					t.Errorf("%+v is %s of others", m, theirs)
				}
			}
		}
	}
	for _, set := range KubeProxy().Residue.IPSets {
		if len(set) > 31 || strings.Contains(set, "*") {
			t.Errorf("no set of the kernel is called %s", set)
		}
	}
}
