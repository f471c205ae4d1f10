package model

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden plans")

// TestPlans fixes the tasks of each network, for each Kubernetes release, runtime and family that
// makes a difference.
func TestPlans(t *testing.T) {
	for _, s := range scenarios(t, "testdata/plans/*.txtar") {
		t.Run(s.name(), func(t *testing.T) {
			ts, notes, err := Build(s.in)
			if err != nil {
				t.Fatalf("Build: %v", err)
			}
			ordered(t, ts)
			s.compare(t, "want/plan", dump(ts, notes))
		})
	}
}

// TestErrors fixes the text of every error of Build, since users read it.
func TestErrors(t *testing.T) {
	for _, s := range scenarios(t, "testdata/errors/*.txtar") {
		t.Run(s.name(), func(t *testing.T) {
			ts, _, err := Build(s.in)
			if err == nil {
				t.Fatal("Build made a plan of what it should refuse")
			}
			if ts != nil {
				t.Errorf("Build gave %d tasks beside an error: prune would take what is missing for unwanted", len(ts))
			}
			s.compare(t, "want/error", err.Error()+"\n")
		})
	}
}

// TestPlansOnImage plans every task on an empty image. No task may refuse its own parameters. The
// test leaves out certificates, which are no real ones here, and a TOML key, whose file is missing.
func TestPlansOnImage(t *testing.T) {
	view, err := host.OpenView(t.Context(), host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	for _, s := range scenarios(t, "testdata/plans/*.txtar") {
		ts, _, _ := Build(s.in)
		for _, task := range ts {
			switch task.(type) {
			case tasks.CertificateSet, tasks.TOMLKey:
				continue
			}
			if _, err := task.Plan(t.Context(), view.View()); err != nil && !graph.IsWait(err) {
				t.Errorf("%s: %s: Plan returns %v", s.name(), task.Owns()[0], err)
			}
		}
	}
}

// TestSame builds twice: a plan depends only on its input.
func TestSame(t *testing.T) {
	for _, s := range scenarios(t, "testdata/plans/*.txtar") {
		first, notes, _ := Build(s.in)
		again, notes2, _ := Build(s.in)
		if diff := cmp.Diff(dump(first, notes), dump(again, notes2)); diff != "" {
			t.Errorf("%s differs when built again:\n%s", s.name(), diff)
		}
	}
}

func (s *scenario) compare(t *testing.T, name, got string) {
	t.Helper()
	if !*update {
		if diff := cmp.Diff(s.file(name), got); diff != "" {
			t.Errorf("%s differs (-want +got); `go test ./pkg/model -update` writes it:\n%s", s.path, diff)
		}
		return
	}
	for i := range s.archive.Files {
		if s.archive.Files[i].Name == name {
			s.archive.Files[i].Data = []byte(got)
			s.write(t)
			return
		}
	}
	s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: []byte(got)})
	s.write(t)
}

func (s *scenario) write(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(s.path, txtar.Format(s.archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ordered checks what the graph would check: one owner for each key, no cycle, and each wanted
// effect is there.
func ordered(t *testing.T, ts []tasks.Task) {
	t.Helper()
	if _, err := graph.New(ts, tasks.AsNodes{}, graph.Options{Parent: graph.PathParent}); err != nil {
		t.Errorf("the tasks make no graph: %v", err)
	}
}

func BenchmarkBuild(b *testing.B) {
	all := scenarios(b, "testdata/plans/bridge-dual.txtar")
	for b.Loop() {
		if _, _, err := Build(all[0].in); err != nil {
			b.Fatal(err)
		}
	}
}

// TestStable: a node that is as the plan wants gets the same plan again. What a task changes must
// not decide whether the task is wanted, or the agent would apply and remove it by turns.
func TestStable(t *testing.T) {
	for _, s := range scenarios(t, "testdata/plans/*.txtar") {
		before, notes, _ := Build(s.in)
		become(s.in.Facts, before)
		after, notes2, err := Build(s.in)
		if err != nil {
			t.Errorf("%s: Build returns %v", s.name(), err)
		}
		if diff := cmp.Diff(dump(before, notes), dump(after, notes2)); diff != "" {
			t.Errorf("%s differs once it is applied:\n%s", s.name(), diff)
		}
	}
}

// become changes facts as the tasks would change them.
func become(f *host.Facts, ts []tasks.Task) {
	for _, t := range ts {
		switch t := t.(type) {
		case tasks.Link:
			f.Links = append(f.Links, host.LinkFact{Name: t.Name, Kind: t.Kind, MTU: t.MTU - 500, Up: t.Up})
			f.Links = append(f.Links, host.LinkFact{Name: "veth1", Kind: "veth", MTU: t.MTU - 500, Up: true, Master: t.Name})
		case tasks.Address:
			for i := range f.Links {
				if f.Links[i].Name == t.Link {
					f.Links[i].Addresses = append(f.Links[i].Addresses, t.Prefix)
				}
			}
		case tasks.Module:
			if f.Kernel.ModuleStates[t.Name] == kernel.ModuleLoadable {
				f.Kernel.ModuleStates[t.Name] = kernel.ModuleLoaded
			}
		case tasks.TOMLKey:
			told(f, t.Key, t.Value)
		case tasks.File:
			if strings.Contains(t.Path, "50-netwright") {
				toldByFile(&f.Runtime, string(t.Content))
			}
		}
	}
}

// toldByFile applies a drop-in file of ours to a runtime's settings.
func toldByFile(rt *host.RuntimeFacts, text string) {
	if strings.Contains(text, "/srv/cni/net.d") {
		rt.ConfDir = "/srv/cni/net.d"
	}
	switch {
	case strings.Contains(text, "bin_dirs = "), strings.Contains(text, "plugin_dirs = "):
		rt.BinDirs = append([]string{"/srv/cni/bin"}, rt.BinDirs...)
	case strings.Contains(text, "bin_dir = "):
		rt.BinDirs = []string{"/srv/cni/bin"}
	}
	for _, key := range []string{"bin_dir", "bin_dirs"} {
		if strings.Contains(text, "\n"+key+" = ") {
			rt.BinDirKey = key
		}
	}
}

func told(f *host.Facts, key string, value any) {
	switch key {
	case "conf_dir":
		f.Runtime.ConfDir = value.(string)
	case "bin_dir":
		f.Runtime.BinDirs, f.Runtime.BinDirKey = []string{value.(string)}, "bin_dir"
	case "conf_template":
		f.Runtime.ConfTemplate = value.(string)
	}
}
