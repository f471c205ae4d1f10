package tasks

import (
	"net/netip"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/test/netns"
)

// proved says whether a change is proved harmless on a host whose pods are in 100.96.0.0/11.
func proved(t *testing.T, v host.View, task Task, c *Change) bool {
	t.Helper()
	return Harmless(t.Context(), task, c, Ground{View: v, Pods: []netip.Prefix{netip.MustParsePrefix("100.96.0.0/11"), netip.MustParsePrefix("fd00:96::/48")}})
}

// The test has values for each sysctl inside and outside of its range. The line that keeps it:
// harmless_sysctl.go, contains.
func TestSysctlsProvedHarmless(t *testing.T) {
	ns := netns.New(t)
	in(t, ns, func(h *host.Host) {
		for _, c := range []struct {
			key, value, have string
			want             bool
		}{
			{"kernel.panic", "10", "0", true},
			{"kernel.panic", "-1", "0", false},
			{"kernel.panic", "3601", "0", false},
			{"vm.overcommit_memory", "1", "0", true},
			{"vm.overcommit_memory", "2", "0", false},
			{"vm.max_map_count", "65530", "65530", true},
			{"vm.max_map_count", "65529", "65530", false},
			{"vm.max_map_count", "262144", "1048576", false}, // less than programs may use now
			{"vm.nr_hugepages", "128", "0", false},           // it takes memory away
			{"fs.inotify.max_user_instances", "8192", "128", true},
			{"fs.inotify.max_user_instances", "127", "128", false},
			{"fs.file-max", "2097152", "9223372036854775807", false},
			{"net.core.somaxconn", "128", "4096", true},
			{"net.core.somaxconn", "127", "4096", false},
			{"net.core.somaxconn", "65536", "4096", false},
			{"net.core.somaxconn", "0177", "4096", false}, // the kernel reads 127
			{"net.core.somaxconn", "0x80", "4096", true},
			{"net.core.rmem_max", "212992", "212992", true},
			{"net.core.rmem_max", "212991", "212992", false},
			{"net.core.netdev_max_backlog", "999", "1000", false},
			{"net.ipv4.tcp_rmem", "4096 87380 16777216", "4096 131072 6291456", true},
			{"net.ipv4.tcp_rmem", "4096 87379 16777216", "4096 131072 6291456", false},
			{"net.ipv4.tcp_rmem", "4095 87380 16777216", "4096 131072 6291456", false},
			{"net.ipv4.tcp_rmem", "4096 87380 80000", "4096 131072 6291456", false},
			{"net.ipv4.tcp_rmem", "4096 87380 268435457", "4096 131072 6291456", false},
			{"net.ipv4.tcp_rmem", "87380", "4096 131072 6291456", false},
			{"net.ipv4.tcp_rmem", "4096 0250000 16777216", "4096 131072 6291456", false}, // octal: 86016
			{"net.ipv4.tcp_wmem", "4096 16384 4194304", "4096 16384 4194304", true},
			{"net.ipv4.tcp_rmem", "1 1 1", "4096 131072 6291456", false},
			{"net.ipv4.tcp_retries2", "0", "15", false},
			{"net.ipv4.neigh.host0.mcast_solicit", "0", "3", false},
			{"net.ipv4.neigh.default.gc_thresh1", "0", "128", true},
			{"net.ipv4.neigh.default.gc_thresh3", "4096", "1024", true},
			{"net.ipv4.neigh.default.gc_thresh3", "1023", "1024", false},
			{"net.netfilter.nf_conntrack_tcp_timeout_established", "1", "432000", false},
			{"net.netfilter.nf_conntrack_max", "65535", "65535", false},
			{"net.ipv4.ip_forward", "1", "0", true},
			{"net.ipv4.ip_forward", "0", "1", false},
			{"net/ipv4/ip_forward", "1", "0", true},
			{"net.ipv4.conf.cbr0.forwarding", "0", "1", false},
			{"net.ipv6.conf.all.forwarding", "1", "0", false},
			{"net.ipv4.conf.all.rp_filter", "0", "2", false},
			{"net.ipv4.conf.all.arp_ignore", "8", "0", false},
			{"net.bridge.bridge-nf-call-iptables", "1", "0", true},
			{"net.bridge.bridge-nf-call-iptables", "0", "1", false},
			{"net.ipv4.ip_local_reserved_ports", "30000-32767", "", true},
			{"net.ipv4.ip_local_reserved_ports", "32768-60000", "", false},
			{"kernel.nobody_knows", "1", "", false},
		} {
			change := &Change{Items: []Item{{Key: SysctlKey(c.key), Op: Update, Fields: []Field{{Name: "value", Before: c.have, After: c.value}}}}}
			if got := proved(t, h.Live.View(), Sysctl{Key: c.key, Value: c.value}, change); got != c.want {
				t.Errorf("%s=%s (now %s): proved harmless %v, want %v", c.key, c.value, c.have, got, c.want)
			}
		}
	})
}

