package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/tasks"
)

// Each thing on a host is listed once, and as few networks as possible explain all of them.
func TestJudge(t *testing.T) {
	claim := func(network string, conf bool, keys string) Claim {
		c := Claim{Network: network, Conf: conf}
		for _, key := range strings.Fields(keys) {
			c.Found = append(c.Found, tasks.Found{Key: graph.Key(key)})
		}
		return c
	}
	for _, c := range []struct {
		name    string
		inForce string
		claims  []Claim
		looks   string
		things  string
	}{
		{"nothing", "", nil, "", ""},
		{"a healthy node of bridge", "bridge",
			[]Claim{claim("bridge", true, "link:cbr0 table:ip_netwright"), claim("classic", false, "link:cbr0"), claim("kubenet", false, "link:cbr0 table:ip_netwright")},
			"", "link:cbr0=bridge! table:ip_netwright=bridge!"},
		{"flannel, whose links canal claims as well", "",
			[]Claim{claim("flannel", true, "link:flannel.1 chain:p1 chain:p2"), claim("canal", false, "link:flannel.1 chain:p1 chain:p2"), claim("weave", false, "chain:p1 chain:p2")},
			"flannel 3", "link:flannel.1=flannel chain:p1=flannel chain:p2=flannel"},
		{"canal", "",
			[]Claim{claim("flannel", false, "link:flannel.1"), claim("canal", false, "link:flannel.1 link:cali1"), claim("calico", false, "link:cali1")},
			"canal 2", "link:flannel.1=canal link:cali1=canal"},
		{"shared things tell nothing", "",
			[]Claim{claim("flannel", false, "chain:p1"), claim("weave", false, "chain:p1")}, "flannel|weave 1", "chain:p1=flannel|weave"},
		{"the former network beside the one in force", "bridge",
			[]Claim{claim("bridge", true, "link:cbr0 chain:p1"), claim("flannel", false, "link:flannel.1 chain:p1"), claim("kubeRouter", false, "rule:x rule:y")},
			"kubeRouter 2, flannel 1", "link:cbr0=bridge! chain:p1=bridge! link:flannel.1=flannel rule:x=kubeRouter rule:y=kubeRouter"},
		{"what the ledger has is nobody's leftover", "", []Claim{claim("kubenet", false, "link:cbr0,ours")}, "", "link:cbr0,ours="},
	} {
		got := Judge(c.claims, c.inForce, func(k graph.Key) bool { return strings.HasSuffix(string(k), ",ours") })
		var looks, things []string
		for _, v := range got.LooksLike {
			looks = append(looks, fmt.Sprintf("%s %d", strings.Join(v.Networks, "|"), v.Things))
		}
		for _, thing := range got.Things {
			mark := ""
			if thing.Current {
				mark = "!"
			}
			things = append(things, fmt.Sprintf("%s=%s%s", thing.Key, strings.Join(thing.Of, "|"), mark))
		}
		if l, th := strings.Join(looks, ", "), strings.Join(things, " "); l != c.looks || th != c.things {
			t.Errorf("%s: %q of %q, want %q of %q", c.name, l, th, c.looks, c.things)
		}
	}
}
