package witness

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/test/node"
)

// sysctls are keys of the running kernel, whichever.
func (d draw) sysctls() Change {
	n := 1 + d.IntN(6)
	if d.wild {
		n = 80 + d.IntN(80)
	}
	return Change{Sysctls: d.someSysctls(n)}
}

func (d draw) someSysctls(n int) (list []Sysctl) {
	for range n {
		list = append(list, d.sysctl())
	}
	return byName(list, func(s Sysctl) string { return s.Key })
}

// routes are those to the pods of peers.
func (d draw) routes() Change {
	var c Change
	for i := range 1 + d.IntN(3) {
		p := Peer{Name: fmt.Sprintf("peer-%d", i), Address: d.neighbour()}
		taken := []string{node4 + "/32", p.Address + "/32"}
		for _, other := range c.Peers {
			taken = append(taken, other.Address+"/32", other.PodCIDRs[0])
		}
		p.PodCIDRs = []string{d.pods(taken)}
		c.Peers = append(c.Peers, p)
	}
	return c
}

// pods are the range of a peer's pods: a wild one has anything in it, but for what is taken, which
// no store takes twice. Of the node's own subnet it is refused.
func (d draw) pods(taken []string) string {
	for {
		pods := d.prefix()
		if d.wild {
			about := pick(d, node.Gateway4, node.Outside4, node.Outside4, node.Outside4, d.ground.api(), d.address())
			pods = netip.PrefixFrom(netip.MustParseAddr(about), 24+d.IntN(7)).Masked().String()
		}
		overlaps := func(other string) bool {
			return netip.MustParsePrefix(pods).Overlaps(netip.MustParsePrefix(other))
		}
		if !slices.ContainsFunc(taken, overlaps) {
			return pods
		}
	}
}

// names are what the resolver goes by.
func (d draw) names() Change {
	path, content, others := "/etc/resolv.conf", d.resolvConf(), 25
	if d.wild {
		others = 5
	}
	if d.percent(others) {
		path = pick(d, "/etc/hosts", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf",
			"/etc/networks", "/etc/nsswitch.conf", "/etc/systemd/resolved.conf.d/names.conf")
		content = d.hosts()
	}
	return Change{Files: []File{{path, content}}}
}

func (d draw) resolvConf() string {
	var lines []string
	good := d.ground.nameServer()
	for range 1 + d.IntN(3) {
		server := good
		if d.wild {
			server = pick(d, d.address(), d.neighbour(), d.neighbour(), good)
		}
		lines = append(lines, "nameserver "+server)
	}
	for range d.IntN(3) {
		lines = append(lines, pick(d, "search example.com", "options timeout:1",
			"options attempts:2 rotate", "options ndots:5", "options edns0"))
	}
	return strings.Join(lines, "\n") + "\n"
}

func (d draw) hosts() string {
	lines := []string{"127.0.0.1 localhost", "::1 localhost", node4 + " " + nodeName}
	for range 1 + d.IntN(4) {
		lines = append(lines, d.address()+" "+pick(d, "registry.example.com", "api.example.com",
			"peer", "mirror.example.com"))
	}
	if d.wild {
		lines = lines[d.IntN(len(lines)):]
	}
	return strings.Join(lines, "\n") + "\n"
}

// trees are where the network's programs read files.
var trees = []string{
	"/etc/hosts.allow", "/etc/hosts.deny", "/etc/services", "/etc/protocols", "/etc/ethertypes",
	"/etc/netconfig",
	"/etc/iproute2/rt_tables.d/10-more.conf", "/etc/iproute2/group.d/more.conf",
	"/etc/nftables.conf", "/etc/nftables.d/more.nft",
	"/etc/iptables/rules.v4", "/etc/iptables/rules.v6", "/etc/ssh/sshd_config.d/more.conf",
	"/etc/profile.d/proxy.sh", "/etc/environment",
	"/etc/default/networking", "/etc/ppp/options", "/etc/dhcp/dhclient.conf",
	"/etc/chrony/conf.d/more.conf", "/etc/ntp.conf",
	"/etc/NetworkManager/conf.d/90-more.conf",
	"/etc/NetworkManager/system-connections/more.nmconnection",
	"/etc/systemd/networkd.conf.d/more.conf",
	"/etc/systemd/timesyncd.conf.d/more.conf", "/etc/udev/rules.d/80-more.rules",
	"/etc/cni/net.d/99-more.conflist",
	"/etc/containerd/certs.d/registry.example.com/hosts.toml", "/etc/kubernetes/more.conf",
	"/etc/motd", "/etc/apparmor.d/more", "/etc/bindresvport.blacklist",
}

// files are those of the network's programs, with lines of any of them.
func (d draw) files() Change {
	var c Change
	for range 1 + d.IntN(3) {
		path := pick(d, trees...)
		if d.wild && d.percent(80) {
			c.Files = append(c.Files, d.dropIn())
			continue
		}
		content := "# nothing\n"
		if d.wild {
			content = d.lines()
		}
		c.Files = append(c.Files, File{path, content})
	}
	return c.once()
}

// lines are some of what such files have.
func (d draw) lines() string {
	var out []string
	for range 1 + d.IntN(5) {
		out = append(out, pick(d, "ALL: ALL", "[main]",
			"[connection]\nid=more\ntype=ethernet\ninterface-name=host0",
			"[ipv4]\nmethod=manual\naddress1="+d.address()+"/24",
			"*filter\n:INPUT DROP [0:0]\nCOMMIT", d.nft(),
			"table inet more { chain c { type filter hook input priority 0; policy drop; } }",
			"export https_proxy=http://"+d.address()+":3128",
			`{"cniVersion": "1.0.0", "name": "more", "plugins": [{"type": "loopback"}]}`,
			"[Network]\nManageForeignRoutes=yes", `SUBSYSTEM=="net", ACTION=="add", NAME="eth9"`,
			"100 more", "server "+d.address()))
	}
	return strings.Join(out, "\n") + "\n"
}

