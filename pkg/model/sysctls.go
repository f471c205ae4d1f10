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

// sysctlFile keeps the values across a reboot.
const sysctlFile = "/etc/sysctl.d/" + facts.OwnSysctlFile

// The order of these keys matters: when a forwarding switch is written, the kernel resets other
// keys of its family.
const (
	keyIPv4Forward = "net.ipv4.ip_forward"
	keyIPv6Forward = "net.ipv6.conf.all.forwarding"
)

// sysctl is one key while decide chooses its value.
type sysctl struct {
	network.Sysctl
	origin    string
	overrides string
	refused   string // why no node may have the value of the documents; Value is then the value without them
}

// sysctls decides the value of each key. The precedence is: required by the network, the user's
// documents, the network's default, the node's default. It adds one task for each key in the
// running kernel, and one file that keeps all keys across a reboot in the same order.
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
		if k.Value == "" { // the file does not keep it across a reboot either
			b.add(tasks.Sysctl{Meta: tasks.Meta{From: k.origin, Why: k.Why, Refused: k.refused}, Key: k.Key})
			continue
		}
		if strings.Contains(k.Key, "*") { // for links that appear later: systemd-sysctl sets it when udev reports one
			fmt.Fprintf(&text, "%s = %s\n", k.Key, k.Value)
			continue
		}
		meta := tasks.Meta{From: k.origin, Why: k.Why, Overrides: k.overrides, Requires: before(k.Key, keys),
			Refused: k.refused}
		b.add(tasks.Sysctl{Meta: meta, Key: k.Key, Value: k.Value, Optional: k.Optional})
		if k.Optional {
			text.WriteString("-") // systemd-sysctl then ignores a missing key
		}
		fmt.Fprintf(&text, "%s = %s\n", k.Key, k.Value)
	}
	b.add(tasks.File{Meta: nodeDefault("the same values after a reboot"), Path: sysctlFile,
		Content: []byte(text.String()), Mode: 0o644})
	b.lateSysctls(keys)
	return nil
}

// lateSysctls warns about files that overrule ours at boot. Until our first pass the node then has
// the values of those files.
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
		if late.Line > 0 { // facts of an earlier release have none
			from += fmt.Sprintf(":%d", late.Line)
		}
		b.note(network.Warning, from, "%s = %s is set at boot by a file that is read after our %s, and holds until "+
			"our first pass sets %s: take that line out",
			late.Key, late.Value, facts.OwnSysctlFile, keys[i].Value)
	}
}

// decide merges the four sources into one entry for each key, in the order in which keys first
// appear.
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

// routerAdvertisements keeps a default route that the node got from IPv6 router advertisements. A
// host that forwards ignores advertisements unless accept_ra is 2. IPv6 may use another link than
// IPv4, and an advertisement may arrive later, so this covers every link on which the kernel
// accepts advertisements now. Where the kernel accepts none, nothing changes: the administrator
// disabled them, or networkd or NetworkManager handle them.
// https://www.kernel.org/doc/html/latest/networking/ip-sysctl.html (accept_ra)
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

// rank orders the keys: IPv4 forwarding first, then accept_ra, then IPv6 forwarding, then the
// others in their given order.
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

// before lists the keys that must be right before a key is written and that the task itself cannot
// know. IPv6 forwarding comes after each accept_ra; otherwise a node loses its default route in
// between. The kind knows the rest of the order ([tasks.NeedsOf]).
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