// On a node behind a bridge, the settings of bridges decide whether others reach the node. The line
// that keeps it: harmless.go, behindBridge.
func TestBehindABridge(t *testing.T) {
	ns := netns.New(t)
	ns.Run("ip", "link", "add", "br0", "type", "bridge")
	ns.Run("ip", "address", "add", "192.0.2.2/24", "dev", "br0")
	ns.Run("ip", "link", "set", "br0", "up")
	ns.Run("ip", "route", "add", "default", "via", "192.0.2.1")
	in(t, ns, func(h *host.Host) {
		for _, task := range []Task{Sysctl{Key: "net.bridge.bridge-nf-call-iptables", Value: "1"}, Module{Name: "br-netfilter"}} {
			if proved(t, h.Live.View(), task, &Change{Items: []Item{{Key: task.Owns()[0], Op: Update}}}) {
				t.Errorf("%v is proved harmless, the uplink is a bridge", task.Owns())
			}
		}
		if !proved(t, h.Live.View(), Module{Name: "overlay"}, &Change{}) {
			t.Error("another module is not")
		}
	})
}

// A module of the documents may be a driver, or may take packets as soon as it is loaded. The line
// that keeps it: harmless.go, harmlessModules.
func TestModulesProvedHarmless(t *testing.T) {
	h, _ := onDisk(t)
	for name, want := range map[string]bool{
		"overlay": true, "vxlan": true, "ip-set": true, "ip_set_hash_net": true, "xt_socket": true, "ip_vs_rr": true,
		"bonding": false, "e1000e": false, "softdog": false, "vrouter": false, "xt": false, "vxlan2": false,
	} {
		if got := proved(t, h.Live.View(), Module{Name: name}, &Change{}); got != want {
			t.Errorf("%s: proved harmless %v, want %v", name, got, want)
		}
	}
}

// A file that a unit of the documents reads is not harmless, wherever it is. The line that keeps
// it: harmless.go, Harmless.
func TestWhatUnitsReadIsNotProvedHarmless(t *testing.T) {
	h, _ := onDisk(t)
	rules, other := File{Path: "/srv/kubernetes/rules", Content: []byte("x"), Mode: 0o644}, File{Path: "/srv/kubernetes/other", Content: []byte("x"), Mode: 0o644}
	on := Ground{View: h.Live.View(), Read: ReadByUnits([]Task{rules, other, UnitState{Meta: Meta{Requires: []graph.Key{FileKey(rules.Path)}}, Name: "x.service"}})}
	if Harmless(t.Context(), rules, plan(t, rules, h.Live.View()), on) {
		t.Error("a file that a hook reads is proved harmless")
	}
	if !Harmless(t.Context(), other, plan(t, other, h.Live.View()), on) {
		t.Error("one beside it is not")
	}
}