// units are those of a node that documents may stop; the names of some are on other systems only.
// That of sshd is not here: whoever stops a program means it, and no rule keeps it.
var units = []string{
	"containerd.service", "nftables.service", "systemd-udevd.service", "systemd-resolved.service",
	"systemd-sysctl.service", "networking.service", "cron.service", "systemd-logind.service",
	"NetworkManager.service",
}

// unit is one of them, or the one that sets the node's link up.
func (d draw) unit() string {
	own := "lab-network.service"
	if d.ground.Networkd {
		own = "systemd-networkd.service"
	}
	return pick(d, pick(d, units...), own, own)
}

// dropIn changes a unit at its next start.
func (d draw) dropIn() File {
	lines := pick(d, "[Service]\nExecStart=\nExecStart=/bin/false",
		"[Service]\nExecStart=/bin/true", "[Unit]\nConditionPathExists=/nowhere",
		"[Unit]\nAfter=network.target", "[Service]\nEnvironment=DEBUG=1",
		"[Service]\nPrivateNetwork=yes", "[Service]\nIPAddressDeny=any",
		"[Service]\nExecStartPre=/bin/false")
	return File{"/etc/systemd/system/" + d.unit() + ".d/more.conf", lines + "\n"}
}

// once leaves of files and hooks one of each name.
func (c Change) once() Change {
	c.Files = byName(c.Files, func(f File) string { return f.Path })
	c.Hooks = byName(c.Hooks, func(h Hook) string { return h.Name })
	return c
}

// bootFiles are read when the node boots, or a part of it.
func (d draw) bootFiles() Change {
	var c Change
	for range 1 + d.IntN(3) {
		f := pick(d, d.bootSysctls, d.bootSysctls, d.interfaces, d.interfaces, d.interfaces,
			d.interfaces, d.modules, d.bootDropIn, d.bootDropIn)()
		c.Files = append(c.Files, f)
	}
	if d.percent(20) {
		c.Files = append(c.Files, File{"/etc/nftables.conf",
			"#!/usr/sbin/nft -f\nflush ruleset\n" + strings.ReplaceAll(d.nft(), "; add ",
				"\nadd ") + "\n"})
		c.Hooks = append(c.Hooks, Hook{Name: "nftables.service"})
	}
	return c.once()
}

func (d draw) bootSysctls() File {
	n := 1 + d.IntN(4)
	if d.wild {
		n = 64 + d.IntN(64)
	}
	var out strings.Builder
	for _, s := range d.someSysctls(n) {
		fmt.Fprintf(&out, "%s = %s\n", s.Key, s.Value)
	}
	return File{fmt.Sprintf("/etc/sysctl.d/%02d-more.conf", 10*d.IntN(10)), out.String()}
}

func (d draw) modules() File {
	line := pick(d, "blacklist ", "install ", "options ") + pick(d, "veth", "bridge", "dummy",
		"nf_tables", "virtio_net")
	if strings.HasPrefix(line, "install") {
		line += " /bin/false"
	}
	if d.percent(50) {
		return File{"/etc/modules-load.d/more.conf", pick(d, "dummy\n", "br_netfilter\n",
			"overlay\n")}
	}
	return File{"/etc/modprobe.d/more.conf", line + "\n"}
}

func (d draw) bootDropIn() File {
	if !d.wild {
		return File{"/etc/systemd/system/" + d.unit() + ".d/more.conf",
			"[Unit]\nDescription=More\n"}
	}
	return d.dropIn()
}

// interfaces is the file of an address and a default route in the form of some distribution. That
// of the nodes here is /etc/lab-network: test/node.
func (d draw) interfaces() File {
	address, bits, gateway, gateway6 := node4, 24, node.Gateway4, node.Gateway6
	if d.wild {
		switch d.IntN(4) {
		case 0:
			address = d.address()
		case 1:
			bits = 24 + d.IntN(9)
		case 2:
			gateway = d.neighbour()
		case 3:
			gateway, gateway6 = d.address(), "fd00:77::"+fmt.Sprint(2+d.IntN(200))
		}
	}
	switch pick(d, "lab", "lab", "lab", "lab", "lab", "lab", "ifupdown", "netplan", "NetworkManager") {
	case "ifupdown":
		return File{pick(d, "/etc/network/interfaces", "/etc/network/interfaces.d/host0"),
			fmt.Sprintf("auto host0\niface host0 inet static\n  address %s/%d\n  gateway %s\n",
				address, bits, gateway)}
	case "netplan":
		return File{"/etc/netplan/50-more.yaml",
			fmt.Sprintf("network:\n  version: 2\n  ethernets:\n    host0:\n      addresses: [%s/%d]\n"+
				"      routes: [{to: default, via: %s}]\n", address, bits, gateway)}
	case "NetworkManager":
		return File{"/etc/NetworkManager/system-connections/host0.nmconnection",
			fmt.Sprintf("[connection]\nid=host0\ntype=ethernet\n[ipv4]\nmethod=manual\n"+
				"address1=%s/%d,%s\n", address, bits, gateway)}
	}
	text := fmt.Sprintf("link set host0 up mtu %d\naddr add %s/%d dev host0\n", d.mtu(), address, bits) +
		"addr add " + node6 + "/64 dev host0 nodad\nroute add default via " + gateway + "\n"
	if !d.ground.OnLink6 {
		text += "route add default via " + gateway6 + " dev host0\n"
	}
	return File{"/etc/lab-network", text}
}
