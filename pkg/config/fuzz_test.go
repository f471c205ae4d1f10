package config

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/config/document"
)

// FuzzLoad: Load returns for any documents. It returns a node or an error. Every place is within
// its document, and its result can be printed.
func FuzzLoad(f *testing.F) {
	const node = "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: node-1}\nspec: {address: 10.0.0.1, podCIDRs: [100.96.1.0/24]}\n"
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		cluster, group := []byte(smallest), []byte(nil)
		for _, doc := range a.Files {
			switch kind, _ := kindOf(doc.Name); kind {
			case decode.KindCluster:
				cluster = doc.Data
			case decode.KindNodeGroup:
				group = doc.Data
			}
		}
		f.Add(cluster, group, []byte(node))
	}
	f.Fuzz(func(t *testing.T, cluster, group, node []byte) {
		sources := []document.Source{{Path: "cluster.yaml", Data: cluster}, {Path: "nodes/node-1.yaml", Data: node}, {Path: "nodes/node-2.yaml", Data: node}}
		sel := Select{Node: "node-1"}
		if len(group) > 0 {
			sources = append(sources, document.Source{Path: "nodegroups/nodes.yaml", Data: group})
			sel.Group = "nodes"
		}
		n, diags := Load(keyKinds, sources, sel)
		if (n == nil) != diags.HasErrors() {
			t.Errorf("node %v beside %s", n, diags)
		}
		inside(t, sources, diags)
		inside(t, sources, CheckAll(keyKinds, sources))
		if _, err := json.Marshal(diags); err != nil {
			t.Error(err)
		}
		if n == nil {
			return
		}
		if n.Networking.Name() == "" || n.KubernetesVersion.IsZero() {
			t.Errorf("accepted without network or version: %+v", n)
		}
		if _, err := json.Marshal(n); err != nil {
			t.Error(err)
		}
	})
}

// FuzzAgentFile tests the same for the agent's own file.
func FuzzAgentFile(f *testing.F) {
	f.Add([]byte("store: /srv/store\ncluster: demo.example.com\ninterval: 5m\n"))
	f.Add([]byte("trustedKeys: [x]\npin: y\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		src := document.Source{Path: "agent.yaml", Data: data}
		a, diags := agentfile.Decode(src)
		if (a == nil) != diags.HasErrors() {
			t.Errorf("file %v beside %s", a, diags)
		}
		inside(t, []document.Source{src}, diags)
	})
}
