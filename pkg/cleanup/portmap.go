package cleanup

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/lazyregexp"
	"github.com/netwright/netwright/pkg/tasks"
)

// Plugin portmap publishes ports for every network of a host in the same chains of iptables: one
// for each container (CNI-DN-…, and CNI-SN-… of old), to which a rule leads whose comment names
// network and container, and four for all. With nft it has one table for each family, whose rules
// have the container as their comment.
// https://github.com/containernetworking/plugins/tree/main/plugins/meta/portmap
const portmapTable = "cni_hostport"

var (
	portmapOfAll = []string{"CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-SNAT", "CNI-HOSTPORT-SETMARK",
		"CNI-HOSTPORT-MASQ"}
	portmapOfOne = []string{"CNI-DN-*", "CNI-SN-*"}
	// A comment of more than 255 characters is cut off.
	portmapComment = lazyregexp.New(`^[ds]nat name: "(.+)" id: "([^"]+)"?$`)
)

func portmapChain(name string) bool {
	return slices.Contains(portmapOfAll, name) || matches(name, portmapOfOne...)
}

// portmapChains names the chains of one table that go: those of a container to which only rules of
// the network lead, or none, and those of all when none of a container is left.
func (l Residue) portmapChains(v host.View, table []firewall.IPTChain) (map[string]bool, error) {
	going := map[string]bool{}
	if len(l.Portmap) == 0 || table[0].Table != "nat" {
		return going, nil
	}
	stays := map[string]bool{} // to which a rule of others leads
	for _, c := range table {
		for _, r := range c.Rules {
			own, err := l.portmapRule(v, r)
			if err != nil {
				return nil, err
			}
			stays[r.Target] = stays[r.Target] || !own
		}
	}
	left := false
	for _, c := range table {
		if matches(c.Name, portmapOfOne...) && !c.Builtin {
			going[c.Name] = !stays[c.Name]
			left = left || stays[c.Name]
		}
	}
	for _, c := range table {
		for _, r := range c.Rules {
			switch {
			case c.Builtin || going[c.Name]:
			case matches(c.Name, portmapOfAll[:2]...): // they lead to those of the containers
				left = left || !going[r.Target]
			case !matches(c.Name, portmapOfAll...):
				left = left || slices.Contains(portmapOfAll, r.Target)
			}
		}
	}
	for _, name := range portmapOfAll {
		going[name] = !left
	}
	return going, nil
}

// portmapRule says that a rule leads to a chain of one of the network's containers.
func (l Residue) portmapRule(v host.View, r firewall.IPTRule) (bool, error) {
	for _, comment := range r.Comments {
		words := portmapComment().FindStringSubmatch(comment)
		if words == nil || !matches(words[1], l.Portmap...) {
			continue
		}
		// Two networks may share a name: then what libcni kept of the container tells.
		results, err := resultsOf(v, words[1], words[2])
		if err != nil {
			return false, err
		}
		for _, result := range results {
			if others, err := l.othersCache(v, result); others || err != nil {
				return false, err
			}
		}
		return true, nil
	}
	return false, nil
}

// resultsOf are the files in which libcni keeps what a network answered for a container.
func resultsOf(v host.View, network, container string) ([]string, error) {
	if container == "" || strings.ContainsAny(container, `/*?[\`) {
		return nil, nil
	}
	return Expand(v, path.Join(cniResults, network+"-"+container+"-*"))
}

// findPortmap finds portmap's tables of nft: all of one in which no container of others is left,
// else the rules of the network's own. Whose a container is says libcni's file; without one a rule
// is nobody's that is known, and stays.
func (l Residue) findPortmap(ctx context.Context, v host.View,
	tables []firewall.TableName) ([]item, error) {
	var out []item
	for _, t := range tables {
		if len(l.Portmap) == 0 || t.Name != portmapTable || t.Family != "ip" && t.Family != "ip6" {
			continue
		}
		chains, err := v.Firewall.NFTChains(ctx, t.Family, t.Name)
		if err != nil {
			return nil, err
		}
		var gone []firewall.IPTRemoval
		others := false
		for _, c := range chains {
			removal := firewall.IPTRemoval{Chain: c}
			for _, r := range c.Rules {
				own, err := l.portmapContainer(v, r)
				if err != nil {
					return nil, err
				}
				leads := slices.ContainsFunc(chains, func(c firewall.IPTChain) bool {
					return c.Name == r.Target
				})
				switch {
				case own:
					removal.Rules = append(removal.Rules, r)
				case len(r.Comments) > 0 || !leads: // its own frame leads from chain to chain
					others = true
				}
			}
			if len(removal.Rules) > 0 {
				gone = append(gone, removal)
			}
		}
		found := item{Key: tasks.TableKey(t.Family, t.Name), Detail: "nft table"}
		found.remove = func(ctx context.Context, h *host.Host) error { return h.Firewall.DelTable(ctx, t.Family, t.Name) }
		if others {
			found.Detail = "the rules of its containers"
			found.remove = func(ctx context.Context, h *host.Host) error { return h.Firewall.RemoveIPT(ctx, gone) }
		}
		if !others || len(gone) > 0 {
			out = append(out, found)
		}
	}
	return out, nil
}

// portmapContainer says that a rule of portmap's table is of a container of the network.
func (l Residue) portmapContainer(v host.View, r firewall.IPTRule) (bool, error) {
	for _, id := range r.Comments {
		results, err := resultsOf(v, "*", id)
		if err != nil {
			return false, err
		}
		for _, result := range results {
			network, _, _ := strings.Cut(path.Base(result), "-"+id+"-")
			if !matches(network, l.Portmap...) {
				continue
			}
			others, err := l.othersCache(v, result)
			if err != nil || !others {
				return err == nil, err
			}
		}
	}
	return false, nil
}
