package torture

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fuzzer is one fuzz target. It reads what comes from outside.
type fuzzer struct{ dir, name, reads string }

var fuzzers = []fuzzer{
	{"pkg/config", "FuzzLoad", "documents"},
	{"pkg/config", "FuzzAgentFile", "the agent's file"},
	{"pkg/config/document", "FuzzQuick", "plain YAML"},
	{"pkg/host/hostfs", "FuzzUnpack", "archives"},
	{"pkg/inflate", "FuzzInflate", "what gzip packed, against compress/gzip"},
	{"pkg/inbound", "FuzzDatagrams", "what another machine sends to the port of peers"},
	{"pkg/host/facts", "FuzzFacts", "os-release, units, the runtime's and kubelet's files"},
	{"pkg/ledger", "FuzzJournal", "the ledger's journal"},
	{"pkg/ledger", "FuzzMemory", "stamps, owed effects"},
	{"pkg/statestore/manifest", "FuzzParseManifest", "manifests"},
	{"pkg/statestore/trust", "FuzzCheck", "manifests before they are trusted"},
	{"pkg/statestore/trust", "FuzzSplit", "signed manifests"},
	{"pkg/tasks", "FuzzConf", "CNI confs"},
	{"pkg/tomledit", "FuzzTOML", "the runtime's TOML"},
}

// The list has every fuzz target of the tree, and `make torture` runs them all.
func TestEveryFuzzerIsRun(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	var found []string
	files, err := filepath.Glob("../../*/*/*_test.go")
	deeper, err2 := filepath.Glob("../../*/*/*/*_test.go")
	if err := cmp.Or(err, err2); err != nil || len(files) == 0 {
		t.Fatal("no tests found", err)
	}
	for _, file := range append(files, deeper...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			found = append(found, strings.TrimPrefix(filepath.Dir(file), "../../")+" "+m[1])
		}
	}
	var listed []string
	for _, f := range fuzzers {
		listed = append(listed, f.dir+" "+f.name)
	}
	slices.Sort(found)
	slices.Sort(listed)
	if !slices.Equal(found, listed) {
		t.Errorf("fuzz targets in the tree:\n%s\nin the list:\n%s", strings.Join(found, "\n"), strings.Join(listed, "\n"))
	}
}

// Each fuzzer runs for NETWRIGHT_FUZZTIME (`make torture FUZZTIME=10m`), with one worker. As many
// run at once as there are processors. In a short run, `go test` runs only their seeds.
func TestFuzzers(t *testing.T) {
	t.Parallel()
	if !full {
		t.Skip("runs in `make torture`; `go test` runs the seeds where the fuzzers are")
	}
	executions := regexp.MustCompile(`execs: (\d+)`)
	for _, f := range fuzzers {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), "go", "test", "-parallel=1", "-run=^$", "-fuzz=^"+f.name+"$", "-fuzztime="+cmp.Or(os.Getenv("NETWRIGHT_FUZZTIME"), "10m"), "./"+f.dir)
			cmd.Dir = "../.."
			out, err := cmd.CombinedOutput()
			lost := 0
			if err != nil {
				lost = 1
				t.Errorf("%v\n%s", err, out)
			}
			tried := 0
			if all := executions.FindAllStringSubmatch(string(out), -1); len(all) > 0 {
				for _, digit := range all[len(all)-1][1] {
					tried = 10*tried + int(digit-'0')
				}
			}
			report(t, "fuzz: "+strings.TrimPrefix(f.name, "Fuzz"), tried, lost, "%s", f.reads)
		})
	}
}

// Each fuzz target begins with inputs that a person chose. They are committed, so that every `go
// test` tries them.
func TestEveryFuzzerHasACorpus(t *testing.T) {
	t.Parallel()
	for _, f := range fuzzers {
		seeds, err := filepath.Glob(filepath.Join("../..", f.dir, "testdata/fuzz", f.name, "*"))
		if err != nil || len(seeds) < 5 {
			t.Errorf("%s has %d seeds below testdata/fuzz (%v)", f.name, len(seeds), err)
		}
	}
}
