package witness

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/test/node"
)

// uplink is what systemd-networkd reads of the node's own link, and of links beside it.
func (d draw) uplink() Change {
	var c Change
	dir := "/etc/systemd/network/"
	switch kind := d.IntN(100); {
	case d.wild && d.ground.Leased && kind < 45: // who renewed the lease may let the link go
		c.Files = append(c.Files, File{dir + "05-more.network", "[Match]\nName=host0\n" +
			pick(d, "[Link]\nUnmanaged=yes\n", "[Network]\nBridge=br9\n")},
			File{dir + "05-br9.netdev", "[NetDev]\nName=br9\nKind=bridge\n"})
	case kind < 60 || d.wild && kind < 85:
		c.Files = append(c.Files, File{dir + pick(d, "05-more.network", "10-host0.network"),
			d.network()})
	case kind < 80:
		c.Files = append(c.Files, File{dir + "20-more.network",
			"[Match]\nName=more9\n[Network]\nAddress=" + d.prefix() + "\n"})
	case kind < 90:
		c.Files = append(c.Files, File{dir + "20-more.netdev",
			"[NetDev]\nName=more9\nKind=bridge\n"})
	default:
		c.Files = append(c.Files, File{dir + "20-more.link",
			fmt.Sprintf("[Match]\nOriginalName=host0\n[Link]\nMTUBytes=%d\n", d.mtu())})
	}
	if d.wild && d.percent(25) {
		c.Files = append(c.Files, File{dir + "05-br9.netdev", "[NetDev]\nName=br9\nKind=bridge\n"},
			File{dir + "05-more.network", "[Match]\nName=host0\n[Network]\nBridge=br9\n"})
	}
	return c.once()
}

// network is the node's own file of networkd, with a setting or two more, or others.
func (d draw) network() string {
	lines := []string{"LinkLocalAddressing=ipv6", "IPv6AcceptRA=no", "Address=" + node6 + "/64"}
	if d.ground.Leased {
		lines = append(lines, "DHCP=ipv4")
	} else {
		lines = append(lines, "Address="+node4+"/24", "Gateway="+node.Gateway4)
	}
	if !d.ground.OnLink6 {
		lines = append(lines, "Gateway="+node.Gateway6)
	}
	if !d.wild {
		lines = append(lines, pick(d, "LLMNR=no", "LLDP=no", "MulticastDNS=no", "NTP="+d.address(),
			"DNS="+d.ground.nameServer(), "ConfigureWithoutCarrier=yes"))
	}
	if gateway := slices.Index(lines, "Gateway="+node.Gateway4); d.wild && gateway >= 0 && d.percent(25) {
		lines[gateway] = "Gateway=" + d.neighbour() // and nothing else: few notice
		return "[Match]\nName=host0\n[Network]\n" + strings.Join(lines, "\n") + "\n"
	}
	for changes := 1 + d.IntN(3); d.wild && changes > 0; changes-- {
		at := d.IntN(len(lines))
		name, _, _ := strings.Cut(lines[at], "=")
		switch pick(d, "other", "other", "more", "less") {
		case "other":
			lines[at] = name + "=" + d.setting(name)
		case "more":
			name = pick(d, "DHCP", "Bridge", "VLAN", "DefaultRouteOnDevice", "IPForward", "Address",
				"Gateway", "BindCarrier")
			lines = append(lines, name+"="+d.setting(name))
		case "less":
			lines = slices.Delete(lines, at, at+1)
		}
	}
	text := "[Match]\nName=host0\n[Network]\n" + strings.Join(lines, "\n") + "\n"
	if d.wild && d.percent(25) {
		text += "[Link]\n" + pick(d, fmt.Sprintf("MTUBytes=%d", d.mtu()), "Unmanaged=yes",
			"ActivationPolicy="+pick(d, "up", "always-down", "down"), "ARP=no",
			"RequiredForOnline=no") + "\n"
	}
	if d.wild && d.percent(25) {
		text += "[Route]\nDestination=" + d.prefix() + "\nGateway=" + d.neighbour() + "\n"
	}
	return text
}

// setting is a value that networkd may be told of a name.
func (d draw) setting(name string) string {
	switch name {
	case "Address":
		return pick(d, fmt.Sprintf("%s/%d", node4, 8+d.IntN(25)), d.neighbour()+"/24",
			d.address()+"/24", d.prefix6())
	case "Gateway":
		return pick(d, d.neighbour(), d.neighbour(), d.address(),
			"fd00:77::"+fmt.Sprint(2+d.IntN(200)))
	case "Bridge", "VLAN", "BindCarrier":
		return pick(d, "cbr0", "br9")
	}
	return pick(d, "yes", "no", "ipv6", "ipv4")
}
