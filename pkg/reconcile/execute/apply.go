package execute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/reconcile/starts"
	"github.com/netwright/netwright/pkg/tasks"
)

// Options are how a graph is made so.
type Options struct {
	Log       *zap.Logger
	Judge     *drift.Judge        // of what is planned; nil: nothing of it is drift
	Refused   map[graph.Key]error // tasks whose change is not made, by first key
	Admission Admission           // nil: nothing needs one
	// Unwritten says that the pass only brings back what was right, since nothing can be written
	// down.
	Unwritten  bool
	Generation int64 // of the documents that the pass works towards, for the log
	Hooks      Hooks
	Prefetches Prefetches // archives that are fetched already
	// Fresh says that the plan was made just now: it holds until something is changed.
	Fresh bool
}

// Admission hears of each change before it is made; its error keeps it from being made. waited says
// that it took its time, as an undo does that is armed first: the host may be another by then.
type Admission interface {
	Before(ctx context.Context, t tasks.Task, c *tasks.Change) (waited bool, err error)
}

// Hooks tell a caller how it goes on. All may be nil; they must be quick.
type Hooks struct {
	// OnStart and OnDone frame the work on a key that changes.
	OnStart func(graph.Key)
	OnDone  func(graph.Key, graph.State)
	// OnRetry hears why a key will be tried again, and after which pause.
	OnRetry func(key graph.Key, why error, pause time.Duration)
}

// applier makes a plan so.
type applier struct {
	Options
	host    *host.Host
	ledger  *ledger.Ledger
	planned *changes.Set
	done    *changes.Set
	asked   *host.Pending
	view    host.View // the host as it is, with the effects that were asked for
	// unaffected are the tasks, by their first keys, that are right and that no change of the run
	// touches.
	unaffected map[graph.Key]bool
}

// atOnce is how many tasks are applied at a time, besides downloads. Most of them wait: for
// systemd, or for the disk, to which one commit of the file system brings all that is synced
// meanwhile.
const atOnce = 16

// Apply makes what was planned so, as a dataflow. What is owed is written down
// before the first change, so that a restart survives a kill between a rename
// and the restart that it needs. Without how each task's plan ended every task is looked at again.
// gone is what this run removes at its end.
func Apply(
	ctx context.Context, plan changes.Work, h *host.Host, led *ledger.Ledger, o Options, gone ...host.Fact,
) (changes.Work, error) {
	g, planned := plan.Graph, plan.Changes
	a := &applier{Options: o, host: h, ledger: led, planned: planned, done: changes.NewSet(),
		asked: host.NewPending(led.Effects.List())}
	a.asked.Add(gone...)
	a.view = a.asked.Over(h.Live.View())
	a.done.Repairs = planned.Repairs
	a.unaffected = unaffected(plan, o.Refused)
	before := led.Effects.List()
	enqueue(led, planned)
	if err := led.Effects.Save(ctx, h.Files); err != nil && !o.Unwritten {
		return changes.Work{}, err
	}
	// A download needs no processor: it goes on while the checkpoint is taken, beside the rest.
	fetches := 0
	for _, t := range g.Order() {
		if a.fetches(t) {
			fetches++
		}
	}
	rep := graph.Run(ctx, g, graph.RunOptions{
		Limit:    atOnce + fetches,
		First:    a.fetches,
		Deadline: ApplyDeadline,
		Retry:    graph.Backoff{First: 200 * time.Millisecond, Max: 5 * time.Second, Attempts: 5},
		OnStart:  a.started,
		OnRetry:  a.retried,
		OnDone:   a.finished,
	}, a.visit)
	cancelUntried(led, planned, a.done, before)
	return changes.Work{Graph: g, Changes: a.done, Rep: rep}, nil
}

// fetches says that a node is an archive that changes.
func (a *applier) fetches(n graph.Node) bool {
	return isArchive(n) && a.planned.Get(n.Owns()[0]) != nil
}

