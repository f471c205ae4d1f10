package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/model/network"
)

// Index is the page that lists all networks.
func Index(all []network.Network) string {
	w := &writer{}
	w.para("<!-- Generated from pkg/model/network and pkg/config: `go test ./test/pages -update` writes it. -->")
	w.para("# The networks")
	w.para("Choose a network by `spec.networking.<name>` in the cluster's document ([the documents](../documents.md)). On a node `agent networks NAME` prints what these pages say.")
	var living, ended [][]string
	for _, n := range sorted(all) {
		row := []string{fmt.Sprintf("[%s](%s.md)", n.Name, n.Name), n.Title, stands(n.Lifecycle), n.Conf.Writer,
			yes(n.IPv6), yes(len(n.TestedBy) > 0)}
		if over(n.Lifecycle) {
			ended = append(ended, row)
		} else {
			living = append(living, row)
		}
	}
	head := []string{"network", "what it is", "state", "conf by", "IPv6", "real parts tested"}
	w.table(head, living)
	w.para("## Ended, inactive, or frozen")
	w.para("These networks can still run if the Kubernetes release supports them. Each plan has a warning. The agent also finds and removes what they left on a node.")
	w.table(head, ended)
	w.para("## Beside a network")
	proxy := network.KubeProxy()
	w.para("[%s](%s.md): %s.", proxy.Name, proxy.Name, proxy.Title)
	return w.String()
}

// over says that nobody should begin with it.
func over(l network.Lifecycle) bool {
	return l.Gone != "" || l.Upstream != "" || slices.ContainsFunc(l.Stages, func(s network.Stage) bool { return s.Level == network.Removed })
}

func sorted(all []network.Network) []network.Network {
	return slices.SortedFunc(slices.Values(all), func(a, b network.Network) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
}

// stands is a life in a few words.
func stands(l network.Lifecycle) string {
	switch {
	case l.Gone != "":
		return "gone; use " + l.Instead
	case l.Upstream != "" && !l.Last.IsZero():
		return fmt.Sprintf("%s; last with Kubernetes %d.%d; use %s", l.Upstream, l.Last.Major, l.Last.Minor, l.Instead)
	case l.Upstream != "":
		return l.Upstream + "; use " + l.Instead
	}
	return l.Describe()[0]
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
