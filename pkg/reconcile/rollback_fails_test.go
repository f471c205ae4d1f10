package reconcile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// A rollback that ends with an error holds no revision: what it did not do is not done later. The
// lines that keep it: rollback.go, Rollback (aborted); pkg/ledger/pin.go.
func TestARollbackThatFailsHasNoLaterEffect(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	one, two := wanting(file("/etc/a", "1")), wanting(file("/etc/a", "2"))
	one.Snapshot.Digest, two.Snapshot.Digest = "d1", "d2"
	for _, d := range []*desired.State{one, two} {
		if _, err := onRoot(root).Converge(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	held := func() bool {
		_, head, _ := entriesOf(t, root)
		return head.Pin != nil
	}
	hostroot.Put(t, root, checkpoint.VerdictFile,
		`{"generation":1,"digest":"d1","bad":true,"why":"tcp:x","tries":1,"at":"2026-11-21T12:00:00Z"}`)
	if _, err := onRoot(root).Rollback(t.Context(), 1); err == nil || held() {
		t.Errorf("of a rollback to what is held back: %v; the node is held: %v", err, held())
	}
	if err := os.Remove(root + checkpoint.VerdictFile); err != nil {
		t.Fatal(err)
	}
	if _, err := onRoot(root).Converge(t.Context(), two); err != nil || hostroot.Read(t, root, "/etc/a") != "2" {
		t.Errorf("the pass after it: %v, /etc/a is %q", err, hostroot.Read(t, root, "/etc/a"))
	}
	if _, err := onRoot(root).Rollback(t.Context(), 1); err != nil || !held() || hostroot.Read(t, root, "/etc/a") != "1" {
		t.Errorf("a rollback that can be made: %v; held: %v", err, held())
	}
}

// Where the ledger cannot be written, the pin is not written either, since it comes last. The line
// that keeps it: pkg/ledger/pin.go, durable.
func TestARollbackWithoutRoomHasNoLaterEffect(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	mustConverge(t, root, file("/etc/a", "2"))
	hostroot.Put(t, root, "/etc/a", "a person's") // the agent must keep its content before the change: a blob
	blobs := root + "/var/lib/netwright/blobs"
	if err := os.Rename(blobs, blobs+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blobs, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := onRoot(root).Rollback(t.Context(), 1); err == nil {
		t.Fatal("no error")
	}
	if err := os.Remove(blobs); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(blobs+"-away", blobs); err != nil {
		t.Fatal(err)
	}
	if _, head, _ := entriesOf(t, root); head.Pin != nil {
		t.Error("the node is held at a revision that it was not brought to")
	}
	if mustConverge(t, root, file("/etc/a", "2")); hostroot.Read(t, root, "/etc/a") != "2" {
		t.Errorf("/etc/a is %q", hostroot.Read(t, root, "/etc/a"))
	}
}

// Only an error that is more than the failure of a task aborts a pass. The line that keeps it:
// rollback.go, aborted.
func TestAborted(t *testing.T) {
	task := func(err error) error { return &changes.RunError{Err: fmt.Errorf("file:/etc/a: %w", err)} }
	for err, want := range map[error]bool{
		task(errors.New("no such user")):                           false,
		task(&checkpoint.RefusedError{Err: errors.New("no room")}): true,
		task(context.Canceled):                                     true,
		errors.New("write the ledger"):                             true,
		&checkpoint.UndoneError{}:                                  true,
		errors.Join(task(errors.New("x")), errors.New("more")):     true,
	} {
		if got := aborted(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	if aborted(nil) {
		t.Error("a pass that went well was aborted")
	}
}
