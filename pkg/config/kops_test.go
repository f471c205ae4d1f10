package config

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config/document"
)

const (
	ourCluster  = "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a.example.com}\nspec:\n  kubernetesVersion: 1.31.2\n"
	kopsCluster = "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: a.example.com}\nspec:\n  kubernetesVersion: 1.31.2\n"
	kopsGroup   = "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: nodes}\nspec:\n  role: Node\n"
	calico      = "  networking: {calico: {}}\n"
)

// loadKops reads kOps' own documents of a node of the group nodes: the cluster's, the group's where
// there is one, and its NodeupConfig where there is one.
func loadKops(t *testing.T, cluster, group, nodeup string) *Node {
	t.Helper()
	sources, sel := []document.Source{{Path: "cluster-completed.spec", Data: []byte(cluster)}}, Select{}
	if group != "" {
		sources, sel.Group = append(sources, document.Source{Path: "instancegroup/nodes", Data: []byte(group)}), "nodes"
	}
	if nodeup != "" {
		sources = append(sources, document.Source{Path: "igconfig/node/nodes/nodeupconfig.yaml", Data: []byte(nodeup)})
	}
	n, diags := Load(keyKinds, sources, sel)
	if n == nil {
		t.Fatal(diags)
	}
	return n
}

// refusedAsOurs reports documents of our own that are taken.
func refusedAsOurs(t *testing.T, spec, want string) {
	t.Helper()
	n, diags := Load(keyKinds, []document.Source{{Path: "cluster.yaml", Data: []byte(ourCluster + spec)}}, Select{})
	if n != nil || !strings.Contains(diags.String(), want) {
		t.Errorf("%s: in a document of ours want %q, got %s", spec, want, diags)
	}
}

// TestKopsFirstOfAKeyCounts: kOps puts an instance group's files and hooks before the cluster's,
// and nodeup passes over what it has seen.
// The line that keeps it: pkg/config/decode/lists.go, First
func TestKopsFirstOfAKeyCounts(t *testing.T) {
	const (
		files = "  fileAssets:\n  - {name: motd, content: \"%\"}\n"
		twice = "FileAssets:\n- {name: motd, content: group}\n- {name: motd, path: /srv/kubernetes/assets/motd, content: of the cluster}\n"
		hooks = "  hooks:\n  - {name: a, manifest: ExecStart=/bin/a}\n  - {name: a, manifest: ExecStart=/bin/of-the-cluster}\n"
	)
	n := loadKops(t, kopsCluster+calico+strings.Replace(files, "%", "of the cluster", 1), kopsGroup+strings.Replace(files, "%", "group", 1), twice)
	if len(n.FileAssets) != 1 || n.FileAssets[0].Content.Size != int64(len("group")) || n.FileAssets[0].Origin.File != "igconfig/node/nodes/nodeupconfig.yaml" {
		t.Errorf("files: %+v", n.FileAssets)
	}
	if n = loadKops(t, kopsCluster+calico+hooks, "", ""); len(n.Hooks) != 1 || n.Hooks[0].Manifest.Reveal() != "ExecStart=/bin/a" {
		t.Errorf("hooks: %+v", n.Hooks)
	}
	refusedAsOurs(t, calico+hooks, `"a.service" is in this list twice`)
	refusedAsOurs(t, calico+"  "+strings.ReplaceAll(strings.Replace(twice, "F", "f", 1), "\n-", "\n  -"), `"/srv/kubernetes/assets/motd" is in this list twice`)
}