// A file takes a checkpoint, unless its place is in the list. The line that keeps it: harmless.go,
// HarmlessPath.
func TestPlacesProvedHarmless(t *testing.T) {
	h, _ := onDisk(t)
	for file, want := range map[string]bool{
		"/etc/cni/net.d/10-ours.conflist": true, "/opt/cni/bin/bridge": true, "/etc/kubernetes/kubelet.conf": true, "/srv/kubernetes/ca.crt": true,
		"/var/lib/kubelet/config.yaml": true, "/etc/motd": true, "/etc/containerd/certs.d/docker.io/hosts.toml": true,
		"/etc/kubernetes/manifests/pod.yaml": false, "/etc/kubernetes/manifests": false, // static pods
		"/etc/motdx": false, "/etc/cnix/a": false, "/opt/bin/setup": false,
		"/etc/hosts": false, "/etc/nsswitch.conf": false, "/etc/fstab": false, "/etc/sysctl.d/zz.conf": false, "/etc/modprobe.d/x.conf": false, "/etc/iptables.rules": false,
		"/etc/systemd/system/systemd-networkd.service.d/x.conf": false, "/usr/local/lib/systemd/network/x.network": false, "/lib/systemd/network/x.network": false,
		"/etc/resolvconf/x": false, "/etc/passwd": false, "/etc/ssl/certs/x.pem": false, "/etc/netwright/agent.yaml": false, "/etc/systemd/network/10-x.network": false,
		"/etc/network/interfaces": false, "/etc/ssh/sshd_config": false, "/boot/x": false, "/srv/x": false,
	} {
		c := plan(t, File{Path: file, Content: []byte("x\n"), Mode: 0o644}, h.Live.View())
		if got := proved(t, h.Live.View(), File{Path: file}, c); got != want {
			t.Errorf("%s: proved harmless %v, want %v", file, got, want)
		}
		if got := proved(t, h.Live.View(), Removal{Key: FileKey(file)}, &Change{Items: []Item{{Key: FileKey(file), Op: Remove}}}); got != want {
			t.Errorf("%s goes: proved harmless %v, want %v", file, got, want)
		}
	}
}

// Our own files that the boot reads are harmless if their new lines are harmless. The line that
// keeps it: harmless.go, linesHarmless.
func TestLinesProvedHarmless(t *testing.T) {
	h, _ := onDisk(t)
	for _, c := range []struct {
		name, file, before, after string
		want                      bool
	}{
		{"a limit", ownSysctls, "", "# ours\n-fs.file-max = 2097152\nnet.ipv4.ip_forward = 1\n", true},
		{"another", ownSysctls, "", "net.ipv4.tcp_rmem = 1 1 1\n", false},
		{"one beside it", ownSysctls, "net.ipv4.tcp_rmem = 1 1 1\n", "net.ipv4.tcp_rmem = 1 1 1\nkernel.panic = 10\n", true},
		{"another value", ownSysctls, "kernel.panic = 1\n", "kernel.panic = 10\n", true},
		{"a value that is none", ownSysctls, "kernel.panic = 1\n", "kernel.panic = -1\n", false},
		{"one that goes", ownSysctls, "net.ipv4.ip_forward = 1\nkernel.panic = 1\n", "kernel.panic = 1\n", false},
		{"a module", ownModules, "", "# ours\noverlay\n", true},
		{"a module that goes", ownModules, "overlay\nvxlan\n", "overlay\n", false},
	} {
		change := &Change{Items: []Item{{Key: FileKey(c.file), Op: Update, Before: []byte(c.before), After: []byte(c.after)}}}
		if got := proved(t, h.Live.View(), File{Path: c.file}, change); got != c.want {
			t.Errorf("%s: proved harmless %v, want %v", c.name, got, c.want)
		}
	}
	if proved(t, h.Live.View(), File{Path: ownSysctls}, &Change{Items: []Item{{Key: FileKey(ownSysctls), Op: Update}}}) {
		t.Error("a content that is not shown is proved harmless")
	}
}

