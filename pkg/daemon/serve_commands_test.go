package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/control"
	"github.com/netwright/netwright/pkg/reconcile/rollout"
	"github.com/netwright/netwright/pkg/statestore"
)

// asked runs the box's daemon with a socket. It returns a function that sends a request, and a
// channel with the daemon's end.
func (b *box) asked(t *testing.T) (ask func(control.Request) (control.Event, error), ended <-chan error) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	opt := b.daemon.Pass.Host
	var err error
	if b.daemon.Control, err = control.Listen(opt, "v1", zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	served, ran := make(chan error, 1), make(chan error, 1)
	go func() { served <- b.daemon.Control.Serve(ctx) }()
	go func() { ran <- b.daemon.Run(ctx) }()
	t.Cleanup(func() {
		stop(errors.New("the test ends"))
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return func(req control.Request) (control.Event, error) {
		t.Helper()
		c, err := control.Dial(t.Context(), opt, "v1")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.Do(t.Context(), req, func(e control.Event) {
			if e.Event == control.Note {
				b.notes = append(b.notes, e.Text)
			}
		})
	}, ran
}

// Passes for commands are like the daemon's own. They repair, hold and release the node, and the
// service manager hears of them. The last command ends the daemon. The lines that keep it:
// serve_commands.go, each case; loop.go, publish.
func TestTurnsForOthers(t *testing.T) {
	b := newBox(t)
	b.daemon.Target = control.Target{Store: "/srv/a", Node: "node-1"}
	ask, ended := b.asked(t)
	last, err := ask(control.Request{Command: control.Once, Target: control.Target{Node: "node-1"}})
	if err != nil || last.Plan == nil || last.Plan.Network != "bridge" {
		t.Fatalf("once: %+v %v", last.Plan, err)
	}
	if _, err := os.Stat(b.root + conflist); err != nil {
		t.Error(err)
	}
	if _, err := ask(control.Request{Command: control.Once, Target: control.Target{Store: "/srv/b"}}); err == nil || !strings.Contains(err.Error(), `the store "/srv/a", and this command names "/srv/b"`) {
		t.Errorf("another store: %v", err)
	}

	if last, err = ask(control.Request{Command: control.Rollback, Revision: 1, By: "alice"}); err != nil || last.Plan == nil || last.Plan.Pinned != "held at revision 1 by alice" {
		t.Errorf("rollback: %+v %v", last.Plan, err)
	}
	if said := b.manager.last(t).text; !strings.Contains(said, "held at revision 1 by alice") {
		t.Errorf("the service manager was told %q", said)
	}
	if err := os.Rename(b.store, b.store+".gone"); err != nil {
		t.Fatal(err)
	}
	if last, err = ask(control.Request{Command: control.Once}); err != nil || last.Plan == nil || last.Plan.Summary.Changes() != 0 {
		t.Errorf("once while held and without a store: %+v %v", last.Plan, err)
	}
	if said := strings.Join(b.notes, "\n"); !strings.HasSuffix(said, "; the agent goes on, because the node is held at a revision") {
		t.Errorf("once while held says %q", said)
	}
	if last, err = ask(control.Request{Command: control.Resume}); err != nil || last.Text != "held at revision 1 by alice" {
		t.Errorf("resume: %+v %v", last, err)
	}
	if last, err = ask(control.Request{Command: control.Once}); err == nil || last.Plan == nil || !strings.Contains(err.Error(), "fetch the configuration") {
		t.Errorf("once without a store is what is known made right, and an error: %+v %v", last.Plan, err)
	}
	if _, err = ask(control.Request{Command: "dance"}); err == nil || !strings.Contains(err.Error(), `no command "dance"`) {
		t.Errorf("a command of later: %v", err)
	}
	if _, err := ask(control.Request{Command: control.Stop}); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil || b.manager.last(t).what != "stopping" {
		t.Errorf("stopped: %v, and %q was said last", err, b.manager.last(t).what)
	}
}

// remembering is a store that notes at each fetch whether its records may be trusted.
type remembering struct {
	statestore.Store
	memory   rollout.StoreCache
	believes []bool
}

func (r *remembering) Remember(m statestore.Cache) { r.memory, _ = m.(rollout.StoreCache) }

func (r *remembering) Fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	r.believes = append(r.believes, !r.memory.Host.Verify)
	return r.Store.Fetch(ctx, last)
}

// --verify beside the daemon trusts no record of the store and the host in this one pass. The line
// that keeps it: serve_commands.go, serveOnce (remember).
func TestVerifyBesideTheDaemon(t *testing.T) {
	b := newBox(t)
	store := &remembering{Store: b.daemon.Store}
	b.daemon.Store = store
	if err := b.daemon.Pass.Remember(store); err != nil {
		t.Fatal(err)
	}
	ask, ended := b.asked(t)
	for _, verify := range []bool{false, true, false} {
		if _, err := ask(control.Request{Command: control.Once, Verify: verify}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ask(control.Request{Command: control.Stop}); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	// The daemon's own first pass may come before or between these.
	if got := fmt.Sprint(store.believes); !slices.Contains([]string{"[true true false true]", "[true false true]", "[true false true true]"}, got) {
		t.Errorf("believed at each fetch: %s", got)
	}
}
