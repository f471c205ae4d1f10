package model

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// TestDisagreements has the places where kOps' documents and its code differ, by number, with what
// the agent does: an error, a note, a file, or nothing. The wanted result begins with "error",
// "warning" or "info". "silent" means neither an error nor a warning, and "file" means a part of a
// file.
func TestDisagreements(t *testing.T) {
	all := network.Disagreements()
	if len(all) != 15 {
		t.Fatalf("there are %d disagreements, and 15 are known: 12 of kOps' table, 3 of its templates", len(all))
	}
	seen := map[int]bool{}
	for _, c := range []struct {
		number     int
		kubernetes string
		networking string
		want       string
	}{
		{1, "1.33.2", "flannel: {backend: vxlan}", "silent"},
		{1, "1.33.2", "kubeRouter: {}", "silent"},
		{1, "1.33.2", "kindnet: {}", "silent"},
		{2, "1.28.5", "flannel: {backend: udp}", "silent"},
		{2, "1.30.0", "flannel: {}", "error: spec.networking.flannel.backend is missing"},
		{3, "1.28.5", "kubeRouter: {}", "info: kube-router serves the services: kube-proxy must not run"},
		{4, "1.28.0", "canal: {}", "error: use canal with Kubernetes 1.28.0"},
		{4, "1.27.9", "canal: {}", "warning: canal is deprecated since kOps 1.27"},
		{5, "1.23.0", "weave: {}", "error: use weave with Kubernetes 1.23.0"},
		{5, "1.22.9", "weave: {}", "warning: weave is deprecated since kOps 1.23"},
		{6, "1.19.0", "romana: {}", "error: use romana with Kubernetes 1.19.0"},
		{6, "1.18.2", "romana: {}", "warning: romana is deprecated since kOps 1.18"},
		{7, "1.26.0", "external: {}", "error: use external with Kubernetes 1.26.0"},
		{7, "1.4.12", "classic: {}", "error: use classic"},
		{8, "1.33.2", "kubenet: {}", "file: \"type\": \"ptp\""},
		{9, "1.5.1", "calico: {}", "silent"},
		{10, "1.33.2", "calico: {encapsulationMode: vxlan}", "file: vxlan\n"},
		{11, "1.33.2", "kindnet: {}", "silent"},
		{12, "1.22.9", "kopeio: {}", "warning: the project behind kopeio is"},
		{13, "1.33.2", "cilium: {}", "file: net.ipv4.conf.lxc*.rp_filter = 0"},
		{14, "1.27.9", "canal: {}", "warning: canal is deprecated since kOps 1.27"},
		{15, "1.33.2", "kubeRouter: {}", "silent"},
	} {
		name, _, _ := strings.Cut(c.networking, ":")
		t.Run(fmt.Sprintf("%d %s %s", c.number, name, c.kubernetes), func(t *testing.T) {
			seen[c.number] = true
			if !slices.Contains(all[c.number-1].Networks, name) {
				t.Fatalf("number %d is about %v", c.number, all[c.number-1].Networks)
			}
			if got := saidOf(t, c.kubernetes, c.networking); !saying(got, c.want) {
				t.Errorf("want %s, got:\n%s", c.want, strings.Join(got, "\n"))
			}
		})
	}
	for i, d := range all {
		if !seen[i+1] || d.Says == "" || d.But == "" || d.Here == "" || !strings.HasPrefix(d.Source, "https://") {
			t.Errorf("number %d needs its words, a source and a case: %+v", i+1, d)
		}
	}
}

// saidOf returns all texts for a node with this network: errors, notes and the texts of its files.
func saidOf(t *testing.T, kubernetes, networking string) []string {
	t.Helper()
	text := fmt.Sprintf("apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo.example.com}\nspec:\n  kubernetesVersion: %s\n  containerRuntime: %s\n  networking:\n    %s\n",
		kubernetes, runtimeOf(kubernetes), networking)
	node, diags := config.Load(tasks.DriftKinds(), []document.Source{{Path: "cluster.yaml", Data: []byte(text)}}, config.Select{Node: "node-1"})
	if node == nil {
		return []string{"error: " + diags.Err().Error()}
	}
	ts, notes, err := Build(Input{Node: node, Facts: aHost()})
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	var out []string
	for _, n := range notes {
		out = append(out, string(n.Level)+": "+n.Text)
	}
	for _, task := range ts {
		if f, ok := task.(tasks.File); ok {
			out = append(out, "file: "+string(f.Content))
		}
	}
	return out
}

func runtimeOf(kubernetes string) string {
	if v, _ := values.ParseVersion(kubernetes); !v.AtLeast(1, 20) {
		return "docker"
	}
	return "containerd"
}

func saying(got []string, want string) bool {
	if want == "silent" {
		return !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "error") || strings.HasPrefix(s, "warning") })
	}
	level, words, _ := strings.Cut(want, ": ")
	return slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, level) && strings.Contains(s, words) })
}
