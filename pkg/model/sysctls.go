package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// sysctlFile keeps the values over a reboot.
const sysctlFile = "/etc/sysctl.d/" + facts.OwnSysctlFile

// The keys whose order matters: writing a forwarding switch makes the kernel reset other keys of
// its family.
const (
	keyIPv4Forward = "net.ipv4.ip_forward"
	keyIPv6Forward = "net.ipv6.conf.all.forwarding"
)

// sysctl is one key while it is decided who has the say.
type sysctl struct {
	network.Sysctl
	origin    string
	overrides string
	refused   string // why no node sets it to what the documents say; Value is what it has without them
}

// sysctls decides each key's value, by precedence: required by the network, the user, the network's
// default, the node's default. Each is a task for the running kernel; one file, in the same order,
// keeps them over a reboot.
func (b *builder) sysctls() error {
	keys, err := b.decide()
	if err != nil {
		return err
	}
	if keys, err = b.withoutHarm(keys); err != nil {
		return err
	}
	slices.SortStableFunc(keys, func(x, y sysctl) int { return rank(x.Key) - rank(y.Key) })
	var text strings.Builder
	text.WriteString(header)
	for _, k := range keys {
		if k.Value == "" { // nothing keeps it over a reboot either
			b.add(tasks.Sysctl{Meta: tasks.Meta{From: k.origin, Why: k.Why, Refused: k.refused}, Key: k.Key})
			continue
		}
		if strings.Contains(k.Key, "*") { // of links to come: systemd-sysctl sets it when udev tells of one
			fmt.Fprintf(&text, "%s = %s\n", k.Key, k.Value)
			continue
		}
		meta := tasks.Meta{From: k.origin, Why: k.Why, Overrides: k.overrides, Requires: before(k.Key, keys),
			Refused: k.refused}
		b.add(tasks.Sysctl{Meta: meta, Key: k.Key, Value: k.Value, Optional: k.Optional})
		if k.Optional {
			text.WriteString("-") // systemd-sysctl: no error when the key is missing
		}
		fmt.Fprintf(&text, "%s = %s\n", k.Key, k.Value)
	}
	b.add(tasks.File{Meta: nodeDefault("the same values after a reboot"), Path: sysctlFile,
		Content: []byte(text.String()), Mode: 0o644})
	b.lateSysctls(keys)
	return nil
}

// lateSysctls names who wins over us at boot: what we write then is right only from our first pass
// on.
func (b *builder) lateSysctls(keys []sysctl) {
	for _, late := range b.in.Facts.LateSysctls {
		i := find(keys, late.Key)
		if i < 0 || kernel.SameSysctl(late.Key, late.Value, keys[i].Value) {
			continue
		}
		from := late.File
		if late.Target != "" {
			from += " → " + late.Target
		}
		b.note(network.Warning, from, "%s = %s is set at boot by a file that is read after our %s, and holds until "+
			"our first pass sets %s: take that line out",
			late.Key, late.Value, facts.OwnSysctlFile, keys[i].Value)
	}
}

// decide merges the four sources into one entry a key, in their order of first appearance.
func (b *builder) decide() ([]sysctl, error) {
	var out []sysctl
	index := map[graph.Key]int{}
	put := func(s sysctl) {
		i, seen := index[tasks.SysctlKey(s.Key)]
		if !seen {
			index[tasks.SysctlKey(s.Key)] = len(out)
			out = append(out, s)
			return
		}
		if old := out[i]; old.Value != s.Value {
			s.overrides = old.Value + " from " + old.origin
		}
		out[i] = s
	}
	for _, s := range append(b.routerAdvertisements(), nodeSysctls(b.view)...) {
		put(sysctl{Sysctl: s, origin: document.NodeDefault})
	}
	for _, s := range b.networkSysctls() {
		put(sysctl{Sysctl: s, origin: b.view.NetworkOrigin()})
	}
	for _, s := range b.bridgePolicy() {
		put(sysctl{Sysctl: s, origin: b.view.Origin(bridgePolicyPath)})
	}
	var errs []string
	for _, u := range b.in.Node.SysctlParameters {
		if why := b.againstBridgePolicy(u); why != "" {
			errs = append(errs, why)
			continue
		}
		old, seen := index[tasks.SysctlKey(u.Key)]
		if u.Refused != "" && !seen {
			u.Value = ""
		} else if u.Refused != "" && !out[old].Required {
			out[old].refused, out[old].origin = u.Refused, u.Origin.String()
			continue
		}
		if !seen || !out[old].Required {
			put(sysctl{Sysctl: network.Sysctl{Key: u.Key, Value: u.Value, Why: whySysctls}, origin: u.Origin.String(),
				refused: u.Refused})
			continue
		}
		if need := out[old]; need.Value != u.Value {
			errs = append(errs,
				fmt.Sprintf("set %s to %q (%s): %s (%s) needs %q, because %s: remove the parameter, or %s",
					u.Key, u.Value, u.Origin, b.net.Name, need.origin, need.Value, need.Why, bridgeHint(u.Key)))
		}
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("%s", strings.Join(errs, "\n"))
	}
	return out, nil
}

func (b *builder) networkSysctls() []network.Sysctl {
	return slices.DeleteFunc(slices.Clone(b.net.Sysctls),
		func(s network.Sysctl) bool { return !s.Applies(b.view) || b.leftToOthers(s.Key) })
}

// routerAdvertisements keeps the default route of a node that has it from router advertisements: a
// forwarding host ignores them unless accept_ra is 2. IPv6 may come in by another link than IPv4,
// and an advertisement later than we look: so this is for every link on which the kernel takes them
// now. Where it takes none it stays so: somebody told it to, or networkd or NetworkManager take
// them. https://www.kernel.org/doc/html/latest/networking/ip-sysctl.html (accept_ra)
func (b *builder) routerAdvertisements() []network.Sysctl {
	forwards := slices.ContainsFunc(b.in.Node.SysctlParameters, func(s extras.Sysctl) bool {
		return strings.HasPrefix(s.Key, "net.ipv6.conf.") && strings.HasSuffix(s.Key, ".forwarding") && s.Value != "0"
	})
	if !b.view.V6 && !forwards {
		return nil
	}
	var out []network.Sysctl
	for _, link := range b.in.Facts.RALinks {
		out = append(out, network.Sysctl{Key: acceptRA(link), Value: "2", Optional: true,
			Why: "a router keeps its own default route only so"})
	}
	return out
}

func acceptRA(link string) string {
	return "net.ipv6.conf." + strings.ReplaceAll(link, ".", "/") + ".accept_ra"
}

// rank sorts: IPv4 forwarding first, then accept_ra, then IPv6 forwarding, then the rest as it
// came.
func rank(key string) int {
	switch {
	case key == keyIPv4Forward:
		return 0
	case strings.HasPrefix(key, "net.ipv6.") && strings.HasSuffix(key, ".accept_ra"):
		return 1
	case key == keyIPv6Forward:
		return 2
	}
	return 3
}

// before lists what must be right before a key is written and the task cannot know: IPv6 forwarding
// comes after each accept_ra, or a node loses its default route in between. The rest of the order
// is the kind's own ([tasks.NeedsOf]).
func before(key string, all []sysctl) []graph.Key {
	if key != keyIPv6Forward {
		return nil
	}
	var out []graph.Key
	for _, s := range all {
		if rank(s.Key) == 1 {
			out = append(out, tasks.SysctlKey(s.Key))
		}
	}
	return out
}
