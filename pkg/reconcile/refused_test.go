package reconcile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// A file that no document may have fails alone. Everything else is made. What an earlier release
// made of that file stays. kubelet does not wait for it, since kubelet ran before without it. The
// lines that keep it: pkg/reconcile/changes/plan_task.go, PlanTask;
// pkg/reconcile/changes/prepared.go, Prepared; pkg/reconcile/changes/errors.go, Allowed.
func TestWhatIsRefusedFailsAlone(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/netwright/x", "1"), file("/etc/former", "1"))
	refused, other := file("/etc/netwright/x", "2"), file("/etc/other", "2")
	refused.Refused = "that is the agent's own"
	for range 2 {
		plan, err := converge(t, root, refused, other)
		var rule *changes.RefusedError
		if !errors.As(err, &rule) || plan.Summary.Failed != 1 || !strings.Contains(said(plan), "refused: that is the agent's own") {
			t.Fatalf("%v\n%s", err, said(plan))
		}
		if !changes.Prepared(plan) {
			t.Errorf("kubelet is held back:\n%s", said(plan))
		}
		if x, y := hostroot.Read(t, root, "/etc/netwright/x"), hostroot.Read(t, root, "/etc/other"); x != "1" || y != "2" {
			t.Errorf("the files are %q and %q", x, y)
		}
		if _, head, _ := entriesOf(t, root); hostroot.There(root, "/etc/former") || head.Current != 2 || !head.Clean {
			t.Errorf("a file that no document wants stays, or there is no revision: %+v\n%s", head, said(plan))
		}
	}
	if _, err := converge(t, root, other); err != nil || hostroot.Read(t, root, "/etc/netwright/x") != "1" {
		t.Errorf("what is no longer wanted was removed: %v", err)
	}
}

// The documents have a file that the host blocks. It fails alone: the agent reports it, makes
// everything else, and removes what no document wants. kubelet does not wait for it. kubelet waits
// if the network itself needs the file. The lines that keep it: pkg/reconcile/changes/plan_task.go,
// PlanTask; pkg/host/hostpath/error.go, IsBlocked; pkg/reconcile/changes/prepared.go, Prepared;
// pkg/reconcile/changes/errors.go, isolated.
func TestWhatTheHostHoldsFailsAlone(t *testing.T) {
	for name, hold := range map[string]func(t *testing.T, dir string){
		"an immutable file": func(t *testing.T, dir string) {
			hostroot.MakeImmutable(t, dir+"/x", true)
			t.Cleanup(func() { hostroot.MakeImmutable(t, dir+"/x", false) })
		},
		"a read-only file system": func(t *testing.T, dir string) {
			needs.Root(t)
			covered(t, dir, "ro")
		},
		"a directory that is a link to itself": func(t *testing.T, dir string) {
			if err := errors.Join(os.RemoveAll(dir), os.Symlink("lab", dir)); err != nil {
				t.Fatal(err)
			}
		},
		"a directory that leads elsewhere": func(t *testing.T, dir string) {
			if err := errors.Join(os.Rename(dir, dir+".d"), os.Symlink("lab.d", dir)); err != nil {
				t.Fatal(err)
			}
		},
		"a directory that is in the way": func(t *testing.T, dir string) {
			if err := errors.Join(os.Remove(dir+"/x"), os.Mkdir(dir+"/x", 0o755)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, asked := range []bool{true, false} {
				root := t.TempDir()
				held := file("/etc/lab/x", "1")
				if asked {
					held.Why = "fileAssets"
				}
				mustConverge(t, root, held, file("/etc/former", "1"))
				hold(t, filepath.Join(root, "etc/lab"))
				held.Content = []byte("2")
				for range 2 {
					p, err := converge(t, root, held, file("/etc/other", "1"))
					if err == nil || stateOfKey(p, "file:/etc/lab/x") != report.Failed || p.Summary.Failed != 1 || !hostroot.There(root, "/etc/other") {
						t.Fatalf("asked %t: %v\n%s", asked, err, said(p))
					}
					if changes.Prepared(p) != asked || hostroot.There(root, "/etc/former") == asked {
						t.Errorf("asked %t: prepared %t, what nobody wants is there: %t\n%s", asked, changes.Prepared(p), hostroot.There(root, "/etc/former"), said(p))
					}
				}
			}
		})
	}
}

// A revision of an earlier release may have a file that no document may have any more. In a
// rollback it fails alone, as in documents. netwright's own file at that place is made, and so is
// the rest. What the revision does not have is removed. The lines that keep it:
// pkg/reconcile/desired/pinned.go, refuse; pkg/reconcile/changes/errors.go, Allowed.
func TestARevisionHasWhatIsRefusedNoMore(t *testing.T) {
	root := t.TempDir()
	asset := func(path, content string) tasks.Task {
		f := file(path, content)
		f.Why = "fileAssets"
		return f
	}
	hook := func(name, text string) []tasks.Task {
		meta := tasks.Meta{From: "test", Why: "hooks"}
		on := true
		return []tasks.Task{tasks.Unit{Meta: meta, Name: name, Content: []byte(text)}, tasks.UnitState{Meta: meta, Name: name, Enabled: &on}}
	}
	const alias, units = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\nAlias=netwright-undo.service\n", "/etc/systemd/system/"
	settings := tasks.Directory{Meta: tasks.Meta{From: "node default", Why: "our settings"}, Path: "/etc/netwright", Mode: 0o755}
	list := append(hook("dbus.service", "")[1:], hook("netwright-x.service", "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n")...)
	list = append(append(list, hook("y.service", alias)...), settings, asset("/etc/netwright/x", "1"), asset("/etc/passwd", "1"), asset("/etc/a", "1"), asset(units+"z.service", alias))
	mustConverge(t, root, append(list, tasks.EffectOf(tasks.DaemonReload))...)
	mustConverge(t, root, settings, asset("/etc/a", "2"), asset("/etc/later", "2"))
	refused := []string{"/etc/netwright/x", "/etc/passwd", units + "netwright-x.service", units + "y.service", units + "z.service"}
	for _, path := range refused {
		if err := os.RemoveAll(root + path); err != nil {
			t.Fatal(err)
		}
	}
	refused = append(refused, "dbus.service")
	for range 2 {
		p, err := onRoot(root).Rollback(t.Context(), 1)
		var rule *changes.RefusedError
		if !errors.As(err, &rule) || !changes.Prepared(p) || p.Summary.Failed != len(refused) {
			t.Fatalf("%v\n%s", err, said(p))
		}
		for _, name := range refused {
			if hostroot.There(root, name) || !slices.ContainsFunc(p.Steps, func(s report.Step) bool {
				return graph.Key(s.Key).Name() == name && s.Refused == report.RefusedByRule
			}) {
				t.Errorf("%s is not refused:\n%s", name, said(p))
			}
		}
		if hostroot.Read(t, root, "/etc/a") != "1" || hostroot.There(root, "/etc/later") || !hostroot.There(root, "/etc/netwright") {
			t.Errorf("the rest of the revision was not made:\n%s", said(p))
		}
	}
	_, head, _ := entriesOf(t, root)
	if kept := historyOf(t, root); head.Current != 1 || !head.Clean || len(kept) != 2 {
		t.Errorf("the node is at %d of %d revisions, settled: %v", head.Current, len(kept), head.Clean)
	}
}

func historyOf(t *testing.T, root string) []ledger.Revision {
	t.Helper()
	h, err := history.Read(onRoot(root).Host)
	if err != nil {
		t.Fatal(err)
	}
	return h.Revisions
}