// enqueue notes what the planned changes will ask for.
func enqueue(led *ledger.Ledger, planned *changes.Set) {
	for key, c := range planned.ByKey {
		if c.NotApplicable == "" {
			for _, effect := range c.Effects {
				led.Effects.Enqueue(string(effect), string(key))
			}
		}
	}
}

// cancelUntried takes back what was noted for changes that were not tried after all.
// What an earlier run owed stays owed.
func cancelUntried(led *ledger.Ledger, planned, done *changes.Set, before map[string][]string) {
	for key, c := range planned.ByKey {
		if done.Get(key) != nil {
			continue
		}
		for _, effect := range c.Effects {
			if !slices.Contains(before[string(effect)], string(key)) {
				led.Effects.Cancel(string(effect), string(key))
			}
		}
	}
}

// visit converges what a change of the run may touch. The rest was looked at by the plan.
func (a *applier) visit(ctx context.Context, t tasks.Task) error {
	key := t.Owns()[0]
	if !a.unaffected[key] {
		return a.converge(ctx, t)
	}
	if c := a.planned.Get(key); c != nil { // it is listed, and never set here
		a.done.Put(key, c)
	}
	return nil
}

// converge plans a task again just before its apply, applies it, and plans it once more: only what
// then has nothing left to change is done. Between the plan and the apply nothing is waited for:
// after the checkpoint was armed the task is planned again.
func (a *applier) converge(ctx context.Context, t tasks.Task) error {
	key := t.Owns()[0]
	c, err := a.look(ctx, t)
	if err != nil {
		return err
	}
	if c == nil {
		a.planned.Repairs.Over(key)
		a.ackEffect(key)
		return nil
	}
	if c.NotApplicable != "" {
		a.done.Put(key, c)
		return nil
	}
	if l := a.planned.Repairs.Later(key); l != nil {
		return l.End()
	}
	if why := a.Refused[key]; why != nil {
		return why
	}
	planned := a.planned.Get(key)
	if planned != nil {
		c.Proof = planned.Proof
	}
	if planned == nil {
		if err := fetch.StillLate(ctx, a.view, t); err != nil {
			return err
		}
	}
	if planned == nil && a.disturbed(t) {
		return t.Apply(ctx, a.host, c) // as it was when the pass began: no change
	}
	if err := within(key, c, planned); err != nil {
		return err
	}
	a.Judge.Spare(ctx, t, c)
	if a.Admission != nil {
		waited, err := a.Admission.Before(ctx, t, c)
		if err != nil {
			return graph.Permanent(err)
		}
		if waited {
			return a.converge(ctx, t)
		}
	}
	for _, effect := range c.Effects {
		a.asked.Ask(string(effect), string(key))
	}
	a.done.Put(key, c)
	if err := a.try(ctx, t); err != nil {
		return err
	}
	if err := a.apply(ctx, t, c); err != nil {
		return err
	}
	a.ackEffect(key)
	left, err := changes.PlanWithRetry(ctx, t, a.view)
	_, begins := starts.StartOf(t)
	switch {
	case begins && graph.IsWait(err): // see awaitStarts
		return nil
	case err != nil:
		return fmt.Errorf("look again after the change: %w", err)
	case left != nil && left.NotApplicable == "":
		if err := starts.FailedStart(ctx, a.host.Live.View(), t); err != nil {
			return err
		}
		if l := a.Judge.Quicker(t, left); l != nil && !begins {
			return l.End()
		}
		return graph.Permanent(&changes.NotConvergedError{Key: key, Reason: left.Reason})
	}
	return nil
}

// look plans a task again.
func (a *applier) look(ctx context.Context, t tasks.Task) (*tasks.Change, error) {
	if a.Fresh && !a.done.Any() {
		return a.planned.Get(t.Owns()[0]), nil
	}
	return changes.PlanTask(ctx, t, a.view)
}

