package network

import (
	"encoding/json"
	"sort"
	"testing"

	"github.com/netwright/netwright/pkg/config/networks"
)

// oneSign has the networks with fewer than two signs of life, and why each has no other.
var oneSign = map[string]string{
	"classic": "nobody can choose it", "jaguar": "nobody can choose it",
	"cni": "whose network it is, nobody knows", "custom": "a document declares them",
	"exec": "a program of somebody's is called for each pod, and nothing of it runs or is known besides",
}

// TestAll checks every network against the terms that `agent networks` prints.
func TestAll(t *testing.T) {
	var names []string
	for i, n := range All() {
		names = append(names, n.Name)
		if n.Name != rows[i].name {
			t.Errorf("the row %s is found as %s", n.Name, rows[i].name)
		}
		if n.Title == "" || n.Docs == "" || n.MTU == "" || n.Kubelet == "" || n.Build == nil && n.Conf.Awaited == "" && n.Lifecycle.Gone == "" {
			t.Errorf("%s leaves a term out that every network has: %+v", n.Name, n)
		}
		if n.Conf.Writer == "" || n.Conf.File == "" && n.Conf.Writer != WriterUser && n.Conf.Writer != WriterNone {
			t.Errorf("%s does not say who writes which conf", n.Name)
		}
		if byPods := n.Conf.Writer == WriterDaemonSet && n.Lifecycle.Gone == ""; byPods && len(n.Agents) == 0 {
			t.Errorf("%s does not say which containers put back what is taken away", n.Name)
		}
		if (n.IPv6If != nil) != (n.IPv6When != "") || n.IPv6When != "" && !n.IPv6 {
			t.Errorf("%s says which variants have IPv6, and needs a condition exactly then", n.Name)
		}
		if why := oneSign[n.Name]; (len(n.HealthChecks) < 2) != (why != "") {
			t.Errorf("%s has %d signs of life, and should have two, or be listed with the reason (%q)", n.Name, len(n.HealthChecks), why)
		}
		for _, s := range n.Sysctls {
			if s.Why == "" || (s.If != nil) != (s.When != "") {
				t.Errorf("%s: sysctl %s needs a why, and a when exactly if it has a condition", n.Name, s.Key)
			}
		}
		for _, m := range n.Modules {
			if m.Why == "" || (m.If != nil) != (m.When != "") {
				t.Errorf("%s: module %s needs a why, and a when exactly if it has a condition", n.Name, m.Name)
			}
		}
		for _, u := range n.Untestable {
			if u.Why == "" || u.Instead == "" || u.Source == "" || (u.If != nil) != (u.When != "") {
				t.Errorf("%s: what packets do not tell needs a why, what tells instead, a source, and a when exactly if it has a condition: %+v", n.Name, u)
			}
		}
		if _, err := json.Marshal(n); err != nil {
			t.Errorf("%s cannot be printed: %v", n.Name, err)
		}
	}
	if !sort.StringsAreSorted(names) {
		t.Errorf("networks are not in order: %v", names)
	}
	if _, ok := Find("flanel"); ok {
		t.Error("Find knows a network that is not there")
	}
}

// TestEverySelectable: each network that a document can select is in the list.
func TestEverySelectable(t *testing.T) {
	for _, n := range []networks.Networking{{Bridge: &networks.Bridge{}}, {Calico: &networks.Calico{}}, {CNI: &networks.CNI{}}, {Flannel: &networks.Flannel{}}, {Kubenet: &networks.Kubenet{}}} {
		if _, ok := Find(n.Name()); !ok {
			t.Errorf("%s can be selected and is not in All", n.Name())
		}
	}
}
