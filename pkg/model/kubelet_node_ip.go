package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
)

// kubeletOfHost returns the kubelet section of the documents, with host-dependent values resolved:
// the node address of a range or link, and the resolv.conf whose name servers pods can reach.
func (b *builder) kubeletOfHost() (config.Kubelet, error) {
	k := b.in.Node.Kubelet
	if k.NodeIP != "" {
		const path = "spec.kubelet.nodeIP"
		var addresses []string
		for text := range strings.SplitSeq(k.NodeIP, ",") {
			found, err := b.nodeIP(text)
			if err != nil {
				return k, fmt.Errorf("set %s (%s): %w", path, b.view.Origin(path), err)
			}
			addresses = append(addresses, found...)
		}
		k.NodeIP = strings.Join(addresses, ",")
		if err := b.validateNodeIPs(addresses); err != nil {
			return k, fmt.Errorf("set %s (%s): %w", path, b.view.Origin(path), err)
		}
	}
	if k.ResolvConf == config.ResolvConfAuto {
		if k.ResolvConf = b.in.Facts.ResolvConf; k.ResolvConf == "" {
			b.note(network.Warning, b.view.Origin("spec.kubelet.resolvConf"),
				"resolvConf auto: none of %s has a nameserver that pods can ask, which no loopback address is; kubelet "+
					"keeps its own file: name a server in one of them, or set resolvConf to a file that has one",
				strings.Join(facts.ResolvConfs, ", "))
		}
	}
	return k, nil
}

// validateNodeIPs refuses addresses with which kubelet does not start, or which it ignores
// (kubernetes#95239, kubernetes#120275).
func (b *builder) validateNodeIPs(addresses []string) error {
	if len(addresses) == 1 {
		return nil
	}
	known, named := b.in.Node.KubernetesVersion, strings.Join(addresses, ",")
	first, second := netip.MustParseAddr(addresses[0]), netip.MustParseAddr(addresses[1])
	switch {
	case len(addresses) > 2, first.Is4() == second.Is4(), first.IsUnspecified(), second.IsUnspecified():
		return fmt.Errorf("kubelet does not start with %s: name one address, or one of each family", named)
	case !known.AtLeast(1, 20):
		return fmt.Errorf("kubelet before 1.20 ignores two addresses, %s: name one", named)
	}
	cloud := func(f facts.FlagFact) bool { return f.Name == "cloud-provider" && f.Value != "" }
	if !known.AtLeast(1, 29) && slices.ContainsFunc(b.in.Facts.Kubelet.Flags, cloud) {
		b.note(network.Warning, b.view.Origin("spec.kubelet.nodeIP"), "kubelet before 1.29 does not start with two "+
			"addresses, %s, and --cloud-provider, unless its feature gate CloudDualStackNodeIPs is on: name "+
			"one", named)
	}
	return nil
}

// nodeIP returns the addresses of this host that a value of spec.kubelet.nodeIP selects. The value
// is an address, a range or a link. A link gives one address for each IP family of the pods. Where
// several addresses match, the source address of the default route comes first.
func (b *builder) nodeIP(text string) ([]string, error) {
	if _, err := netip.ParseAddr(text); err == nil {
		return []string{text}, nil
	}
	whole, err := netip.ParsePrefix(text)
	ofLink := err != nil
	var v4, v6 []netip.Addr
	var all []string
	for _, l := range b.in.Facts.Links {
		for _, p := range l.Addresses {
			a := p.Addr()
			switch {
			case l.Loopback || a.IsLinkLocalUnicast() || b.ofPods(l, a):
				continue
			case ofLink && l.Name == text, !ofLink && whole.Contains(a):
				if a.Is4() {
					v4 = append(v4, a)
				} else {
					v6 = append(v6, a)
				}
			}
			all = append(all, fmt.Sprintf("%s (%s)", a, l.Name))
		}
	}
	var out []string
	for _, found := range [][]netip.Addr{v4, v6} {
		if at := slices.Index(found, b.in.Facts.Address); at >= 0 {
			found = found[at : at+1]
		}
		wanted := len(found) > 0 && (!ofLink || found[0].Is4() && b.view.V4 || found[0].Is6() && b.view.V6)
		switch {
		case wanted && !ofLink && len(found) > 1:
			return nil, fmt.Errorf("the node has several addresses in %s, %v: name one, or a smaller range", text, found)
		case wanted:
			out = append(out, found[0].String())
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no address of the node matches %s, it has only %s: correct it",
			text, strings.Join(all, ", "))
	}
	return out, nil
}

// ofPods reports whether an address is the pods' gateway: on the bridge of the network, or on a
// virtual link in a pod CIDR.
func (b *builder) ofPods(l facts.LinkFact, a netip.Addr) bool {
	return l.Name == network.BridgeLink || slices.ContainsFunc(b.in.Node.PodCIDR,
		func(p netip.Prefix) bool { return p.Contains(a) && !l.Physical })
}
