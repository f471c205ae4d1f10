package network

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Danger is a selector of a residue that could match things of another owner.
type Danger struct {
	At   string // which mark: "links[2]"
	Mark string // the mark as it is written
	Why  string // whose it could be, and what to add
	// Spared says that the selector matches nothing, so that nothing would be removed by it.
	Spared bool
}

// Names that nearly every node has and that no residue may match: those of the kernel, systemd, the
// distributions, docker, libvirt, kube-proxy and kubelet.
var (
	othersLinks = []string{"lo", "eth0", "ens5", "enp0s3", "eno1", "wlan0", "bond0", "team0", "br0", "docker0",
		"br-0123456789ab", "virbr0", "lxcbr0", "podman0", "tun0", "tap0",
		"wg0", "dummy0", "kube-ipvs0", "nodelocaldns", "veth1234567", "tailscale0"}
	othersChains = []string{"INPUT", "OUTPUT", "FORWARD", "PREROUTING", "POSTROUTING", "DOCKER", "DOCKER-USER",
		"DOCKER-ISOLATION-STAGE-1", "LIBVIRT_INP", "ufw-user-input",
		"KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-POSTROUTING", "KUBE-MARK-MASQ", "KUBE-FORWARD", "KUBE-FIREWALL",
		"KUBE-KUBELET-CANARY", "KUBE-SVC-ABCDEFGHIJKLMNOP", "KUBE-SEP-ABCDEFGHIJKLMNOP",
		"f2b-sshd", "NETAVARK_FORWARD"}
	// portmapChains are shared by all networks that publish ports, also podman's and nerdctl's.
	portmapChains = []string{"CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-SNAT", "CNI-HOSTPORT-SETMARK", "CNI-HOSTPORT-MASQ",
		"CNI-DN-0123456789abcdef01234", "CNI-SN-0123456789abcdef01234"}
	othersTables = []string{"filter", "nat", "mangle", "raw", "security", "firewalld", "kube-proxy", "docker-bridges",
		"libvirt_network", "f2b-table", "inet", "netavark"}
	othersSets  = []string{"KUBE-CLUSTER-IP", "KUBE-LOOP-BACK", "KUBE-NODE-PORT-TCP", "f2b-sshd", "fail2ban"}
	othersUnits = []string{"kubelet.service", "containerd.service", "crio.service", "docker.service", "ssh.service",
		"sshd.service", "systemd-networkd.service", "NetworkManager.service",
		"netwright-agent.service", "dbus.service", "network.target", "multi-user.target"}
	// othersPaths are directories that several programs share. No selector may match one of them or
	// a directory above it.
	othersPaths = []string{"/etc/cni/net.d", "/etc/systemd/system", "/etc/sysctl.d", "/etc/modules-load.d",
		"/etc/NetworkManager/conf.d", "/etc/kubernetes", "/etc/netwright", "/etc/containerd",
		"/opt/cni/bin", "/usr/bin", "/usr/lib/systemd", "/usr/libexec/cni", "/var/lib/cni/networks",
		"/var/lib/cni/results", "/var/lib/kubelet", "/var/lib/containerd", "/var/lib/netwright",
		"/var/log/pods", "/run/netns", "/run/systemd", "/run/containerd", "/sys/fs/bpf/tc/globals", "/srv/kubernetes",
		"/root", "/boot", "/home"}
)

