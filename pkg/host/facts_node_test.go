package host

import (
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// testFactsOfANode compares facts with what programs of the node report.
func testFactsOfANode(t *testing.T) {
	write(t, "/etc/cni/net.d/10-x.conflist", `{"cniVersion":"1.0.0","name":"x","plugins":[{"type":"loopback"}]}`)
	f := openNode(t).Live.Facts
	if len(f.Problems) > 0 {
		t.Errorf("problems: %q", f.Problems)
	}
	if name, err := os.Hostname(); err != nil || f.Hostname != name {
		t.Errorf("hostname %q, want %q", f.Hostname, name)
	}
	if out, err := exec.Command("uname", "-r").Output(); err != nil || f.Kernel.Release != strings.TrimSpace(string(out)) {
		t.Errorf("release %q, want %q", f.Kernel.Release, out)
	}
	if f.Uplink != "host0" || f.Address != netip.MustParseAddr("10.77.0.11") || !f.Kernel.IPv6 {
		t.Errorf("uplink %s %s, IPv6 %v", f.Uplink, f.Address, f.Kernel.IPv6)
	}
	i := slices.IndexFunc(f.Links, func(l LinkFact) bool { return l.Name == "host0" })
	if i < 0 || f.Links[i].Manager != "systemd-networkd" || !f.Links[i].Up || len(f.Links[i].Addresses) < 2 {
		t.Errorf("links: %+v", f.Links)
	}
	if f.OS.ID == "" || f.Contain != "systemd-nspawn" || f.Init != "systemd" || f.Cgroup == 0 {
		t.Errorf("got %+v", f)
	}
	if f.Kernel.ModuleStates["br_netfilter"] != kernel.ModuleBuiltin || f.Kernel.ModuleStates["overlay"] != kernel.ModuleBuiltin {
		t.Errorf("modules: %v", f.Kernel.ModuleStates)
	}
	rt := f.Runtime
	if rt.Name != "containerd" || rt.From != "cri status" || rt.NetworkReady == nil || rt.ConfDir != "/etc/cni/net.d" || len(rt.BinDirs) == 0 {
		t.Errorf("runtime: %+v", rt)
	}
	if out, err := exec.Command("containerd", "--version").Output(); err != nil || rt.Version == "" || !strings.Contains(string(out), rt.Version) {
		t.Errorf("version %q, containerd says %q (%v)", rt.Version, out, err)
	}
}

func testForwardPolicies(t *testing.T) {
	policies := func() string {
		f := openNode(t).Live.Facts
		if len(f.Problems) > 0 {
			t.Errorf("problems: %q", f.Problems)
		}
		return f.ForwardPolicy["ip"] + " " + f.ForwardPolicy["ip6"]
	}
	for _, step := range []struct{ command, want string }{
		{"true", "accept accept"},
		{"iptables-nft -P FORWARD DROP", "drop accept"},
		{"iptables-nft -P FORWARD ACCEPT; ip6tables-nft -P FORWARD DROP", "accept drop"},
		{"ip6tables-nft -P FORWARD ACCEPT", "accept accept"},
		{"nft add table inet t; nft 'add chain inet t f { type filter hook forward priority 5; policy drop; }'", "drop drop"},
		{"nft delete table inet t", "accept accept"},
		{"iptables-legacy -P FORWARD DROP", "drop accept"},
		{"iptables-legacy -A FORWARD -s 10.0.0.0/8 -m comment --comment x -j ACCEPT", "drop accept"},
		{"iptables-legacy -P FORWARD ACCEPT; iptables-legacy -P INPUT DROP", "accept accept"},
		{"ip6tables-legacy -A FORWARD -j DROP; ip6tables-legacy -P FORWARD DROP", "accept drop"},
		{"ip6tables-legacy -P FORWARD ACCEPT", "accept accept"},
	} {
		if out, err := exec.Command("sh", "-ec", step.command).CombinedOutput(); err != nil {
			t.Logf("%s: %v: %s", step.command, err, out)
			continue
		}
		if got := policies(); got != step.want {
			t.Errorf("after %s: %s, want %s", step.command, got, step.want)
		}
	}
}
