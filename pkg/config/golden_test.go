package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata")

// golden is one case: documents, an optional selection in the comment ("select: GROUP NODE", - for
// none), and the wanted results.
type golden struct {
	file    string
	archive *txtar.Archive
}

func readGolden(t *testing.T, pattern string) []golden {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases at %s: %v", pattern, err)
	}
	var all []golden
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, golden{f, a})
	}
	return all
}

func (g golden) name() string { return strings.TrimSuffix(filepath.Base(g.file), ".txtar") }

func (g golden) sources() []document.Source {
	var s []document.Source
	for _, f := range g.archive.Files {
		if !strings.HasPrefix(f.Name, "want/") && !strings.HasPrefix(f.Name, extras.FilesDir) {
			s = append(s, document.Source{Path: f.Name, Data: f.Data})
		}
	}
	return s
}

// files returns the files that documents name by source.
func (g golden) files() []blob.Named {
	var s []blob.Named
	for _, f := range g.archive.Files {
		if strings.HasPrefix(f.Name, extras.FilesDir) {
			s = append(s, blob.Named{Name: f.Name, Content: blob.Of(f.Data)})
		}
	}
	slices.SortFunc(s, func(a, b blob.Named) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func (g golden) selection() Select {
	for line := range strings.SplitSeq(string(g.archive.Comment), "\n") {
		if words := strings.Fields(line); len(words) == 3 && words[0] == "select:" {
			return Select{Group: strings.Trim(words[1], "-"), Node: strings.Trim(words[2], "-")}
		}
	}
	return Select{}
}

// check compares a golden part with the result, or rewrites it.
func (g golden) check(t *testing.T, part string, got []byte) {
	t.Helper()
	for i, f := range g.archive.Files {
		if f.Name != part {
			continue
		}
		if *update {
			g.archive.Files[i].Data = got
			g.write(t)
		} else if diff := cmp.Diff(string(f.Data), string(got)); diff != "" {
			t.Errorf("%s: %s differs (-want +got; go test -update after reading):\n%s", g.file, part, diff)
		}
		return
	}
	if !*update {
		t.Errorf("%s has no part %s: run go test -update and read it", g.file, part)
		return
	}
	g.archive.Files = append(g.archive.Files, txtar.File{Name: part, Data: got})
	g.write(t)
}

func (g golden) write(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(g.file, txtar.Format(g.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBad shows what the agent says about a wrong document.
func TestBad(t *testing.T) {
	cases := readGolden(t, "testdata/bad/*.txtar")
	if len(cases) < 30 {
		t.Errorf("only %d bad documents", len(cases))
	}
	for _, g := range cases {
		t.Run(g.name(), func(t *testing.T) {
			var diags document.Diagnostics
			var node *Node
			if bytes.Contains(g.archive.Comment, []byte("check all")) {
				diags = CheckAll(keyKinds, g.sources(), g.files()...)
			} else {
				node, diags = Load(keyKinds, g.sources(), g.selection(), g.files()...)
			}
			if !diags.HasErrors() || node != nil {
				t.Error("a bad document was accepted")
			}
			inside(t, g.sources(), diags)
			if text, err := json.Marshal(diags); err != nil || bytes.Contains(text, []byte("hunter2")) {
				t.Errorf("a secret is shown, or no JSON (%v):\n%s", err, text)
			}
			g.check(t, "want/text", []byte(diags.String()))
		})
	}
}

// TestGood shows the configuration of right documents, and the source of each value.
func TestGood(t *testing.T) {
	for _, g := range readGolden(t, "testdata/good/*.txtar") {
		t.Run(g.name(), func(t *testing.T) {
			node, diags := Load(keyKinds, g.sources(), g.selection(), g.files()...)
			if node == nil {
				t.Fatalf("refused:\n%s", diags)
			}
			inside(t, g.sources(), diags)
			text, err := json.MarshalIndent(node, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			var origins strings.Builder
			for _, p := range node.Paths() {
				origins.WriteString(p + " " + node.Origin(p).String() + "\n")
			}
			g.check(t, "want/node.json", append(text, '\n'))
			g.check(t, "want/origins", []byte(origins.String()))
			g.check(t, "want/warnings", []byte(diags.String()))
			if all := CheckAll(keyKinds, g.sources(), g.files()...); all.HasErrors() != bytes.Contains(g.archive.Comment, []byte("refused by a check")) {
				t.Errorf("CheckAll refuses what Load takes, or takes what it shall refuse:\n%s", all)
			}
		})
	}
}

// inside fails for a diagnostic whose place is outside its document, or that shows no part of the
// document.
func inside(t *testing.T, sources []document.Source, diags document.Diagnostics) {
	t.Helper()
	for _, d := range diags {
		if d.Summary == "" || strings.ContainsAny(d.Summary+d.Line+d.Expected+d.Hint, "\n\r") {
			t.Errorf("%q: a diagnostic must have a summary, and each part of it is one line", d)
		}
		if d.Origin.Line == 0 {
			continue
		}
		for _, s := range sources {
			if s.Path != d.Origin.File {
				continue
			}
			lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(string(s.Data), "\r\n", "\n"), "\r", "\n"), "\n")
			if d.Origin.Line > len(lines) || d.Origin.Column < 1 || d.Origin.Column > len([]rune(lines[d.Origin.Line-1]))+1 {
				t.Errorf("%s: the place is outside of the document", d)
			}
		}
	}
}