// Dangers lists the selectors that no residue may have: patterns that match everything, common
// names without the pods or the bridge that they belong to, the system's own tables and protocols,
// and paths that must stay. A test calls it for all rows, and Build for a declared network before
// it makes any task.
func Dangers(l cleanup.Residue) []Danger {
	var d dangers
	for i, m := range l.Links {
		own := m.Master != "" || m.Pods || m.MAC != "" || m.Alias != ""
		for _, p := range []string{m.Name, m.MAC, m.Alias} {
			d.pattern("links", i, p)
		}
		d.when(m.Kind == "", "links", i, m, "a physical link can have that name: say its kind")
		d.when(!own && common(m.Name, othersLinks), "links", i, m,
			"links of others are called so too: say its master, or pods: true")
	}
	for i, m := range l.Routes {
		main := m.Table == 0 || m.Table == rtnl.AllTables || m.Table >= 253 && m.Table <= 255
		d.when(!cleanup.OwnProtocol(m.Protocol) && main && !m.Pods && !named(m.Link), "routes", i, m,
			"it is any route of that table: say the protocol that is the network's own, the link, or pods: true")
		d.spared(m.Bare() && !main, "routes", i, m,
			"a table is anybody's: say the link, the protocol that is the network's own, the type, or pods: true")
		if !named(m.Link) {
			d.last("routes", i, m, m.Table, m.Last)
		}
	}
	for i, m := range l.Rules {
		system := m.Table >= 253 && m.Table <= 255
		d.when(m.Mark == 0 && (m.Table == 0 || system) && !m.Pods && !m.Numbered(), "rules", i, m,
			"others have rules there: say the mark, a table of the network's own, or pods: true")
		d.spared(m.Bare() && m.Table != 0 && !system, "rules", i, m,
			"a table is anybody's: say mark, priority, iif, the protocol that is the network's own, or pods: true")
		d.last("rules", i, m, m.Table, m.Last)
	}
	for i, m := range l.Chains {
		rules := m.Comment != "" || m.Target != "" || m.In != "" || m.Out != "" || m.Set != ""
		d.when(!rules && m.Chain == "", "chains", i, m, "it is every chain: say chain, comment, target, in or out")
		d.when(!rules && common(m.Chain, othersChains), "chains", i, m,
			"that chain is the system's or another program's: say comment, target, in or out for the rules in it")
		d.spared(!rules && common(m.Chain, portmapChains), "chains", i, m,
			"portmap has it for all networks that publish ports: name your conf in portmap")
		for _, p := range []string{m.Chain, m.Comment, m.Target, m.In, m.Out, m.Set} {
			d.pattern("chains", i, p)
		}
	}
	for i, m := range l.Tables {
		d.pattern("tables", i, m.Name)
		d.spared(common(m.Name, []string{"cni_hostport"}), "tables", i, m,
			"portmap has it for all networks that publish ports: name your conf in portmap")
		d.when(common(m.Name, othersTables), "tables", i, m, "a table of the system or of another program is called so")
	}
	for i, m := range l.Portmap {
		d.pattern("portmap", i, m)
	}
	for i, m := range l.IPSets {
		d.pattern("ipsets", i, m)
		d.when(common(m, othersSets), "ipsets", i, m, "a set of another program is called so")
	}
	d.kernel(l)
	for i, m := range l.Units {
		d.when(common(m, othersUnits), "units", i, m, "the node needs that unit")
	}
	for i, m := range l.Pins {
		d.path("pins", i, m)
		d.when(!strings.HasPrefix(m, "/sys/fs/bpf/"), "pins", i, m, "pins are below /sys/fs/bpf")
	}
	for i, m := range l.Files {
		d.path("files", i, m)
	}
	for i, m := range l.Lines {
		d.when(!path.IsAbs(m.File) || len(strings.Fields(m.Line)) < 2, "lines", i, m,
			"a line of one word can be anybody's: write the whole line")
	}
	return d
}

// kernel checks the selectors for the other things in the kernel: IPsec, IPVS, sysctls, eBPF
// programs, Open vSwitch and moved addresses.
func (d *dangers) kernel(l cleanup.Residue) {
	for i, m := range l.XFRM {
		// strongSwan counts reqid from 1, Libreswan from 16384. Stores of earlier releases may have
		// a higher reqid without any other field.
		d.when(m.Mask == 0 && m.IfID == 0 && (m.ReqID == 0 || m.ReqID == 1 && m.Priority == 0 && !m.Pods), "xfrm", i, m,
			"others have IPsec too: say mark and mask, ifID, or reqID with priority or pods: true")
		d.spared(m.Mark&^m.Mask != 0, "xfrm", i, m, "its mask does not have all bits of its mark: say them")
	}
	for i, m := range l.IPVS {
		d.when(m.Link == "" && !m.Pods || m.Unless == "", "ipvs", i, m,
			"kube-proxy has services there too: say link or pods, and unless: kube-ipvs0")
	}
	for i, m := range l.Sysctls {
		d.when(m.Key == "" || m.Wrote == "" || m.Default == "" || m.Wrote == m.Default, "sysctls", i, m,
			"it says no value to go back to")
	}
	for i, m := range l.Programs {
		d.pattern("programs", i, m.Name)
		d.when(m.Hook != "tc" && m.Hook != "xdp" && m.Hook != "cgroup", "programs", i, m,
			"programs are attached at tc, xdp or cgroup")
	}
	for i, m := range l.OVS {
		for _, p := range slices.Concat(m.Bridges, m.Ports, m.Tunnels, []string{m.Datapath}) {
			d.pattern("ovs", i, p)
		}
	}
	for i, m := range l.Uplinks {
		d.pattern("moved", i, m.Link)
	}
}

