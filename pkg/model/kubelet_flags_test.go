package model

import (
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host/facts"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// TestKubeletFlagRanges has the first and the last release of each flag, and the releases next to
// them.
func TestKubeletFlagRanges(t *testing.T) {
	flags := map[string]kubeletFlag{}
	for _, f := range kubeletFlags() {
		if f.Source == "" {
			t.Errorf("--%s does not say where its range is from", f.Name)
		}
		flags[f.Name] = f
	}
	for name, want := range map[string]struct{ in, out []int }{
		"network-plugin":      {in: []int{0, 12, 23}, out: []int{24, 36}},
		"network-plugin-dir":  {in: []int{0, 8}, out: []int{9}},
		"network-plugin-mtu":  {in: []int{4, 23}, out: []int{3, 24}},
		"cni-conf-dir":        {in: []int{4, 23}, out: []int{3, 24}},
		"cni-bin-dir":         {in: []int{4, 23}, out: []int{3, 24}},
		"hairpin-mode":        {in: []int{2, 36}, out: []int{1}},
		"pod-cidr":            {in: []int{0, 36}},
		"node-ip":             {in: []int{2, 36}, out: []int{1}},
		"resolv-conf":         {in: []int{0, 36}},
		"reconcile-cidr":      {in: []int{2, 5}, out: []int{1, 6}},
		"configure-cbr0":      {in: []int{0, 4}, out: []int{5}},
		"non-masquerade-cidr": {in: []int{2, 23}, out: []int{1, 24}},
	} {
		f, ok := flags[name]
		if !ok {
			t.Errorf("--%s is not in the table", name)
		}
		for _, minor := range want.in {
			if !f.has(values.Version{Major: 1, Minor: minor, Patch: 3}) {
				t.Errorf("--%s is missing in 1.%d", name, minor)
			}
		}
		for _, minor := range want.out {
			if f.has(values.Version{Major: 1, Minor: minor}) {
				t.Errorf("--%s is still in 1.%d", name, minor)
			}
		}
	}
}

// The agent sets a kubelet setting only in a place that counts: a flag counts more than the file,
// and more than the same flag in an earlier variable. If kubelet already has the setting, no person
// is told to set it. The lines that keep it: kubelet.go, overruled, chosenVariable, unsaid
func TestFlagsOfOthersOverrule(t *testing.T) {
	maxPods := []setting{{flag: kubeletFlag{Name: "max-pods", Field: "maxPods"}, value: "60"}}
	other := facts.FlagFact{Name: "max-pods", Value: "30", Overrides: []string{"KUBELET_NETWORK_ARGS"}}
	same := facts.FlagFact{Name: "max-pods", Value: "60"}
	both := []string{"KUBELET_NETWORK_ARGS", "KUBELET_EXTRA_ARGS"}
	for name, c := range map[string]struct {
		flag      facts.FlagFact
		variables []string
		config    string // maxPods of kubelet's configuration
		over      string
		variable  string
		unsaid    int
	}{
		"nobody gives it":           {variables: both, variable: "KUBELET_NETWORK_ARGS", unsaid: 1},
		"between the variables":     {flag: other, variables: both, over: "--max-pods=30", variable: "KUBELET_EXTRA_ARGS", unsaid: 1},
		"after the only one":        {flag: other, variables: both[:1], over: "--max-pods=30", unsaid: 1},
		"as wanted":                 {flag: same, variables: both, variable: "KUBELET_NETWORK_ARGS"},
		"as wanted, by no variable": {flag: same},
		"as wanted, by a file":      {config: "60"},
		"otherwise, by a file":      {config: "30", unsaid: 1},
		"after the file":            {flag: other, config: "60", over: "--max-pods=30", unsaid: 1},
	} {
		k := facts.KubeletFacts{Variables: c.variables, ConfigSet: []facts.VariableFact{{Name: "maxPods", Value: c.config}}}
		if c.flag.Name != "" {
			k.Flags = []facts.FlagFact{c.flag}
		}
		if got := maxPods[0].overruled(k.Flags, ""); got != c.over {
			t.Errorf("%s: what wins over the file is %q", name, got)
		}
		if got := chosenVariable(k, maxPods); got != c.variable {
			t.Errorf("%s: chose %q", name, got)
		}
		if got := unsaid(maxPods, k); len(got) != c.unsaid {
			t.Errorf("%s: to be said %v", name, got)
		}
	}
}

// kOps (up to 1.26) fills in networkPluginName and nonMasqueradeCIDR itself, whichever program
// calls the plugins. So there these fields are no mistake of the user. Another field without effect
// is one. The lines that keep it: kubelet.go, kubeletSettings, kubeletPlugin; kubelet_flags.go,
// OfKops
func TestKopsFillsInWhatOnlyDockerReads(t *testing.T) {
	for _, c := range []struct{ version, kubelet, warned string }{
		{"kops.k8s.io/v1alpha2", "{networkPluginName: cni, nonMasqueradeCIDR: 100.64.0.0/10}", ""},
		{"kops.k8s.io/v1alpha2", "{networkPluginMTU: 9001}", "networkPluginMTU"},
		{"netwright.dev/v1alpha1", "{networkPluginName: cni}", "networkPluginName"},
		{"netwright.dev/v1alpha1", "{nonMasqueradeCIDR: 100.64.0.0/10}", "nonMasqueradeCIDR"},
	} {
		text := "apiVersion: " + c.version + "\nkind: Cluster\nmetadata: {name: demo.example.com}\nspec:\n  kubernetesVersion: 1.22.9\n  networking: {calico: {}}\n  kubelet: " + c.kubelet + "\n"
		node, diags := config.Load(tasks.DriftKinds(), []document.Source{{Path: "cluster.yaml", Data: []byte(text)}}, config.Select{Node: "node-1"})
		if node == nil {
			t.Fatal(diags.Err())
		}
		_, notes, err := Build(Input{Node: node, Facts: aHost()})
		if err != nil {
			t.Fatal(err)
		}
		var warned string
		for _, n := range notes {
			if name, found := strings.CutPrefix(n.Text, "spec.kubelet."); found && n.Level == network.Warning {
				warned, _, _ = strings.Cut(name, " ")
			}
		}
		if warned != c.warned {
			t.Errorf("%s %s: warned of %q, want %q", c.version, c.kubelet, warned, c.warned)
		}
	}
}

// nodeup gives kubelet its directories with a slash at the end. The line that keeps it: kubelet.go,
// is
func TestAPathWithASlashIsTheSame(t *testing.T) {
	dirs := []setting{{flag: kubeletFlag{Name: "cni-bin-dir"}, value: "/opt/cni/bin"}}
	for value, same := range map[string]bool{"/opt/cni/bin": true, "/opt/cni/bin/": true, "/opt/cni": false, "/opt/cni/bin,/usr/lib/cni": false} {
		k := facts.KubeletFacts{Flags: []facts.FlagFact{{Name: "cni-bin-dir", Value: value}}}
		if over, left := dirs[0].overruled(k.Flags, ""), unsaid(dirs, k); (over == "") != same || (len(left) == 0) != same {
			t.Errorf("%s: wins over it %q, to be said %d", value, over, len(left))
		}
	}
}

func TestEnvironmentDropIn(t *testing.T) {
	got := string(environmentDropIn("X", "", []setting{{flag: kubeletFlag{Name: "a"}, value: `1%"\`}}))
	if want := header + "[Service]\nEnvironment=\"X=--a=1%%\\\"\\\\\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// For kubelet the last file of its --config-dir counts, and a flag counts more than any file. If a
// file after ours says something else, the agent uses a flag, or a note names that file.
func TestDropInAfterOurs(t *testing.T) {
	const later = "/etc/kubernetes/kubelet.conf.d/90-site.conf"
	for name, c := range map[string]struct {
		set       facts.VariableFact
		variables []string
		made      string // our file with the flag
		noted     bool
	}{
		"nobody":           {made: "/etc/kubernetes/kubelet.conf.d/50-netwright.conf"},
		"before ours":      {set: facts.VariableFact{Name: "podCIDR", Value: "10.0.0.0/24", File: "/etc/kubernetes/kubelet.conf.d/40-nodeadm.conf"}, made: "/etc/kubernetes/kubelet.conf.d/50-netwright.conf"},
		"the same":         {set: facts.VariableFact{Name: "podCIDR", Value: "100.96.1.0/24", File: later}, made: "/etc/kubernetes/kubelet.conf.d/50-netwright.conf"},
		"another, a flag":  {set: facts.VariableFact{Name: "podCIDR", Value: "10.0.0.0/24", File: later}, variables: []string{"KUBELET_EXTRA_ARGS"}, made: "kubelet.service"},
		"another, no flag": {set: facts.VariableFact{Name: "podCIDR", Value: "10.0.0.0/24", File: later}, noted: true},
		"another's other":  {set: facts.VariableFact{Name: "maxPods", Value: "3", File: later}, made: "/etc/kubernetes/kubelet.conf.d/50-netwright.conf"},
	} {
		s := scenarios(t, "testdata/plans/kubelet-config-dir.txtar")[0]
		s.in.Facts.Kubelet = facts.KubeletFacts{Unit: "kubelet.service", ConfigDir: "/etc/kubernetes/kubelet.conf.d", Variables: c.variables}
		if c.set.Name != "" {
			s.in.Facts.Kubelet.ConfigSet = []facts.VariableFact{c.set}
		}
		made, notes, err := Build(s.in)
		if err != nil {
			t.Fatal(name, err)
		}
		var in string
		for _, task := range made {
			switch task := task.(type) {
			case tasks.File:
				if strings.Contains(string(task.Content), `podCIDR: "100.96.1.0/24"`) {
					in += task.Path
				}
			case tasks.DropIn:
				if strings.Contains(string(task.Content), "--pod-cidr=100.96.1.0/24") {
					in += task.Unit
				}
			}
		}
		noted := slices.ContainsFunc(notes, func(n Note) bool { return strings.Contains(n.Text, later+" says podCIDR: 10.0.0.0/24") })
		if in != c.made || noted != c.noted {
			t.Errorf("%s: set in %q, want %q; noted %t, want %t", name, in, c.made, noted, c.noted)
		}
	}
}
