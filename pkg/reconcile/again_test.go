package reconcile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// letGo makes the ledger let go of a file in one of these ways, and still remember it for a reset.
// At the end no document wants the file, and a person has removed it.
func letGo(t *testing.T, how string) (root string) {
	t.Helper()
	needs.Root(t) // files belong to root
	root = t.TempDir()
	remove := func() {
		t.Helper()
		if err := os.Remove(filepath.Join(root, "etc/a")); err != nil {
			t.Fatal(err)
		}
	}
	switch how {
	case "of another owner, repaired by the agent":
		hostroot.Put(t, root, "/etc/a", "somebody's")
		mustConverge(t, root, file("/etc/a", "1"))
		mustConverge(t, root, file("/etc/b", "1"))
		remove()
	case "of another owner, repaired by the agent, removed while wanted":
		hostroot.Put(t, root, "/etc/a", "somebody's")
		mustConverge(t, root, file("/etc/a", "1"))
		remove()
		mustConverge(t, root, file("/etc/b", "1"))
	case "of another owner, the agent is killed before the repair":
		hostroot.Put(t, root, "/etc/a", "somebody's")
		die(t, root, []tasks.Task{file("/etc/a", "1"), file("/etc/b", "1")}, true)
		remove()
		mustConverge(t, root, file("/etc/b", "1"))
	case "of the agent, changed by another program":
		mustConverge(t, root, file("/etc/a", "1"))
		hostroot.Put(t, root, "/etc/a", "somebody's")
		mustConverge(t, root, file("/etc/b", "1"))
		remove()
	default:
		t.Fatalf("no such way: %s", how)
	}
	return root
}

var waysToLetGo = []string{
	"of another owner, repaired by the agent", "of another owner, repaired by the agent, removed while wanted",
	"of another owner, the agent is killed before the repair", "of the agent, changed by another program",
}

// The line that keeps it: pkg/reconcile/ownership/intend.go, intent (again).
func TestWhatIsMadeAgainAfterItWasLetGoIsOurs(t *testing.T) {
	for _, how := range waysToLetGo {
		t.Run(how, func(t *testing.T) {
			t.Run("pruned", func(t *testing.T) {
				root := letGo(t, how)
				mustConverge(t, root, file("/etc/a", "2"))
				if p := mustConverge(t, root, file("/etc/b", "1")); hostroot.There(root, "/etc/a") {
					t.Errorf("we made it, nobody wants it, and it stays:\n%s", said(p))
				}
			})
			t.Run("pruned after a kill", func(t *testing.T) {
				root := letGo(t, how)
				die(t, root, []tasks.Task{file("/etc/a", "2")}, false)
				if p := mustConverge(t, root, file("/etc/b", "1")); hostroot.There(root, "/etc/a") {
					t.Errorf("we made it, nobody wants it, and it stays:\n%s", said(p))
				}
			})
			t.Run("reset", func(t *testing.T) {
				root := letGo(t, how)
				mustConverge(t, root, file("/etc/a", "2"))
				if p, err := resetOf(onRoot(root)).Run(t.Context()); err != nil || hostroot.There(root, "/etc/a") {
					t.Errorf("err = %v; a reset left what we made, or brought back what a person had removed:\n%s", err, said(p))
				}
			})
		})
	}
}

// The lines that keep it: pkg/reconcile/ownership/ledger_entries.go, again (what is there stays as
// it was entered) and overtaken.
func TestWhatAPersonMakesAgainAfterItWasLetGoIsTheirs(t *testing.T) {
	for _, how := range waysToLetGo {
		t.Run(how, func(t *testing.T) {
			t.Run("repaired by the agent", func(t *testing.T) {
				root := letGo(t, how)
				hostroot.Put(t, root, "/etc/a", "made again")
				mustConverge(t, root, file("/etc/a", "2"))
				if p := mustConverge(t, root, file("/etc/b", "1")); !hostroot.There(root, "/etc/a") {
					t.Errorf("a person's file was removed:\n%s", said(p))
				}
			})
			t.Run("after a kill before the repair", func(t *testing.T) {
				root := letGo(t, how)
				die(t, root, []tasks.Task{file("/etc/a", "2")}, true)
				hostroot.Put(t, root, "/etc/a", "made again")
				mustConverge(t, root, file("/etc/a", "2"))
				if p := mustConverge(t, root, file("/etc/b", "1")); !hostroot.There(root, "/etc/a") {
					t.Errorf("a person's file was removed:\n%s", said(p))
				}
			})
		})
	}
}

// The line that keeps it: pkg/reconcile/ownership/ledger_entries.go, Altered.
func TestAResetDoesNotBringBackWhatAPersonRemoved(t *testing.T) {
	for _, how := range waysToLetGo {
		t.Run(how, func(t *testing.T) {
			root := letGo(t, how)
			if p, err := resetOf(onRoot(root)).Run(t.Context()); err != nil || hostroot.There(root, "/etc/a") {
				t.Errorf("err = %v, /etc/a there: %v\n%s", err, hostroot.There(root, "/etc/a"), said(p))
			}
		})
	}
	t.Run("killed before the repair, and then nothing", func(t *testing.T) {
		needs.Root(t) // files belong to root
		root := t.TempDir()
		hostroot.Put(t, root, "/etc/a", "somebody's")
		die(t, root, []tasks.Task{file("/etc/a", "1")}, true)
		if err := os.Remove(filepath.Join(root, "etc/a")); err != nil {
			t.Fatal(err)
		}
		if p, err := resetOf(onRoot(root)).Run(t.Context()); err != nil || hostroot.There(root, "/etc/a") {
			t.Errorf("err = %v, /etc/a there: %v\n%s", err, hostroot.There(root, "/etc/a"), said(p))
		}
	})
}
