package pages

import (
	"bytes"
	"flag"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/config/decode"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

var update = flag.Bool("update", false, "write docs/networks, docs/reference/documents.md, docs/reference/errors.md and cmd/agent/fields.tsv")

const (
	root = "../.."
	docs = root + "/docs/networks"

	documents = root + "/docs/reference/documents.md"
	errors    = root + "/docs/reference/errors.md"
	table     = root + "/cmd/agent/fields.tsv"
)

// TestPages holds docs/networks against the data that it is made of: the agent and its manual say
// the same, or this is red.
func TestPages(t *testing.T) {
	meanings, err := ReadMeanings(sources()...)
	if err != nil {
		t.Fatal(err)
	}
	plans := goldens(t)
	want := map[string]string{"README.md": Index(network.All())}
	for _, n := range network.All() {
		want[n.Name+".md"] = Page(n, meanings, plans[n.Name])
	}
	proxy := network.KubeProxy()
	want[proxy.Name+".md"] = Beside(proxy)
	if *update {
		write(t, want)
	}
	for file, page := range map[string]string{documents: Documents(meanings), errors: Errors(), table: Table(meanings)} {
		if *update {
			if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(file); err != nil || string(have) != page {
			t.Errorf("%s is stale: `go test ./test/pages -update` writes it (-is +should be):\n%s", file, cmp.Diff(string(have), page))
		}
	}
	for name, page := range want {
		have, err := os.ReadFile(filepath.Join(docs, name))
		if diff := cmp.Diff(string(have), page); err != nil || diff != "" {
			t.Errorf("docs/networks/%s is stale: `go test ./test/pages -update` writes it (-is +should be):\n%s", name, diff)
		}
	}
	for _, name := range extra(t, want) {
		t.Errorf("docs/networks/%s is of no network: `go test ./test/pages -update` removes it", name)
	}
}

func write(t *testing.T, want map[string]string) {
	if err := os.MkdirAll(docs, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range extra(t, want) {
		if err := os.Remove(filepath.Join(docs, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, page := range want {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func extra(t *testing.T, want map[string]string) []string {
	t.Helper()
	files, err := filepath.Glob(docs + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		if _, ok := want[filepath.Base(f)]; !ok {
			out = append(out, filepath.Base(f))
		}
	}
	return out
}

var chosen = regexp.MustCompile(`(?m)^  networking:\s*(?:\{|\n    )(\w+):`)

// goldens lists the plans and refusals of each network, by the network that their cluster chooses.
func goldens(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, dir := range []string{"plans", "errors"} {
		files, err := filepath.Glob(root + "/pkg/model/testdata/" + dir + "/*.txtar")
		if err != nil || len(files) == 0 {
			t.Fatalf("no golden files of the model: %v", err)
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if m := chosen.FindSubmatch(data); m != nil {
				name := string(m[1])
				if !strings.HasPrefix(filepath.Base(f), strings.ToLower(name)) {
					continue // it is about something else, on this network by chance
				}
				out[name] = append(out[name], path.Join("pkg/model/testdata", dir, filepath.Base(f)))
			}
		}
	}
	return out
}

// sources are the packages whose types documents are read into.
func sources() (dirs []string) {
	for _, room := range []string{"", "agentfile", "extras", "networks", "policy"} {
		dirs = append(dirs, filepath.Join(root, "pkg/config", room))
	}
	return dirs
}

// TestEveryFieldIsDescribed: every field that the decoder knows says what it takes, and has words
// of its own.
func TestEveryFieldIsDescribed(t *testing.T) {
	meanings, err := ReadMeanings(sources()...)
	if err != nil {
		t.Fatal(err)
	}
	check := func(where, typ string, fields []decode.Description) {
		t.Helper()
		for _, f := range fields {
			if f.Takes == "" || f.Takes == "anything" {
				t.Errorf("%s: %s does not say what it takes: give its setter a complaint that does", where, f.Path)
			}
			if about := meanings.of(typ, f); len(strings.Fields(about)) < 2 {
				t.Errorf("%s: %s is described by %q: say what it is in the comment on the field of its type, or in `about` where it has none", where, f.Path, about)
			}
		}
	}
	check("agent.yaml", "AgentFile", agentfile.Fields())
	for _, kind := range []string{decode.KindCluster, decode.KindNodeGroup, decode.KindNode} {
		check(kind, "Node", config.DocumentFields(tasks.DriftKinds(), kind))
	}
	for _, n := range network.All() {
		check(n.Name, meanings["Networking"][n.Name].typ, config.NetworkFields(n.Name))
	}
}

// TestProofs: a test that a page names is there.
func TestProofs(t *testing.T) {
	for _, n := range append(network.All(), network.KubeProxy()) {
		for _, p := range n.TestedBy {
			dir, test, ok := strings.Cut(p.Test, " ")
			if !ok || p.Claim == "" || !hasTest(t, dir, test) {
				t.Errorf("%s: %q: expected \"<folder> Test…\", and what it shows", n.Name, p.Test)
			}
		}
		if n.Lifecycle.Gone != "" && n.Untested == "" {
			t.Errorf("%s is gone, and nothing says what is not proved", n.Name)
		}
	}
}

func hasTest(t *testing.T, dir, test string) bool {
	t.Helper()
	name, _, _ := strings.Cut(test, "/")
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(f string) bool {
		data, err := os.ReadFile(f)
		return err == nil && bytes.Contains(data, []byte("func "+name+"("))
	})
}

var constant = regexp.MustCompile(`(?m)^\s+\w+\s+ID = "([^"]+)"`)

// TestEveryErrorHasASection: an identifier that code can give to an error is a section of the page.
func TestEveryErrorHasASection(t *testing.T) {
	files, err := filepath.Glob(root + "/pkg/problem/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of package problem: %v", err)
	}
	page, err := os.ReadFile(errors)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range constant.FindAllSubmatch(source, -1) {
			if !bytes.Contains(page, append([]byte("\n### "), append(m[1], '\n')...)) {
				t.Errorf("%s: %s has no section in %s: give it a row", file, m[1], errors)
			}
		}
	}
}
