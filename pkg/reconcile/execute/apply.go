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

// Options say how a plan is applied.
type Options struct {
	Log       *zap.Logger
	Judge     *drift.Judge        // judges the planned changes; nil: none of them is drift
	Refused   map[graph.Key]error // by first key: tasks whose change is not made, with the reason
	Admission Admission           // nil: no change needs one
	// Unwritten means that nothing can be recorded, so that the pass makes only repairs.
	Unwritten  bool
	Generation int64 // the generation of the documents that the pass works towards, for the log
	Hooks      Hooks
	Prefetches Prefetches // archives whose download has begun
	// Fresh means that the plan was made just now. It holds until something is changed.
	Fresh bool
}

// Admission is asked before each change. An error refuses the change. waited means that the answer
// took time, for example because an undo was armed first, so the host may have changed meanwhile.
type Admission interface {
	Before(ctx context.Context, t tasks.Task, c *tasks.Change) (waited bool, err error)
}

// Hooks tell the caller about the progress of a run. Each may be nil, and each must return quickly.
type Hooks struct {
	// OnStart and OnDone are called before and after the work on a key that changes.
	OnStart func(graph.Key)
	OnDone  func(graph.Key, graph.State)
	// OnRetry receives why a key is tried again, and after which pause.
	OnRetry func(key graph.Key, why error, pause time.Duration)
}

// applier applies a plan.
type applier struct {
	Options
	host    *host.Host
	ledger  *ledger.Ledger
	planned *changes.Set
	done    *changes.Set
	asked   *host.Pending
	view    host.View // the host as it is, with the effects that were asked for
	// unaffected has the tasks, by their first keys, that are right and that no change of the run
	// can affect.
	unaffected map[graph.Key]bool
}

// atOnce is how many tasks are applied at the same time, besides downloads. Most of them wait: for
// systemd, or for the disk, where one commit of the file system writes all that was synced
// meanwhile.
const atOnce = 16

// Apply applies a plan in the order of its graph. It records the pending effects before the first
// change, so that a kill between a rename and the restart that it needs does not lose the restart.
// If the plan has no result for a task, the task is looked at again. gone is what this run removes
// at its end.
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
	// A download needs no processor, so it runs beside the other tasks while the checkpoint is
	// taken.
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

// fetches reports whether a task is an archive that changes.
func (a *applier) fetches(n graph.Node) bool {
	return isArchive(n) && a.planned.Get(n.Owns()[0]) != nil
}

// enqueue records the effects that the planned changes will ask for.
func enqueue(led *ledger.Ledger, planned *changes.Set) {
	for key, c := range planned.ByKey {
		if c.NotApplicable == "" {
			for _, effect := range c.Effects {
				led.Effects.Enqueue(string(effect), string(key))
			}
		}
	}
}

// cancelUntried removes the effects that were recorded for changes that were not tried after all.
// An effect that an earlier run left pending stays.
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

// visit converges a task that a change of the run may affect. The plan has looked at the other
// tasks.
func (a *applier) visit(ctx context.Context, t tasks.Task) error {
	key := t.Owns()[0]
	if !a.unaffected[key] {
		return a.converge(ctx, t)
	}
	if c := a.planned.Get(key); c != nil { // listed, and never set on this host
		a.done.Put(key, c)
	}
	return nil
}

// converge plans a task again just before its apply, applies it, and plans it once more. The task
// is done only if nothing is left to change then. Nothing waits between a plan and its apply: if
// arming the checkpoint took time, the task is planned again.
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
		return t.Apply(ctx, a.host, c) // it restores the value from before the pass, which is no change
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
	case begins && graph.IsWait(err): // as in starts.Waiting.Await
		return nil
	case err != nil:
		return fmt.Errorf("plan again after the change: %w", err)
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

// apply applies a task, with what was downloaded for it.
func (a *applier) apply(ctx context.Context, t tasks.Task, c *tasks.Change) error {
	if fetched := a.Prefetches[t.Owns()[0]]; fetched != nil {
		return fetched.Apply(ctx, a.host)
	}
	return t.Apply(ctx, a.host, c)
}

// disturbed reports whether t is a sysctl that an earlier write of this pass may have changed:
// ip_forward resets accept_redirects, and a default is copied to the links
// (pkg/tasks/sysctl_resets.go).
func (a *applier) disturbed(t tasks.Task) bool {
	ours := func(k graph.Key) bool { return k.Kind() == tasks.KindSysctl }
	return ours(t.Owns()[0]) && slices.ContainsFunc(tasks.NeedsOf(t), func(k graph.Key) bool {
		c := a.done.Get(k)
		return ours(k) && c != nil && c.NotApplicable == ""
	})
}

// ackEffect records that an effect is done, or that no change asked for it after all.
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
	// The caller of the pass reports failures: once, and not in each pass.
	if c := a.done.Get(key); res.State == graph.Done && c != nil && c.NotApplicable == "" &&
		a.planned.Repairs.Later(key) == nil {
		word, level := "changed", zap.InfoLevel
		if a.planned.IsRepair(key) {
			word = "repaired"
		}
		if a.planned.Repairs.Contested(key) != nil { // this repeats for ever, and was logged once
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

// changeText returns the old and the new values in a line of bounded length: "value: 0 → 1". A key
// that is not the task's first is named. It returns "" for secrets.
func changeText(n graph.Node, c *tasks.Change) string {
	if t, ok := n.(tasks.Task); !ok || t.Base().Secret {
		return ""
	}
	var parts []string
	for _, item := range c.Items {
		if item.Key != n.Owns()[0] {
			parts = append(parts, string(item.Key))
		}
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

// These are the time limits of one attempt at a task.
const (
	planLimit  = 30 * time.Second
	applyLimit = 2 * time.Minute
)

func planDeadline(graph.Node) time.Duration { return planLimit }

// ApplyDeadline returns how long it may take to apply one task.
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
