package model

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/secret"
	"github.com/netwright/netwright/pkg/tasks"
)

// TestExamples: every node of every example gets a plan, without an error and without a warning.
func TestExamples(t *testing.T) {
	clusters, err := filepath.Glob("../../examples/*/*/cluster.yaml")
	if err != nil || len(clusters) < 5 {
		t.Fatalf("found %d examples (%v), want at least the five networks", len(clusters), err)
	}
	for _, file := range clusters {
		dir := filepath.Dir(file)
		sources := documents(t, dir)
		if diags := config.CheckAll(tasks.DriftKinds(), sources); len(diags) > 0 {
			t.Errorf("%s: CheckAll returns %s", dir, diags)
		}
		for _, s := range sources {
			node, ok := strings.CutPrefix(strings.TrimSuffix(s.Path, ".yaml"), "nodes/")
			if !ok {
				continue
			}
			t.Run(filepath.Base(filepath.Dir(dir))+"/"+node, func(t *testing.T) {
				n, diags := config.Load(tasks.DriftKinds(), sources, config.Select{Node: node})
				if len(diags) > 0 {
					t.Fatalf("the example has errors: %v", diags)
				}
				pair := Keypair{CA: []byte("CA"), Cert: []byte("CERT"), Key: secret.New("KEY")}
				facts := aHost()
				facts.Links[1].Addresses = nil // an example does not know the reader's subnet
				in := Input{Node: n, Facts: facts}
				if n.Networking.Name() == "calico" {
					in.Keypairs = map[string]Keypair{"calico-client": pair}
				}
				ts, notes, err := Build(in)
				if err != nil {
					t.Fatal(err)
				}
				ordered(t, ts)
				for _, n := range notes {
					if n.Level == network.Warning && !strings.Contains(n.Text, "the same for every node") { // as kOps does it
						t.Errorf("an example should need no warning: %s", n.Text)
					}
				}
			})
		}
	}
}

func documents(t *testing.T, dir string) []document.Source {
	t.Helper()
	var out []document.Source
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		out = append(out, document.Source{Path: path, Data: data})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
