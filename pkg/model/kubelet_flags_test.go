package model

import (
	"testing"

	"github.com/netwright/netwright/pkg/config/values"
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

func TestEnvironmentDropIn(t *testing.T) {
	got := string(environmentDropIn("X", "", []setting{{flag: kubeletFlag{Name: "a"}, value: `1%"\`}}))
	if want := header + "[Service]\nEnvironment=\"X=--a=1%%\\\"\\\\\"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