type dangers []Danger

func (d *dangers) when(is bool, list string, i int, mark any, why string) {
	if is {
		*d = append(*d, Danger{At: fmt.Sprintf("%s[%d]", list, i), Mark: describeMark(mark), Why: why})
	}
}

func (d *dangers) spared(is bool, list string, i int, mark any, why string) {
	n := len(*d)
	d.when(is, list, i, mark, why)
	for ; n < len(*d); n++ {
		(*d)[n].Spared = true
	}
}

// describeMark returns a selector as a list of residue prints it.
func describeMark(mark any) string {
	var l cleanup.Residue
	switch m := mark.(type) {
	case cleanup.LinkSelector:
		l.Links = append(l.Links, m)
	case cleanup.RouteSelector:
		l.Routes = append(l.Routes, m)
	case cleanup.RuleSelector:
		l.Rules = append(l.Rules, m)
	case cleanup.ChainSelector:
		l.Chains = append(l.Chains, m)
	case cleanup.TableSelector:
		l.Tables = append(l.Tables, m)
	case cleanup.XFRMSelector:
		l.XFRM = append(l.XFRM, m)
	case cleanup.IPVSSelector:
		l.IPVS = append(l.IPVS, m)
	case cleanup.ProgramSelector:
		l.Programs = append(l.Programs, m)
	case cleanup.SysctlSelector:
		l.Sysctls = append(l.Sysctls, m)
	case cleanup.LineSelector:
		l.Lines = append(l.Lines, m)
	default:
		return fmt.Sprintf("%q", mark)
	}
	return strings.Join(l.Describe(), " ")
}

func (d *dangers) pattern(list string, i int, p string) {
	_, err := path.Match(p, "")
	d.when(err != nil || strings.HasPrefix(p, "*") || strings.HasPrefix(p, "?"), list, i, p,
		"the pattern must begin with what is the network's own")
}

func (d *dangers) last(list string, i int, mark any, table, last int) {
	d.when(last != 0 && (last < table || table <= 255 && last >= 253), list, i, mark,
		"the tables from the first to the last hold the system's own (253 to 255)")
}

// path reports a path that is not clean, has too few parts, or holds files of other programs.
func (d *dangers) path(list string, i int, p string) {
	trimmed := strings.TrimSuffix(p, "/")
	if !path.IsAbs(p) || path.Clean(trimmed) != trimmed || strings.Count(trimmed, "/") < 2 {
		d.when(true, list, i, p, "that is no path that can be removed")
		return
	}
	base := path.Base(trimmed)
	d.pattern(list, i, base)
	for _, other := range othersPaths {
		holds := common(trimmed, ancestors(other))
		d.when(holds, list, i, p, "others have files in "+other)
		if holds {
			return
		}
	}
}

// ancestors returns a path and all directories above it except the root.
func ancestors(p string) []string {
	var out []string
	for ; p != "/"; p = path.Dir(p) {
		out = append(out, p)
	}
	return out
}

// common reports whether a pattern matches one of the names.
func common(pattern string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		is, err := path.Match(pattern, name)
		return err == nil && is
	})
}

// anyMatches reports whether one of the patterns matches a name.
func anyMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return common(p, []string{name}) })
}

// named reports whether a pattern of links matches only names of the network itself.
func named(pattern string) bool { return pattern != "" && !common(pattern, othersLinks) }