// A route is harmless only if a default route led there before. The line that keeps it:
// harmless_net.go, onlyDefault.
func TestRoutesProvedHarmless(t *testing.T) {
	ns := netns.New(t)
	for _, words := range [][]string{
		{"link", "add", "eth0", "type", "veth", "peer", "name", "eth1"}, {"address", "add", "192.0.2.2/24", "dev", "eth0"}, {"link", "set", "eth0", "up"},
		{"route", "add", "default", "via", "192.0.2.1"}, {"route", "add", "100.97.0.0/16", "via", "192.0.2.9"},
		{"route", "add", "100.98.3.0/24", "via", "192.0.2.7", "protocol", "110"},
		{"route", "add", "100.99.0.0/16", "via", "192.0.2.9", "table", "100"},
		{"route", "add", "default", "via", "192.0.2.9", "table", "100"},
	} {
		ns.Run("ip", words...)
	}
	in(t, ns, func(h *host.Host) {
		for dst, want := range map[string]bool{
			"100.96.2.0/24": true,
			"100.97.2.0/24": false, // longer than the prefix of another route
			"100.98.0.0/16": false, // shorter than the prefix of another route
			"100.98.3.0/24": false, // another next hop for a known peer
			"100.99.2.0/24": false, // another table may lead there after the main one
			"10.9.0.0/16":   false, // outside of the stated pod CIDRs
			"100.0.0.0/8":   false,
			"192.0.2.0/25":  false,
			"0.0.0.0/0":     false,
		} {
			route := Route{Route: rtnl.Route{Dst: netip.MustParsePrefix(dst), Gateway: netip.MustParseAddr("192.0.2.8")}}
			c := &Change{Items: []Item{{Key: RouteKey(route.Route), Op: Create}}}
			if got := proved(t, h.Live.View(), route, c); got != want {
				t.Errorf("%s: proved harmless %v, want %v", dst, got, want)
			}
			if c.Items[0].Op = Update; proved(t, h.Live.View(), route, c) {
				t.Errorf("%s by another way is proved harmless", dst)
			}
		}
		for _, c := range []struct {
			task Task
			op   Op
			want bool
		}{
			{Link{Name: "cbr0", Kind: "bridge"}, Create, true},
			{Link{Name: "eth0", Kind: "dummy"}, Update, false},
			{Address{Link: "cbr0", Prefix: netip.MustParsePrefix("100.96.1.1/24")}, Create, true},
			{Address{Link: "eth0", Prefix: netip.MustParsePrefix("100.96.1.1/24")}, Create, false},
			{Address{Link: "cbr0", Prefix: netip.MustParsePrefix("192.0.2.1/24")}, Create, false},
			{Address{Link: "cbr0", Prefix: netip.MustParsePrefix("100.97.1.1/24")}, Create, false},
			{Rule{Rule: rtnl.Rule{Priority: 702, Family: 4, Table: 100}}, Create, false},
		} {
			if got := proved(t, h.Live.View(), c.task, &Change{Items: []Item{{Key: c.task.Owns()[0], Op: c.op}}}); got != c.want {
				t.Errorf("%v: proved harmless %v, want %v", c.task.Owns(), got, c.want)
			}
		}
	})
}

