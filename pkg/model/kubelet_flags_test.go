package model

import (
	"testing"

	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/host/facts"
)

// TestKubeletFlagRanges has the first and last release of each flag, and the neighbours.
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

// A way to kubelet is taken only if what comes by it counts: a flag wins over the file, and over
// the same flag in a variable before it. What kubelet is started with already, nobody is told to.
// The lines that keep it: kubelet.go, overruled, chosenVariable, unsaid
func TestFlagsOfOthersOverrule(t *testing.T) {
	maxPods := []setting{{flag: kubeletFlag{Name: "max-pods", Field: "maxPods"}, value: "60"}}
	other := facts.FlagFact{Name: "max-pods", Value: "30", Overrides: []string{"KUBELET_NETWORK_ARGS"}}
	same := facts.FlagFact{Name: "max-pods", Value: "60"}
	both := []string{"KUBELET_NETWORK_ARGS", "KUBELET_EXTRA_ARGS"}
	for name, c := range map[string]struct {
		flag      facts.FlagFact
		variables []string
		over      string
		variable  string
		unsaid    int
	}{
		"nobody gives it":           {variables: both, variable: "KUBELET_NETWORK_ARGS", unsaid: 1},
		"between the variables":     {flag: other, variables: both, over: "--max-pods=30", variable: "KUBELET_EXTRA_ARGS", unsaid: 1},
		"after the only one":        {flag: other, variables: both[:1], over: "--max-pods=30", unsaid: 1},
		"as wanted":                 {flag: same, variables: both, variable: "KUBELET_NETWORK_ARGS"},
		"as wanted, by no variable": {flag: same},
	} {
		k := facts.KubeletFacts{Variables: c.variables, Flags: []facts.FlagFact{c.flag}}
		if got := maxPods[0].overruled(k.Flags, ""); got != c.over {
			t.Errorf("%s: what wins over the file is %q", name, got)
		}
		if got := chosenVariable(k, maxPods); got != c.variable {
			t.Errorf("%s: chose %q", name, got)
		}
		if got := unsaid(maxPods, k.Flags); len(got) != c.unsaid {
			t.Errorf("%s: to be said %v", name, got)
		}
	}
}

func TestEnvironmentDropIn(t *testing.T) {
	got := string(environmentDropIn("X", "", []setting{{flag: kubeletFlag{Name: "a"}, value: `1%"\`}}))
	if want := header + "[Service]\nEnvironment=\"X=--a=1%%\\\"\\\\\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
