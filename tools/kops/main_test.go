package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The test's own checkout has a cluster of each form: as a user writes it, with the files of an
// update, and a file that is no cluster.
func TestStores(t *testing.T) {
	checkout, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"create_cluster/a/expected-v1alpha2.yaml": "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata:\n  creationTimestamp: x\n  name: a.example.com\nspec: {}\n\n---\n\n" +
			"apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata:\n  labels:\n    x: y\n  name: nodes\nspec:\n  role: Node\n",
		"create_cluster/a/options.yaml": "ClusterName: a.example.com\n",
		"update_cluster/b/in-v1alpha2.yaml": "kind: Cluster\nmetadata:\n  name: b.example.com\n---\nkind: InstanceGroup\nmetadata:\n  name: master-1\nspec:\n  role: Master\n---\n" +
			"kind: InstanceGroup\nmetadata:\n  name: nodes\nspec:\n  role: Node\n",
		"update_cluster/b/data/aws_s3_object_cluster-completed.spec_content": "kind: Cluster\nspec: {completed: yes}\n",
		"update_cluster/b/data/aws_s3_object_nodeupconfig-master-1_content":  "KubernetesVersion: 1.31.0\n",
		"update_cluster/b/data/aws_s3_object_nodeupconfig-nodes_content":     "KubernetesVersion: 1.31.1\n",
		"update_cluster/b/data/aws_s3_object_manifests-channels_content":     "kind: Addons\n",
		"conversion/c/v1alpha3.yaml":                                         "kind: Cluster\nmetadata:\n  name: c.example.com\n",
	} {
		file := filepath.Join(checkout, "tests/integration", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agent := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(agent, []byte("#!/bin/sh\n[ \"$1 $2\" = 'store check' ] && [ ! -e \"$3/c.example.com\" ] || { echo refused; exit 1; }\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	refused, err := run(t.Context(), checkout, out, agent, &said)
	if err != nil || refused != 1 {
		t.Errorf("%d refused, %v", refused, err)
	}
	for _, want := range []string{"create_cluster: 1 stores, 0 refused\n", "update_cluster: 1 stores, 0 refused\n", "refused\nconversion: 1 stores, 1 refused\n"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("it says\n%s\nand not %q", said.String(), want)
		}
	}
	for name, want := range map[string]string{
		"create_cluster/a-expected-v1alpha2/a.example.com/instancegroup/nodes":                         "role: Node",
		"update_cluster/b-in-v1alpha2/b.example.com/config":                                            "name: b.example.com",
		"update_cluster/b-in-v1alpha2/b.example.com/cluster-completed.spec":                            "completed",
		"update_cluster/b-in-v1alpha2/b.example.com/igconfig/control-plane/master-1/nodeupconfig.yaml": "1.31.0",
		"update_cluster/b-in-v1alpha2/b.example.com/igconfig/node/nodes/nodeupconfig.yaml":             "1.31.1",
		"conversion/c-v1alpha3/c.example.com/config":                                                   "c.example.com",
	} {
		if text, err := os.ReadFile(filepath.Join(out, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: ReadFile returns %q, %v", name, text, err)
		}
	}
	if _, err := run(t.Context(), checkout, out, "", &said); err == nil {
		t.Error("what is there already was written over")
	}
}