// Our table is harmless as long as it only gives packets of pods the node's address.
func TestTablesProvedHarmless(t *testing.T) {
	ns := netns.New(t)
	in(t, ns, func(h *host.Host) {
		table := func(rule firewall.NFRule, hook string) Table {
			return Table{Table: firewall.Table{Family: "ip", Name: "netwright", Chains: []firewall.Chain{{
				Name: hook, Type: "nat", Hook: hook, Priority: 100, Policy: "accept", Rules: []firewall.NFRule{rule}}}}}
		}
		pods := []netip.Prefix{netip.MustParsePrefix("100.96.1.0/24")}
		for _, c := range []struct {
			name string
			t    Table
			want bool
		}{
			{"pods are masqueraded", table(firewall.NFRule{SrcIn: pods, OIFNot: "cbr0", Verdict: "masquerade"}, "postrouting"), true},
			{"everybody is", table(firewall.NFRule{Verdict: "masquerade"}, "postrouting"), false},
			{"others are", table(firewall.NFRule{SrcIn: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, Verdict: "masquerade"}, "postrouting"), false},
			{"pods are dropped", table(firewall.NFRule{SrcIn: pods, Verdict: "drop"}, "postrouting"), false},
			{"packets get another receiver", table(firewall.NFRule{SrcIn: pods, Verdict: "return"}, "prerouting"), false},
		} {
			if got := proved(t, h.Live.View(), c.t, &Change{Items: []Item{{Key: c.t.Owns()[0], Op: Create}}}); got != c.want {
				t.Errorf("%s: proved harmless %v, want %v", c.name, got, c.want)
			}
		}
	})
}

// These kinds are proved without a look at the host.
func TestKindsProvedHarmless(t *testing.T) {
	h, _ := onDisk(t)
	yes := true
	for _, c := range []struct {
		name string
		task Task
		op   Op
		want bool
	}{
		{"a hook's file", Unit{Name: "x.service"}, Create, false},
		{"a hook that starts", UnitState{Name: "x.service", Active: &yes}, Update, false},
		{"kubelet's drop-in", DropIn{Unit: "kubelet.service"}, Create, true},
		{"another's drop-in", DropIn{Unit: "systemd-networkd.service"}, Create, false},
		{"systemd reads its files", Effect{Action: ActionDaemonReload}, Run, true},
		{"a restart of containerd", Effect{Action: ActionRestart, Unit: "containerd.service"}, Run, true},
		{"a restart of a hook", Effect{Action: ActionRestart, Unit: "x.service"}, Run, false},
		{"a reload of networkd", Effect{Action: ActionReload, Unit: "systemd-networkd.service"}, Run, false},
		{"a key of containerd", TOMLKey{Path: "/etc/containerd/config.toml"}, Update, true},
		{"another TOML file", TOMLKey{Path: "/etc/x.toml"}, Update, false},
		{"bpffs", Mount{Type: "bpf", Where: "/sys/fs/bpf"}, Create, true},
		{"bpffs that is mounted anew", Mount{Type: "bpf", Where: "/sys/fs/bpf"}, Update, false},
		{"a disk", Mount{Type: "ext4", Where: "/run/x"}, Create, false},
		{"what hides something", Mount{Type: "bpf", Where: "/etc"}, Create, false},
		{"a directory of confs", Directory{Path: "/etc/cni/net.d"}, Create, true},
		{"a directory whose name says something", Directory{Path: "/etc/nologin"}, Create, false},
		{"that of our settings", Directory{Path: "/etc/netwright"}, Create, true},
		{"its mode", Directory{Path: "/etc/netwright"}, Update, false},
		{"a directory that switches us off", Directory{Path: "/etc/netwright/disabled"}, Create, false},
		{"plugins", Archive{Dir: "/opt/cni/bin", Members: []string{"bridge"}}, Create, true},
		{"programs elsewhere", Archive{Dir: "/usr/bin", Members: []string{"ip"}}, Create, false},
		{"rules that accept", ForwardAccept{Link: "cbr0"}, Create, true},
		{"what a network left", Cleanup{Network: "calico"}, Remove, false},
		{"a link that goes", Removal{Key: LinkKey("cbr0")}, Remove, false},
		{"a route that goes", Removal{Key: graph.MakeKey(KindRoute, "254/100.96.2.0/24")}, Remove, false},
	} {
		if got := proved(t, h.Live.View(), c.task, &Change{Items: []Item{{Key: c.task.Owns()[0], Op: c.op}}}); got != c.want {
			t.Errorf("%s: proved harmless %v, want %v", c.name, got, c.want)
		}
	}
}
