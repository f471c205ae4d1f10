package config

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/networks"
	"github.com/netwright/netwright/pkg/problem"
)

// TestDiagnosticJSON fixes the form that programs read.
func TestDiagnosticJSON(t *testing.T) {
	_, diags := loadText(strings.Replace(smallest, "bridge: {}", "bridge: {mtuu: 1500}", 1))
	got, err := json.Marshal(diags)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"severity":"error","id":"field-unknown","origin":{"file":"cluster.yaml","line":6,"column":25},"summary":"unknown field \"mtuu\"",` +
		`"field":"spec.networking.bridge.mtuu","line":"  networking: {bridge: {mtuu: 1500}}","caret":"                        ^",` +
		`"expected":"one of hairpin, mtu, nodes","hint":"did you mean \"mtu\"?"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestErr(t *testing.T) {
	warning := document.Diagnostic{Severity: document.SeverityWarning, ID: problem.PlanWarning, Summary: "odd"}
	if err := (document.Diagnostics{warning}).Err(); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	err := document.Diagnostics{warning, {Severity: document.SeverityError, ID: problem.FieldValue, Origin: document.Origin{File: "a", Line: 1, Column: 2}, Summary: "wrong"}}.Err()
	if err == nil || problem.Find(err) != problem.FieldValue || err.Error() != "warning: odd [plan-warning]\na:1:2: wrong [field-value]" {
		t.Errorf("got %v", err)
	}
}

// TestSameWords: the same documents cause the same texts in the same order, each time.
func TestSameWords(t *testing.T) {
	text := strings.Replace(smallest, "{bridge: {}}", "{bridge: {}, calico: {}, flannel: {backend: udp}, kubenet: {}}", 1)
	_, first := loadText(text)
	for range 20 {
		if _, again := loadText(text); again.String() != first.String() {
			t.Fatalf("first:\n%s\nthen:\n%s", first, again)
		}
	}
}

// TestFamilies: what a caller for both families gets, also if a family is missing.
func TestFamilies(t *testing.T) {
	n, diags := Load(keyKinds, []document.Source{{Path: "cluster.yaml", Data: []byte(smallest)}, {Path: "nodes/node-1.yaml", Data: []byte(
		"apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: node-1}\nspec: {address: \"fd00::1, 10.0.0.1\", podCIDRs: [100.96.1.0/24]}\n")}}, Select{Node: "node-1"})
	if n == nil {
		t.Fatalf("right documents have errors: %v", diags)
	}
	if n.Address.V4().String() != "10.0.0.1" || n.Address.V6().String() != "fd00::1" || n.Address.String() != "fd00::1,10.0.0.1" {
		t.Errorf("addresses %v", n.Address)
	}
	if n.PodCIDRs.V4().String() != "100.96.1.0/24" || n.PodCIDRs.V6().IsValid() {
		t.Errorf("pod ranges %v", n.PodCIDRs)
	}
}

// TestDocumentation: the documents in the user's manual load as the manual prints them.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/documents.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources []document.Source
	for _, block := range strings.Split(string(text), "```yaml\n# ")[1:] {
		block, _, _ = strings.Cut(block, "```")
		file, body, _ := strings.Cut(block, "\n")
		if file == agentfile.Path {
			if a, diags := agentfile.Decode(document.Source{Path: file, Data: []byte(body)}); a == nil {
				t.Errorf("refused:\n%s", diags)
			}
			continue
		}
		sources = append(sources, document.Source{Path: file, Data: []byte(body)})
	}
	if len(sources) != 3 {
		t.Fatalf("found %d documents in the manual", len(sources))
	}
	named := blob.Named{Name: "files/app/settings", Content: blob.Of([]byte("a=b\n"))}                // by one of them
	diags := slices.DeleteFunc(CheckAll(keyKinds, sources, named), func(d document.Diagnostic) bool { // the manual has new ones, too
		return d.Severity == document.SeverityWarning && strings.Contains(d.Summary, "is newer than agents of earlier releases")
	})
	if len(diags) > 0 {
		t.Errorf("refused:\n%s", diags)
	}
	for _, name := range append(networks.Supported(), "sysctlParameters", "fileAssets", "hooks", "assetsMirror", "kubelet", "topology") {
		if !strings.Contains(string(text), "`"+name) && !strings.Contains(string(text), "  "+name+":") {
			t.Errorf("the manual does not mention %s", name)
		}
	}
}
