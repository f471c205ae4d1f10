package cleanup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
)

// asked is how documents request a network on a node of this lab.
type asked struct {
	spec    string // the text below its name; "": {}
	version string // of Kubernetes, if a newer one no longer has it
	cloud   string
	never   string   // why no document can request it here: then another program sets it up, under `cni: {}`
	stays   []string // sysctls that the agent set to 1 for it, and that a prune leaves
}

var ways = map[string]asked{
	"amazonVPC": {cloud: "aws"},
	"azure":     {never: "its plugins are in an archive that nobody can build here"},
	"canal":     {version: "1.27.3"},
	"cilium":    {stays: []string{"net.ipv4.fib_multipath_use_neigh"}},
	"external":  {version: "1.25.3"},
	"flannel":   {spec: "{backend: vxlan}"},
	"gcp":       {cloud: "gce"},
	"kindnet":   {stays: []string{"net.netfilter.nf_conntrack_acct", "net.netfilter.nf_conntrack_timestamp"}},
	"lyftvpc":   {never: "its plugins are downloaded from its release"},
	"romana":    {version: "1.18.20"},
	"weave":     {version: "1.22.17"},
}

// The released agent switches a node from bridge to each network. The network leaves all that it
// can leave, and the agent switches back to bridge, on one node among things of other owners. Those
// are as they were, and carry traffic after every switch.
func TestSwitchesLeaveNothing(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	n := newSwitchNode(t, node.NewFabric(t))
	n.wants("", "", "bridge: {}\n")
	n.carries("before all")
	n.once()
	n.carries("on bridge")
	n.shell("looks before")
	var table strings.Builder
	for _, name := range networks(t, "networks") {
		if name == "bridge" || name == "multus" { // multus is beside another network, so there is no switch to it
			continue
		}
		if n.lost {
			t.Fatalf("%s and those after it are not tried", name)
		}
		t.Run(name, func(t *testing.T) {
			n.t, n.lost = t, true
			way := ways[name]
			n.shell("bridge_is_used")
			n.goes(name, way)
			n.carries("on " + name)
			made := len(lines(n.shell("leave " + name)))
			removed := n.comesBack(name)
			n.carries("back from " + name)
			var stays strings.Builder
			for _, key := range way.stays {
				fmt.Fprintf(&stays, "< sysctl: %s = 0\n> sysctl: %s = 1\n", key, key)
			}
			n.shell("looks after")
			if diff := n.shell("diff /run/proof/before /run/proof/after | grep '^[<>]' || true; mv /run/proof/after /run/proof/before"); diff != stays.String() {
				t.Errorf("the node is not as it was on bridge:\n%s", diff)
			}
			fmt.Fprintf(&table, "SWITCH %-14s lines made %3d, by the agent removed %3d  %s\n", name, made, removed, way.never)
			n.lost = false
		})
	}
	t.Log("\n" + table.String())
}

// goes switches the node from bridge to a network, or to `cni: {}` if documents cannot request the
// network.
func (n *switchNode) goes(name string, way asked) {
	n.t.Helper()
	to := name
	if way.never != "" {
		to, way = "cni", asked{}
	}
	n.wants(way.version, way.cloud, to+": "+cmp.Or(way.spec, "{}")+"\n    switch: {allow: true, from: bridge}\n")
	if p := n.plan(); p.Switch == nil || p.Switch.From != "bridge" || p.Switch.To != to || p.Switch.Blocked != "" {
		n.t.Errorf("to %s: the plan says %+v", to, p.Switch)
	}
	n.once()
	row, _ := network.Find(to)
	if p := n.plan(); p.Network != to || p.Switch != nil || p.Summary.Changes() != 0 || row.Conf.Writer == network.WriterDaemonSet && p.Summary.Waiting == 0 {
		n.t.Errorf("on %s: %s, %+v, %+v", to, p.Network, p.Switch, p.Summary)
	}
	confs := lines(n.shell("ls /etc/cni/net.d"))
	if slices.Contains(confs, row.Conf.File+"\n") != (row.Conf.Writer == network.WriterNetwright) {
		n.t.Errorf("confs: %q; that of %s is written by %s", confs, to, row.Conf.Writer)
	}
	if left := n.shell("bridge_traces"); left != "" {
		n.t.Errorf("of bridge there is:\n%s", left)
	}
}

// comesBack switches the node from a network to bridge, and returns how many things that removes.
func (n *switchNode) comesBack(from string) int {
	n.t.Helper()
	n.wants("", "", "bridge: {}\n    switch: {allow: true, from: "+from+"}\n")
	p := n.plan()
	if p.Switch == nil || p.Switch.From != from || p.Switch.Blocked != "" {
		n.t.Fatalf("from %s: the plan says %+v", from, p.Switch)
	}
	n.once()
	if p := n.plan(); p.Network != "bridge" || p.Switch != nil || p.Summary.Changes() != 0 {
		n.t.Errorf("on bridge: %s, %+v, %+v", p.Network, p.Switch, p.Summary)
	}
	return len(p.Switch.Removes)
}

func lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// plan makes a dry run.
func (n *switchNode) plan() report.Plan {
	n.t.Helper()
	res := n.Run(n.t.Context(), "netwright", "--dry-run", "-o", "json")
	var p report.Plan
	if err := json.Unmarshal([]byte(res.Stdout), &p); err != nil {
		n.t.Fatalf("the plan is not JSON: %v\n%s%s", err, res.Stdout, res.Stderr)
	}
	return p
}

// once makes a pass.
func (n *switchNode) once() {
	n.t.Helper()
	if res := n.Run(n.t.Context(), "netwright", "--once"); res.Code != 0 {
		n.t.Fatalf("--once: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
}
