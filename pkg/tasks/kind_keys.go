package tasks

import (
	"net/netip"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/kernel"
)

// KindFile is the kind of the keys of paths, also of directories, symlinks and members. One path
// has one owner.
const KindFile = "file"

// FileKey is the key of a path.
func FileKey(path string) graph.Key { return graph.MakeKey(KindFile, path) }

// KindLink is the kind of a link: link:cbr0.
const KindLink = "link"

// LinkKey is the key of a link.
func LinkKey(name string) graph.Key { return graph.MakeKey(KindLink, name) }

// KindAddr is the kind of an address: address:cbr0/10.0.0.1/24.
const KindAddr = "address"

// AddressKey is the key of an address on a link.
func AddressKey(link string, prefix netip.Prefix) graph.Key {
	return graph.MakeKey(KindAddr, link+"/"+prefix.String())
}

// unitDir is the directory of the administrator's units. They override the units of packages.
const unitDir = "/etc/systemd/system"

// UnitFileKey is the key of a unit's file, as [Unit] writes it.
func UnitFileKey(name string) graph.Key { return FileKey(unitDir + "/" + name) }

// KindUnit is the kind of a unit's state; the unit's files have keys of kind file.
const KindUnit = "unit"

// KindModule is the kind of a kernel module: module:br_netfilter.
const KindModule = "module"

// ModuleKey is the key of a module. Its name may be written with hyphens or underscores.
func ModuleKey(name string) graph.Key {
	return graph.MakeKey(KindModule, strings.ReplaceAll(name, "-", "_"))
}

// KindSysctl is the kind of a sysctl: sysctl:net.ipv4.ip_forward.
const KindSysctl = "sysctl"

// SysctlKey is the key of a sysctl. Its name may be written with dots or with slashes.
func SysctlKey(key string) graph.Key {
	if canonical, err := kernel.CanonicalSysctl(key); err == nil {
		key = canonical
	}
	return graph.MakeKey(KindSysctl, key)
}

// KindRule is the kind of a policy rule; the name is written as in ip rule.
const KindRule = "rule"

// KindEffect is the kind of an effect: effect:restart containerd.service.
const KindEffect = "effect"
