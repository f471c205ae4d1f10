// Package e2e proves the main job on booted nodes. The agent is the released program, and the
// node's own systemd starts it. The tests judge by ip, nft, sysctl, stat and systemctl, and never
// by code of the agent.
package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/program"
)

// cluster is the name of the cluster of all tests here.
const cluster = "e2e.example.com"

// agent is the binary as it ships.
func agent(t testing.TB) string {
	t.Helper()
	return program.Agent(t)
}

// store is a plain directory store on this machine.
type store struct{ dir string }

// newStore writes a cluster's documents. spec is the body of the Cluster's spec, indented by two;
// docs are further documents by path.
func newStore(t testing.TB, spec string, docs map[string]string) store {
	t.Helper()
	s := store{dir: t.TempDir()}
	s.write(t, "cluster.yaml", document("Cluster", cluster, spec))
	s.write(t, "nodegroups/nodes.yaml", document("NodeGroup", "nodes", "  role: Node\n"))
	for path, text := range docs {
		s.write(t, path, text)
	}
	return s
}

func document(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: netwright.dev/v1alpha1\nkind: %s\nmetadata:\n  name: %s\nspec:\n%s", kind, name, spec)
}

func nodeDocument(name, address, podCIDRs string) (path, text string) {
	return "nodes/" + name + ".yaml", document("Node", name, fmt.Sprintf("  nodeGroup: nodes\n  address: %s\n  podCIDRs: %s\n", address, podCIDRs))
}

func (s store) path(name string) string { return filepath.Join(s.dir, cluster, name) }

func (s store) write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pluginSpec puts the real CNI plugins into the store and returns the spec.assets that name them.
func (s store) pluginSpec(t testing.TB) string {
	t.Helper()
	archive, sum := assets.CNIArchive(t)
	name := filepath.Base(archive)
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "assets/"+name, string(data))
	return assetSpec(sum, "assets/"+name)
}

func assetSpec(sum, url string) string {
	return fmt.Sprintf("  assets:\n  - name: cni-plugins\n    arch:\n      %s:\n        sha256: %s\n        urls: [%s]\n", runtime.GOARCH, sum, url)
}

// options is a node with the agent as a machine image has it: binary, unit, its own file, and the
// store below /srv. extra wins.
func options(t testing.TB, s store, name, address string, extra node.Options) node.Options {
	t.Helper()
	unit, err := os.ReadFile("../../systemd/netwright-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"/etc/systemd/system/netwright-agent.service": string(unit),
		"/etc/netwright/agent.yaml":                   fmt.Sprintf("store: /srv/netwright\ncluster: %s\nnode: %s\n", cluster, name),
	}
	maps.Copy(files, extra.Files)
	copies := map[string]string{"/usr/bin/netwright": agent(t), "/srv/netwright": s.dir}
	maps.Copy(copies, extra.Copies)
	extra.Name, extra.Address, extra.Files, extra.Copies = name, address, files, copies
	return extra
}

// plan runs a dry run in the node and decodes its JSON.
func plan(ctx context.Context, t testing.TB, n *node.Node, wantCode int, args ...string) report.Plan {
	t.Helper()
	return planOf(t, n.Run(ctx, "netwright", append([]string{"--dry-run", "-o", "json"}, args...)...), wantCode)
}

func planOf(t testing.TB, res node.Result, wantCode int) report.Plan {
	t.Helper()
	if res.Code != wantCode {
		t.Fatalf("exit code %d, want %d\n%s\n%s", res.Code, wantCode, res.Stdout, res.Stderr)
	}
	var p report.Plan
	if err := json.Unmarshal([]byte(res.Stdout), &p); err != nil {
		t.Fatalf("not JSON: %v\n%s\n%s", err, res.Stdout, res.Stderr)
	}
	return p
}

// keys lists the keys of a plan that change.
func keys(p report.Plan) map[string]bool {
	out := map[string]bool{}
	for _, step := range p.Steps {
		if step.State == report.Planned || step.State == report.Done {
			for _, it := range step.Items {
				out[it.Key] = true
			}
		}
	}
	return out
}

// messages are what a plan says of what failed or waits, a line each.
func messages(p report.Plan, state report.State) string {
	var b strings.Builder
	for _, step := range p.Steps {
		if step.State == state {
			b.WriteString(step.Key + ": " + step.Message + "\n")
		}
	}
	return b.String()
}
