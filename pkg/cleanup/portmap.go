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

// The plugin portmap publishes ports for all networks of a host in the same iptables chains. Each
// container has one chain (CNI-DN-…, formerly also CNI-SN-…), to which a rule leads whose comment
// names network and container. Four more chains are for all containers. With nft, portmap has one
// table for each family, and the comment of a rule there names the container.
// https://github.com/containernetworking/plugins/tree/main/plugins/meta/portmap
const portmapTable = "cni_hostport"

var (
	portmapOfAll = []string{"CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-SNAT", "CNI-HOSTPORT-SETMARK",
		"CNI-HOSTPORT-MASQ"}
	portmapOfOne = []string{"CNI-DN-*", "CNI-SN-*"}
	// A comment of more than 255 characters is truncated.
	portmapComment = lazyregexp.New(`^[ds]nat name: "(.+)" id: "([^"]+)"?$`)
)

func portmapChain(name string) bool {
	return slices.Contains(portmapOfAll, name) || matches(name, portmapOfOne...)
}

// portmapChains returns the chains of one table that are removed: a container's chain if only
// rules of the network or none lead to it, and the chains for all containers if no container's
// chain is left.
func (l Residue) portmapChains(v host.View, table []firewall.IPTChain) (map[string]bool, error) {
	going := map[string]bool{}
	if len(l.Portmap) == 0 || table[0].Table != "nat" {
		return going, nil
	}
	stays := map[string]bool{} // chains to which a rule of another network leads
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
			case matches(c.Name, portmapOfAll[:2]...): // they lead to the chains of containers
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

// portmapRule reports whether a rule leads to the chain of one of the network's containers.
func (l Residue) portmapRule(v host.View, r firewall.IPTRule) (bool, error) {
	for _, comment := range r.Comments {
		words := portmapComment().FindStringSubmatch(comment)
		if words == nil || !matches(words[1], l.Portmap...) {
			continue
		}
		// Two networks may have the same name. Then libcni's cached result of the container
		// decides.
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

// resultsOf returns the files in which libcni caches a network's results for a container.
func resultsOf(v host.View, network, container string) ([]string, error) {
	if container == "" || strings.ContainsAny(container, `/*?[\`) {
		return nil, nil
	}
	return Expand(v, path.Join(cniResults, network+"-"+container+"-*"))
}

// findPortmap finds portmap's nft tables. It removes a whole table if no container of another
// network is left in it, and otherwise only the network's own rules. libcni's cached result shows
// to which network a container belongs. Without a cached result the owner of a rule is unknown,
// and the rule stays.
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
				case len(r.Comments) > 0 || !leads: // portmap's own rules without a comment lead from chain to chain
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

// portmapContainer reports whether a rule of portmap's table is for a container of the network.
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
