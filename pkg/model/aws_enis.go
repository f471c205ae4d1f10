package model

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// eniDrivers lists the drivers of AWS network interfaces, as amazon-ec2-net-utils matches them
// (80-ec2.network).
var eniDrivers = []string{"ena", "ixgbevf", "vif"}

// These files name the primary interface of this boot. They are below /run, so they disappear with
// the boot. An image that is made of this machine may boot on a machine type where another
// interface has that name.
const (
	// It sorts after the files of netplan and of the administrator, and before 80-ec2.network.
	enisNetworkd = "/run/systemd/network/75-netwright-enis.network"
	enisManager  = "/run/NetworkManager/conf.d/99-netwright-enis.conf"
)

// enisLeft keeps other services from configuring the secondary ENIs and the secondary addresses of
// each ENI. Both belong to the network, which gives them to pods.
// https://github.com/kubernetes/kops/blob/master/nodeup/pkg/model/networking/eni_networking.go
func (b *builder) enisLeft() {
	f, yes, no := b.in.Facts, true, false
	b.furtherENIs()
	for _, unit := range []string{"nm-cloud-setup.service", "nm-cloud-setup.timer"} {
		if f.Installed(unit) {
			b.add(tasks.UnitState{Meta: b.view.Meta("its tables 30200 and 30400 would take the pods' traffic"), Name: unit,
				Masked: &yes, Active: &no})
		}
	}
	// A file in /etc replaces the file of the same name in /usr (udev(7)). Ours contains only
	// comments.
	if i := slices.IndexFunc(f.UdevRules,
		func(p string) bool { return strings.HasSuffix(p, "/99-vpc-policy-routes.rules") }); i >= 0 &&
		!strings.HasPrefix(f.UdevRules[i], "/etc/") {
		b.addShared("ec2-net-utils would give pods' addresses to the node",
			"/etc/udev/rules.d/99-vpc-policy-routes.rules", "", tasks.Reload(udevd))
		for _, l := range f.Links {
			if !l.Physical {
				continue
			}
			for _, unit := range []string{"refresh-policy-routes@" + l.Name + ".timer",
				"policy-routes@" + l.Name + ".service"} {
				b.add(tasks.UnitState{Meta: b.view.Meta("ec2-net-utils would give pods' addresses to the node"), Name: unit,
					Active: &no})
			}
		}
	}
	// cloud-init reads its settings again at each event (cloudinit/cmd/devel/hotplug_hook.py), so
	// nothing must be restarted.
	if f.Installed("cloud-init-hotplugd.socket") {
		b.addShared("cloud-init would configure each interface that the network adds",
			"/etc/cloud/cloud.cfg.d/99-netwright-hotplug.cfg",
			"updates:\n  network:\n    when: [boot-new-instance]\n")
	}
}

// furtherENIs tells networkd and NetworkManager to leave all ENIs except the primary one. While
// the primary interface is unknown, existing files stay as they are.
func (b *builder) furtherENIs() {
	f := b.in.Facts
	if f.Kernel.Release == "" {
		return // an image: the machine that boots it decides
	}
	uses := map[string]bool{enisNetworkd: f.Uses(networkd), enisManager: f.Uses(networkManager)}
	if f.Uplink == "" {
		await := tasks.Await{Meta: b.view.Meta("the primary interface"),
			Name: "uplink", Reason: "a default route: the interfaces beside its own are the network's"}
		for _, path := range []string{enisNetworkd, enisManager} {
			if uses[path] {
				await.Retains = append(await.Retains, graph.MakeKey(tasks.KindFile, path))
			}
		}
		if len(await.Retains) > 0 {
			b.add(await)
		}
		return
	}
	const why = "further interfaces are the network's"
	if uses[enisNetworkd] {
		// networkd also matches Name=!ens5 against alternative names, and EC2 sets one. Therefore
		// Property= excludes the interface too. networkd before 243 knows neither Property= nor
		// alternative names.
		b.addShared(why, enisNetworkd, "[Match]\nDriver="+strings.Join(eniDrivers, " ")+"\nName=!"+f.Uplink+
			"\nProperty=!INTERFACE="+f.Uplink+"\n\n[Link]\nUnmanaged=yes\n", tasks.Reload(networkd))
	}
	if uses[enisManager] {
		b.addShared(why, enisManager, nmUnmanaged("netwright-enis",
			"driver:"+strings.Join(eniDrivers, ";driver:")+";except:interface-name:"+f.Uplink),
			tasks.Reload(networkManager))
	}
}

// named reports whether the host has a udev rule file of that name.
func named(f *host.Facts, rule string) bool {
	return slices.ContainsFunc(f.UdevRules, func(p string) bool { return strings.HasSuffix(p, "/"+rule) })
}
