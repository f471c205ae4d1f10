package reconcile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
)

// Where the ledger cannot be written, the agent begins nothing new and removes nothing. It restores
// what was right, also what a boot removed, so that kubelet does not wait. It says READY only for
// changes that it made. The lines that keep it: ledger_unwritable.go, restoreOnly; carry_out.go,
// carryOut; pkg/reconcile/changes/prepared.go, Prepared.
func TestWhatCannotBeWrittenDownHoldsNoRepairBack(t *testing.T) {
	root := t.TempDir()
	boot := func(id string) { hostroot.Put(t, root, "/proc/sys/kernel/random/boot_id", id+"\n") }
	boot("one")
	all := []tasks.Task{file("/etc/a", "1"), file("/etc/b", "1"), file("/etc/goes", "1"), file("/run/x", "1")}
	mustConverge(t, root, all...)
	hostroot.Seal(t, root, true)
	t.Cleanup(func() { hostroot.Seal(t, root, false) })

	boot("two")
	hostroot.Put(t, root, "/etc/a", "by hand")
	if err := os.Remove(filepath.Join(root, "/run/x")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second pass finds all right
		p, err := converge(t, root, all...)
		if contentOf(t, root, "/etc/a") != "1" || contentOf(t, root, "/run/x") != "1" || !changes.Prepared(p) {
			t.Fatalf("a right file is not restored: prepared %t, %v\n%s", changes.Prepared(p), err, said(p))
		}
	}

	hostroot.Put(t, root, "/etc/a", "by hand")
	changed := []tasks.Task{file("/etc/a", "1"), file("/etc/b", "2"), file("/run/x", "1"), file("/etc/new", "1")}
	p, err := converge(t, root, changed...)
	var unwritten *UnwrittenError
	if !errors.As(err, &unwritten) || !errors.As(changes.BesidesTasks(err), &unwritten) || !strings.Contains(err.Error(), "write the ledger") {
		t.Errorf("the error is %v", err)
	}
	if contentOf(t, root, "/etc/a") != "1" {
		t.Error("a right file is not restored beside a new one")
	}
	if contentOf(t, root, "/etc/b") != "1" || hostroot.There(root, "/etc/new") || !hostroot.There(root, "/etc/goes") {
		t.Error("a change that cannot be recorded was made")
	}
	for _, key := range []string{"file:/etc/b", "file:/etc/new"} {
		if state := stateOfKey(p, key); state != report.Failed {
			t.Errorf("%s is %s", key, state)
		}
	}
	if changes.Prepared(p) {
		t.Error("prepared, and what was to be made is not")
	}

	hostroot.Seal(t, root, false)
	mustConverge(t, root, changed...)
	if contentOf(t, root, "/etc/b") != "2" || !hostroot.There(root, "/etc/new") || hostroot.There(root, "/etc/goes") {
		t.Error("the change is not made when it can be recorded")
	}
}

// A link that leads to itself is in the place of a file of ours. Only the file at that place fails,
// and everything else is made. The lines that keep it:
// pkg/reconcile/ownership/intend.go, Intend; pkg/reconcile/ownership/removals.go,
// Prune; pkg/reconcile/ownership/commit.go, Commit.
func TestALinkInACircleHoldsNothingElseUp(t *testing.T) {
	unit := func(name string) tasks.Unit {
		return tasks.Unit{Meta: tasks.Meta{From: "test"}, Name: name, Content: []byte("[Service]\nExecStart=/bin/true\n")}
	}
	for what, at := range map[string]string{
		"a file": "/etc/a", "a unit": "/etc/systemd/system/x.service", "a directory on the way": "/etc/deep", "what is no longer wanted": "/etc/goes",
	} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			list := []tasks.Task{file("/etc/a", "1"), file("/etc/deep/down", "1"), unit("x.service"), tasks.EffectOf(tasks.DaemonReload), file("/etc/other", "1")}
			mustConverge(t, root, append(list, file("/etc/goes", "1"), file("/etc/gone", "1"))...)
			path := filepath.Join(root, at)
			if err := errors.Join(os.RemoveAll(path), os.Symlink(filepath.Base(at), path)); err != nil {
				t.Fatal(err)
			}
			hostroot.Put(t, root, "/etc/other", "by hand")
			p, err := converge(t, root, append(list, file("/etc/new", "1"))...)
			if contentOf(t, root, "/etc/other") != "1" || !hostroot.There(root, "/etc/new") {
				t.Errorf("the rest is not kept right: %v", err)
			}
			if at == "/etc/deep" && (err == nil || stateOfKey(p, "file:/etc/deep/down") != report.Failed) {
				t.Errorf("the file that cannot be made is not reported: %v", err)
			}
		})
	}
}
