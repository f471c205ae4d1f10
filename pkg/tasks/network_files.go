package tasks

import (
	"path"
	"slices"
	"strings"
)

// networkDirs are the files and directories of programs that set up the node's own network. A plan
// shows that a change there may affect the node's own packets. This list does not decide whether a
// change needs a checkpoint.
var networkDirs = []string{
	"/etc/systemd/network/", "/usr/lib/systemd/network/", "/run/systemd/network/", "/etc/systemd/networkd.conf",
	"/etc/systemd/resolved.conf",
	"/etc/netplan/", "/etc/NetworkManager/", "/run/NetworkManager/conf.d/", "/etc/network/", "/etc/sysconfig/network",
	"/etc/sysconfig/iptables", "/etc/iptables/",
	"/etc/nftables", "/etc/firewalld/", "/etc/ufw/", "/etc/dhcp/", "/etc/dhcpcd.conf", "/etc/resolv.conf",
	"/etc/iproute2/",
	"/etc/sysctl.conf", "/etc/udev/rules.d/",
}

// NetworkFile reports whether a file belongs to the node's own network: a change of it may cut the
// node off, now or at the next boot.
func NetworkFile(path string) bool {
	return slices.ContainsFunc(networkDirs, func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// networkUnits set up the node's own network. A plan shows that, too.
var networkUnits = map[string]bool{
	"systemd-networkd.service": true, "systemd-resolved.service": true, "NetworkManager.service": true,
	"networking.service": true, "network.service": true,
	"firewalld.service": true, "nftables.service": true, "iptables.service": true, "ip6tables.service": true,
	"netfilter-persistent.service": true, "ufw.service": true,
}

// NetworkUnit reports whether a unit sets up the node's own network.
func NetworkUnit(name string) bool { return networkUnits[name] }

// disturbs returns the disruption of a start, stop, restart or reload of a unit.
func disturbs(unit string, otherwise Disruption) Disruption {
	if networkUnits[unit] {
		return MayCutOff
	}
	return otherwise
}

// runtimeUnits run pods; the node is not reached by them. Pods continue while these units restart.
var runtimeUnits = map[string]bool{"kubelet.service": true, "containerd.service": true, "crio.service": true}

// Netdev returns the link that systemd-networkd makes from the file; "" where the file is no
// .netdev file of networkd. The link stays when the file is removed (systemd.netdev(5)). An error
// may be transient.
func (t File) Netdev() (string, error) {
	if path.Ext(t.Path) != ".netdev" || !NetworkFile(t.Path) {
		return "", nil
	}
	content, err := t.bytes()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == "Name" {
			return strings.TrimSpace(value), nil
		}
	}
	return "", nil
}