// apply applies a task, with what was fetched of it.
func (a *applier) apply(ctx context.Context, t tasks.Task, c *tasks.Change) error {
	if fetched := a.Prefetches[t.Owns()[0]]; fetched != nil {
		return fetched.Apply(ctx, a.host)
	}
	return t.Apply(ctx, a.host, c)
}

// disturbed says that t is a sysctl, and that this pass wrote another before it that may change it:
// ip_forward resets accept_redirects, a default reaches the links (pkg/tasks/sysctl_resets.go).
func (a *applier) disturbed(t tasks.Task) bool {
	ours := func(k graph.Key) bool { return k.Kind() == tasks.KindSysctl }
	return ours(t.Owns()[0]) && slices.ContainsFunc(tasks.NeedsOf(t), func(k graph.Key) bool {
		c := a.done.Get(k)
		return ours(k) && c != nil && c.NotApplicable == ""
	})
}

// ackEffect notes that an effect was done, or that nobody asked for it after all.
func (a *applier) ackEffect(key graph.Key) {
	if key.Kind() == tasks.KindEffect {
		a.asked.Ack(string(key))
		a.ledger.Effects.Ack(string(key))
	}
}

func (a *applier) started(n graph.Node) {
	if c := a.planned.Get(n.Owns()[0]); c != nil && c.NotApplicable == "" && a.Hooks.OnStart != nil {
		a.Hooks.OnStart(n.Owns()[0])
	}
}

func (a *applier) retried(n graph.Node, attempts int, err error, pause time.Duration) {
	key := n.Owns()[0]
	a.Log.Warn("try again", zap.String("key", string(key)), zap.Int("attempts", attempts), zap.Duration("pause", pause),
		zap.Int64("generation", a.Generation), zap.Error(err))
	if a.Hooks.OnRetry != nil {
		a.Hooks.OnRetry(key, err, pause)
	}
}

func (a *applier) finished(res graph.Result[graph.Node]) {
	key := res.Key
	// What failed is told by whoever made the pass: once, and not at every pass.
	if c := a.done.Get(key); res.State == graph.Done && c != nil && c.NotApplicable == "" &&
		a.planned.Repairs.Later(key) == nil {
		word, level := "changed", zap.InfoLevel
		if a.planned.IsRepair(key) {
			word = "repaired"
		}
		if a.planned.Repairs.Contested(key) != nil { // that goes on for ever, and is logged once
			level = zap.DebugLevel
		}
		a.Log.Log(level, word, zap.String("key", string(key)), zap.String("reason", c.Reason),
			zap.String("what", changeText(res.Node, c)), zap.Duration("took", res.Took),
			zap.Int64("generation", a.Generation))
	}
	if a.Hooks.OnDone != nil {
		a.Hooks.OnDone(key, res.State)
	}
}

// changeText says from what to what, in a line of bounded length: "value: 0 → 1". Of secrets it
// says nothing.
func changeText(n graph.Node, c *tasks.Change) string {
	if t, ok := n.(tasks.Task); !ok || t.Base().Secret {
		return ""
	}
	var parts []string
	for _, item := range c.Items {
		for _, f := range item.Fields {
			parts = append(parts, strings.TrimPrefix(fmt.Sprintf("%s: %s → %s", f.Name, cmp.Or(f.Before, "none"),
				cmp.Or(f.After, "none")), ": "))
		}
	}
	const most = 240
	text := []rune(strings.Join(parts, ", "))
	if len(text) > most {
		return string(text[:most]) + " …"
	}
	return string(text)
}

// Deadlines of one attempt at a task.
const (
	planLimit  = 30 * time.Second
	applyLimit = 2 * time.Minute
)

func planDeadline(graph.Node) time.Duration { return planLimit }

// ApplyDeadline is how long one task may take to apply.
func ApplyDeadline(n graph.Node) time.Duration {
	if isArchive(n) {
		return fetch.Limit
	}
	return applyLimit
}

func isArchive(n graph.Node) bool {
	_, is := n.(tasks.Archive)
	return is
}
