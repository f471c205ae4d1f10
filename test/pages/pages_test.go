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

// TestPages compares docs/networks with the data from which it is made: the agent and its manual
// must say the same.
func TestPages(t *testing.T) {
	meanings, err := ReadMeanings(sources()...)
	if err != nil {
		t.Fatal(err)
	}
	plans := goldens(t)
	upstream := cited(t)
	want := map[string]string{"README.md": Index(network.All())}
	for _, n := range network.All() {
		want[n.Name+".md"] = Page(n, meanings, plans[n.Name], upstream)
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

// goldens returns the plans and refusals of each network, by the network of their cluster.
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
					continue // it has this network by chance, and tests something else
				}
				out[name] = append(out[name], path.Join("pkg/model/testdata", dir, filepath.Base(f)))
			}
		}
	}
	return out
}

// sources returns the packages with the types of documents.
func sources() (dirs []string) {
	for _, room := range []string{"", "agentfile", "extras", "networks", "policy"} {
		dirs = append(dirs, filepath.Join(root, "pkg/config", room))
	}
	return dirs
}

// TestEveryFieldIsDescribed: every field that the decoder knows says what it accepts, and has a
// description of its own.
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

// TestProofs: a test that a page names exists.
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

// TestEveryErrorHasASection: the page has a section for each identifier that code can give to an
// error.
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

const (
	upstreams = root + "/pkg/model/network/sources"
	unsourced = "testdata/unsourced.txt"
	// mostUnsourced is how many facts have no source. It becomes smaller with each new source, and
	// never larger: a new fact needs its source.
	mostUnsourced = 721
)

func cited(t *testing.T) []Source {
	t.Helper()
	out, err := ReadSources(upstreams)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every number and name of a row has the line of upstream's file that it comes from, or it is on
// the list of facts without a source, which only becomes shorter.
func TestFactsHaveSources(t *testing.T) {
	proved := map[string]bool{}
	known := map[string]bool{}
	for _, n := range network.All() {
		for _, fact := range FactsOf(n) {
			known[n.Name+"\t"+fact] = true
		}
	}
	for _, s := range cited(t) {
		if len(s.Commit) != 40 || s.Line == 0 || s.Words == "" {
			t.Errorf("%s:%d of %s names no place: a commit of 40 digits, a line and the words there", s.File, s.Line, s.Repository)
		}
		for _, fact := range s.Facts {
			has := false
			for _, name := range s.Networks {
				if key := name + "\t" + fact; known[key] {
					proved[key], has = true, true
				}
			}
			if !has {
				t.Errorf("%s:%d is the source of %q, which no row of %v has", s.File, s.Line, fact, s.Networks)
			}
		}
	}
	var without []string
	for key := range known {
		if !proved[key] {
			without = append(without, key)
		}
	}
	slices.Sort(without)
	if *update {
		if err := os.WriteFile(unsourced, []byte(strings.Join(without, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(unsourced)
	if diff := cmp.Diff(string(have), strings.Join(without, "\n")+"\n"); err != nil || diff != "" {
		t.Errorf("%s is stale (-is +should be); -update writes it:\n%s", unsourced, diff)
	}
	if len(without) != mostUnsourced {
		t.Errorf("%d facts have no source, and mostUnsourced says %d: cite the new ones in %s, or lower it", len(without), mostUnsourced, upstreams)
	}
}
