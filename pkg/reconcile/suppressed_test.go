package reconcile

import (
	"errors"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// A generation that cut the node off is not applied again, and the plan says so before. Where it
// would change nothing it is no error. Another generation is applied. The lines that keep it:
// take_checkpoint.go, suppressed; carry_out.go, carryOut (suppressed); retain_last_revision.go,
// annotate.
func TestABadGenerationIsNotAppliedAgain(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	hostroot.Put(t, root, checkpoint.VerdictFile, `{"generation":7,"digest":"d7","bad":true,"why":"tcp:x (no answer)","tries":1,"at":"2026-11-21T12:00:00Z"}`)
	pass := func(digest, content string, do func(Pass, *desired.State) error) (said string) {
		t.Helper()
		d := wanting(file("/etc/a", content), file("/etc/b", content))
		d.Snapshot.Generation, d.Snapshot.Digest = 7, digest
		if err := do(onRoot(root), d); err != nil {
			var held *checkpoint.SuppressedError
			if !errors.As(err, &held) {
				t.Fatalf("got %v, want a SuppressedError", err)
			}
			return err.Error()
		}
		return ""
	}
	converge := func(p Pass, d *desired.State) error {
		plan, err := p.Converge(t.Context(), d)
		if err != nil && (plan.Summary.Changes() > 0 || !strings.Contains(said(plan), "is bad: probe tcp:x")) {
			t.Errorf("the plan of what is held back:\n%s", said(plan))
		}
		return err
	}
	pass("d7", "2", func(p Pass, d *desired.State) error {
		plan, err := p.DryRun(t.Context(), d)
		if err != nil || !strings.Contains(said(plan), "generation 7 is bad: probe tcp:x") {
			t.Errorf("a dry run: %v\n%s", err, said(plan))
		}
		return nil
	})
	if why := pass("d7", "2", converge); !strings.Contains(why, "generation 7 is bad") || hostroot.Read(t, root, "/etc/a") != "1" || hostroot.There(root, "/etc/b") {
		t.Errorf("held: %q, /etc/a is %q", why, hostroot.Read(t, root, "/etc/a"))
	}
	if why := pass("d8", "2", converge); why != "" || hostroot.Read(t, root, "/etc/a") != "2" || hostroot.Read(t, root, "/etc/b") != "2" {
		t.Errorf("the next generation: %q, /etc/a is %q", why, hostroot.Read(t, root, "/etc/a"))
	}
	if why := pass("d7", "2", converge); why != "" {
		t.Errorf("where nothing changes: %q", why)
	}
}

// Other programs use a directory of ours. The agent releases it: the directory stays, and later
// passes neither change nor report it. The line that keeps it:
// pkg/reconcile/ownership/commit.go, commitRemoved (Released).
func TestADirectoryThatOthersUseIsLetGo(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/ours/a", "1"))
	hostroot.Put(t, root, "/etc/ours/theirs", "x")
	mustConverge(t, root)
	p := mustConverge(t, root)
	_, head, _ := entriesOf(t, root)
	if hostroot.There(root, "/etc/ours/a") || !hostroot.There(root, "/etc/ours/theirs") || len(p.Steps)+len(p.Notes) > 0 || !head.Clean {
		t.Errorf("settled: %v\n%s", head.Clean, said(p))
	}
}
