package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/model/network"
)

// sharedWarnings adds warnings about services of the host that conflict with the network, with the
// commands that solve each conflict. The agent itself stops no firewall and edits no file of the
// administrator.
func (b *builder) sharedWarnings(s network.SharedHost) {
	f := b.in.Facts
	if s.Firewall && f.Uses("firewalld.service") && !b.stopped("firewalld.service") {
		b.note(network.Warning, "", "firewalld rejects what pods send and get through this node unless a zone allows "+
			"it, and its reload takes rules of others away. %s; or stop it: hooks: [{name: firewalld.service, "+
			"enabled: false, manifest: \"\"}]",
			trustPods(b.podRanges()))
	}
	if s.Firewall && f.Uses("ufw.service") && !b.stopped("ufw.service") {
		b.note(network.Warning, "/etc/ufw/ufw.conf", "ufw drops what pods and other nodes send through this node and "+
			"to it unless a rule allows it. %s; or stop it: hooks: [{name: ufw.service, enabled: false, manifest: "+
			"\"\"}]", allowPods(b.podRanges()))
	}
	if f.Uses("dhcpcd.service") && len(s.Links) > 0 {
		b.note(network.Warning, "", "dhcpcd gives addresses and routes to links that appear, those of %s too: write "+
			"`denyinterfaces %s` into /etc/dhcpcd.conf and restart it",
			b.net.Name, strings.Join(s.Links, " "))
	}
	if named(f, "75-cloud-ifupdown.rules") && slices.ContainsFunc(s.Links, matchesEthernet) {
		b.note(network.Warning, "/etc/udev/rules.d/75-cloud-ifupdown.rules",
			"cloud-ifupdown-helper starts a DHCP client on each link that is called eth… or en…, those of %s too: let "+
				"its rule match `eth*|ens*` only",
			b.net.Name)
	}
}

func matchesEthernet(pattern string) bool {
	return strings.HasPrefix(pattern, "en") || strings.HasPrefix(pattern, "eth")
}

// stopped reports whether the documents stop a unit, by a hook that is disabled.
func (b *builder) stopped(unit string) bool {
	return slices.ContainsFunc(b.in.Node.Hooks, func(h extras.Hook) bool { return h.Name == unit && !h.Enabled })
}

// podRanges returns the ranges of the pods whose packets this node forwards. Pods of other nodes
// send packets to pods of this node too.
func (b *builder) podRanges() (out []netip.Prefix) {
	all := slices.Clone(b.view.PodCIDRs)
	if !b.in.Node.Networking.PodsOfVPC() {
		all = slices.Concat(b.in.Node.PodCIDR, all)
	}
	for _, peer := range b.view.Peers {
		all = append(all, peer.PodCIDRs...)
	}
	for _, p := range all {
		if !slices.ContainsFunc(out, func(known netip.Prefix) bool { return values.Within(p, known) }) {
			out = append(out, p)
		}
	}
	return out
}

// trustPods returns the commands that make firewalld accept packets of pods, now and after a
// reload. The commands do not reload firewalld: a reload would remove runtime rules of other
// programs, such as the bans of fail2ban.
func trustPods(pods []netip.Prefix) string {
	if len(pods) == 0 {
		return "Let pods through with `firewall-cmd --zone=trusted --add-source=` and the pod CIDR of the cluster, and " +
			"the same again with `--permanent`" + nodesToo
	}
	var sources strings.Builder
	for _, p := range pods {
		fmt.Fprintf(&sources, " --add-source=%s", p)
	}
	return fmt.Sprintf("Let pods through: `firewall-cmd --zone=trusted%[1]s && firewall-cmd --permanent "+
		"--zone=trusted%[1]s`", sources.String()) + nodesToo
}

// allowPods returns the commands that make ufw accept packets of pods.
func allowPods(pods []netip.Prefix) string {
	if len(pods) == 0 {
		return "Let pods through with `ufw route allow from`, `ufw route allow to` and `ufw allow from`, each with the " +
			"pod CIDR of the cluster" + nodesToo
	}
	var commands []string
	for _, p := range pods {
		commands = append(commands, fmt.Sprintf("ufw route allow from %[1]s && ufw route allow to %[1]s && ufw allow "+
			"from %[1]s", p))
	}
	return "Let pods through: `" + strings.Join(commands, " && ") + "`" + nodesToo
}

// nodesToo is added to the advice because no document has the address range of the nodes.
const nodesToo = ". The nodes send to pods, too: add the range of their addresses likewise"

// problems adds a note for each part of the host that exists and could not be read. The plan was
// made as if that part did not exist.
func (b *builder) problems() {
	for _, p := range b.in.Facts.Problems {
		b.note(network.Warning, "", "the plan lacks what could not be read from this host: %s", p)
	}
	b.address()
}

// address warns if this host does not have the address that the node's document announces. The
// other nodes route packets for its pods to that address.
func (b *builder) address() {
	var has []netip.Addr
	for _, l := range b.in.Facts.Links {
		for _, p := range l.Addresses {
			has = append(has, p.Addr())
		}
	}
	var own []string // kube-ipvs0 may have hundreds more
	for _, l := range b.in.Facts.NodeLinks() {
		for _, p := range l.Addresses {
			if p.Addr().IsGlobalUnicast() {
				own = append(own, p.Addr().String()+" ("+l.Name+")")
			}
		}
	}
	if b.in.Facts.Kernel.Release == "" || len(own) == 0 {
		return // an image, or no link is up yet
	}
	for _, address := range b.in.Node.Address {
		if !slices.Contains(has, address) {
			b.note(network.Warning, b.in.Node.Origin("spec.address").String(),
				"no link of this node has spec.address %s, to which other nodes send packets for its pods; its links have %s: "+
					"correct the node's document, or give the address to a link", address,
				strings.Join(own, ", "))
			b.notes[len(b.notes)-1].Machine = true
		}
	}
}
