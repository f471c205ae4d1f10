package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/model/network"
)

// sharedWarnings says what people must do: nobody's firewall is stopped silently, and nobody's own
// file is edited.
func (b *builder) sharedWarnings(s network.SharedHost) {
	f := b.in.Facts
	if s.Firewall && f.Uses("firewalld.service") && !b.stopped("firewalld.service") {
		b.note(network.Warning, "", "firewalld rejects what pods send and get through this node unless a zone allows "+
			"it, and its reload takes rules of others away. %s; or stop it: hooks: [{name: firewalld.service, "+
			"enabled: false, manifest: \"\"}]",
			trustPods(b.view.PodCIDRs))
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

// stopped says that the documents stop a unit: a hook that is disabled.
func (b *builder) stopped(unit string) bool {
	return slices.ContainsFunc(b.in.Node.Hooks, func(h extras.Hook) bool { return h.Name == unit && !h.Enabled })
}

// trustPods are the commands by which firewalld lets pods through.
func trustPods(pods values.CIDRs) string {
	if len(pods) == 0 {
		return "Let pods through with `firewall-cmd --permanent --zone=trusted --add-source=` and the pod CIDR of the " +
			"cluster, and `firewall-cmd --reload`"
	}
	var sources strings.Builder
	for _, p := range pods {
		fmt.Fprintf(&sources, " --add-source=%s", p)
	}
	return "Let pods through: `firewall-cmd --permanent --zone=trusted" + sources.String() +
		" && firewall-cmd --reload`"
}
