package tasks

import (
	"path"
	"slices"
	"strings"
)

// networkDirs are where those look who set the node's own network up. What is in them is known to
// reach the node's own packets, and a plan says so; whether there is a checkpoint is not decided
// here.
var networkDirs = []string{
	"/etc/systemd/network/", "/usr/lib/systemd/network/", "/run/systemd/network/", "/etc/systemd/networkd.conf",
	"/etc/systemd/resolved.conf",
	"/etc/netplan/", "/etc/NetworkManager/", "/run/NetworkManager/conf.d/", "/etc/network/", "/etc/sysconfig/network",
	"/etc/sysconfig/iptables", "/etc/iptables/",
	"/etc/nftables", "/etc/firewalld/", "/etc/ufw/", "/etc/dhcp/", "/etc/dhcpcd.conf", "/etc/resolv.conf",
	"/etc/iproute2/",
	"/etc/sysctl.conf", "/etc/udev/rules.d/",
}

// NetworkFile says that a file has to do with the node's own network: to
// change it may cut the node off, now or at the next boot.
func NetworkFile(path string) bool {
	return slices.ContainsFunc(networkDirs, func(dir string) bool { return strings.HasPrefix(path, dir) })
}

// networkUnits set the node's own network up. Likewise, a plan says so of them.
var networkUnits = map[string]bool{
	"systemd-networkd.service": true, "systemd-resolved.service": true, "NetworkManager.service": true,
	"networking.service": true, "network.service": true,
	"firewalld.service": true, "nftables.service": true, "iptables.service": true, "ip6tables.service": true,
	"netfilter-persistent.service": true, "ufw.service": true,
}

// NetworkUnit says that a unit sets the node's own network up.
func NetworkUnit(name string) bool { return networkUnits[name] }

// disturbs is what it means to start, stop, restart or reload a unit.
func disturbs(unit string, otherwise Disruption) Disruption {
	if networkUnits[unit] {
		return MayCutOff
	}
	return otherwise
}

// runtimeUnits run pods, and are not what the node is reached by. Pods go on while they restart.
var runtimeUnits = map[string]bool{"kubelet.service": true, "containerd.service": true, "crio.service": true}

// Netdev is the link that systemd-networkd makes by the file, "" if it is none of its .netdev
// files. That one stays when the file goes (systemd.netdev(5)). An error may be otherwise the next
// time.
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
