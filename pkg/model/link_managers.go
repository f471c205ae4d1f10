package model

import (
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// These units manage the host's network; see [host.Facts.Services].
const (
	networkd       = "systemd-networkd.service"
	networkManager = "NetworkManager.service"
	udevd          = "systemd-udevd.service"
	guestAgent     = "google-guest-agent.service"
)

// sharedHost tells other services of this host which links, routes and rules belong to the
// network. It does so for each service that is in use here, on every distribution. It writes
// nothing for a service that is not there.
func (b *builder) sharedHost() error {
	s := b.net.SharedHost
	s.Links = slices.Concat(s.Links, network.ProxyLinks(b.view))
	if b.in.Facts.Uses(networkd) {
		b.unmanageNetworkd(s)
	}
	if b.in.Facts.Uses(networkManager) && len(s.Links) > 0 {
		b.addShared("NetworkManager leaves the links of "+b.net.Name+" alone", managerFile,
			"[keyfile]\nunmanaged-devices+="+interfaceNames(s.Links)+"\n\n"+
				nmUnmanaged("netwright", interfaceNames(s.Links)), tasks.Reload(networkManager))
	}
	if b.in.Facts.Uses(udevd) && len(s.MAC) > 0 {
		b.addShared("udev would give links another MAC address than pods were told",
			"/etc/systemd/network/10-netwright.link", linkFile(s.MAC), tasks.Reload(udevd))
	}
	if s.TakesENIs(b.view) {
		b.enisLeft()
	}
	if s.Aliases && b.in.Facts.Installed(guestAgent) {
		b.aliasesLeft()
	}
	b.sharedWarnings(s)
	return nil
}

// addShared adds a file of ours that another service reads once the effects have run.
func (b *builder) addShared(why, path, content string, effects ...graph.Key) {
	meta := b.view.Meta(why)
	meta.Effects = effects
	b.add(tasks.File{Meta: meta, Path: path, Content: []byte(header + content), Mode: 0o644})
}

// unmanageNetworkd keeps systemd-networkd from managing the network's links, and from removing
// routes and rules that it did not make. networkd treats such routes as leftovers when it
// configures a link again, and before release 252 also when it starts. It reads its settings only
// at its start, and .network files at a reload.
// https://www.freedesktop.org/software/systemd/man/latest/networkd.conf.html
func (b *builder) unmanageNetworkd(s network.SharedHost) {
	version := b.in.Facts.Systemd
	knows := func(since int) bool { return version == 0 || version >= since }
	if s.Routes && knows(246) {
		text := "[Network]\nManageForeignRoutes=no\n"
		if knows(249) {
			text += "ManageForeignRoutingPolicyRules=no\n"
		}
		if version >= 256 {
			text += "ManageForeignNextHops=no\n"
		}
		b.addShared("systemd-networkd would take the routes and rules of "+b.net.Name+" away",
			"/etc/systemd/networkd.conf.d/99-netwright.conf", text, tasks.Restart(networkd))
	}
	switch {
	case s.Routes && !knows(246):
		b.note(network.Warning, "", "systemd-networkd %d cannot be told to leave foreign routes and rules alone (246 "+
			"and 249 can): its restart may take those of %s away: do not restart it while pods run, or upgrade systemd",
			version, b.net.Name)
	case s.Routes && !knows(249):
		b.note(network.Warning, "", "systemd-networkd %d cannot be told to leave foreign rules alone (249 can): its "+
			"restart may take those of %s away: do not restart it while pods run, or upgrade systemd",
			version, b.net.Name)
	}
	if len(s.Links) > 0 {
		b.addShared("systemd-networkd leaves the links of "+b.net.Name+" alone",
			"/etc/systemd/network/05-netwright.network",
			"[Match]\nName="+strings.Join(s.Links, " ")+"\n\n[Link]\nUnmanaged=yes\n", tasks.Reload(networkd))
	}
}

// linkFile keeps udev from choosing MAC addresses for the links. Everything else is as in
// systemd's 99-default.link, which this file replaces for these links.
// https://www.freedesktop.org/software/systemd/man/latest/systemd.link.html (MACAddressPolicy)
func linkFile(links []string) string {
	return "[Match]\nOriginalName=" + strings.Join(links, " ") +
		"\n\n[Link]\nNamePolicy=keep kernel database onboard slot path\nAlternativeNamesPolicy=database onboard slot " +
		"path\nMACAddressPolicy=none\n"
}

// managerFile sorts after the administrator's files: an entry that is appended to a list is lost
// if a later file starts that list anew. NetworkManager releases a managed link as soon as the
// link gets into the list of unmanaged devices. That list may have exceptions that we do not know,
// so a device section matches links that appear later.
// https://networkmanager.dev/docs/api/latest/NetworkManager.conf.html
const managerFile = "/etc/NetworkManager/conf.d/zz-netwright.conf"

// nmUnmanaged returns a device section of NetworkManager's settings with a name that no other
// program uses.
func nmUnmanaged(name, devices string) string {
	return "[device-" + name + "]\nmatch-device=" + devices + "\nmanaged=0\n"
}

func interfaceNames(patterns []string) string {
	return "interface-name:" + strings.Join(patterns, ";interface-name:")
}

// aliasesLeft keeps Google's guest agent from adding alias IP ranges to the node's own addresses.
// The administrator can overrule it by a file that wins over ours.
func (b *builder) aliasesLeft() {
	switch said := b.in.Facts.GuestAliases; {
	case said == nil:
		b.addShared("Google's guest agent would give pods' addresses to the node", facts.GuestConfig,
			"[IpForwarding]\nip_aliases = false\n", tasks.Restart(guestAgent))
	case said.Value != "false":
		b.note(network.Warning, said.File,
			"google-guest-agent gives pods' addresses to the node as local routes: set ip_aliases = false in the "+
				"section [IpForwarding] of %s, and restart it", said.File)
	}
}
