package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/reconcile/drift"
	"github.com/netwright/netwright/pkg/reconcile/execute"
	"github.com/netwright/netwright/pkg/reconcile/ownership"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// Converged is what a pass that ended with everything right knew: what is wanted, and the ledger.
// With it a single key can be repaired without another pass: see docs/adr/0030-direct.md. Only one
// goroutine may use it.
type Converged struct {
	desired *desired.State
	graph   *tasks.Graph
	set     *desired.Records
	facts   *host.Facts
	cached  *ledger.Cached
}

// Ledger returns the cached ledger; nil without a state. The caller may keep it alone: a pass over
// many files then holds the tasks of one state and not of two.
func (s *Converged) Ledger() *ledger.Cached {
	if s == nil {
		return nil
	}
	return s.cached
}

// Tasks returns the wanted tasks. The caller must not change the list.
func (s *Converged) Tasks() []tasks.Task { return s.set.Order }

// ReadyAtOnce is the number of tasks up to which all is prepared before the first event: the ledger
// is decoded, and the tasks are indexed by the names in events.
const ReadyAtOnce = 1000

// converged returns what the pass leaves for direct repairs. It returns nil if not everything is
// right or if anything is under way. It uses the ledger that was cached before again if its files
// did not change.
func (o *outcome) converged(h *host.Host, before *ledger.Cached) *Converged {
	r := o.plan
	if r.unbuilt != nil || r.unwritten != nil || r.sw != nil || o.awaits || o.halfway || o.lookAgain ||
		len(r.refused) > 0 || r.pruning.Graph != nil {
		return nil
	}
	s := &Converged{desired: r.desired, graph: r.graph, set: r.ownership.Set, facts: h.Live.Facts}
	if before != nil && !before.Stale(h.Live.Files) {
		s.cached = before
		return s
	}
	var err error
	if s.cached, err = ledger.Cache(h.Live.Files, r.led); err != nil {
		return nil
	}
	if s.graph.Len() <= ReadyAtOnce {
		s.cached.Entries()
	}
	return s
}

// WholeError says that a repair needs a whole pass. Something may have been repaired all the same.
type WholeError struct{ Why error }

func (e *WholeError) Error() string { return fmt.Sprintf("it takes a whole pass: %v", e.Why) }

// Unwrap returns the reason.
func (e *WholeError) Unwrap() error { return e.Why }

func wholePass(format string, args ...any) error { return &WholeError{fmt.Errorf(format, args...)} }

// Repair plans and applies only some tasks and those that need them. The daemon calls it with the
// owners of a key that somebody changed. It returns one step for each repair, and none if all is
// right. After an error a pass must follow. Repair refuses a change that asks for an effect, that
// is not known to be harmless, that is contested or that must be recorded before it is made. It may
// also fail. A [*UnwrittenError] says that the repairs were made but could not be recorded.
//
// Repair calls rest once if there is something to repair. rest waits until no more events come, and
// returns the owners of the keys that changed meanwhile. They are repaired too.
func (s *Converged) Repair(
	ctx context.Context, p Pass, owners []tasks.Task, rest func() (more []tasks.Task, err error),
) (steps []report.Step, err error) {
	in := p.Session()
	in.Host.Facts, in.Cached = s.facts, s.cached
	in.OnEnd = func(h *host.Host, led *ledger.Ledger) {
		if cached, failed := ledger.Cache(h.Live.Files, led); failed == nil {
			s.cached = cached
		}
	}
	err = in.Trying(ctx, func(h *host.Host, led *ledger.Ledger) (*report.Plan, error) {
		if z := in.PausedBy(h.Live.Files); z != nil {
			return nil, wholePass("the node is %s", z)
		}
		if why := suppressed(p.Rollout(), h.Live.Files, s.desired); why != nil {
			return nil, &WholeError{why}
		}
		one, err := s.plan(ctx, h, led, owners)
		if err != nil || !one.Changes.Any() {
			return nil, err
		}
		switch more, err := rest(); {
		case err != nil:
			return nil, &WholeError{err}
		case len(more) > 0:
			if one, err = s.plan(ctx, h, led, slices.Concat(owners, more)); err != nil || !one.Changes.Any() {
				return nil, err
			}
		}
		steps, err = s.repair(ctx, p, h, one)
		return nil, err
	})
	return steps, err
}

// directRepair is what is repaired without a pass.
type directRepair struct {
	changes.Work
	tx *ownership.Transaction
}

// nearby is the largest number of tasks that a repair looks at.
const nearby = 64

// around returns the graph of the tasks and of all that may be lost with them: a link that is
// created again has no address yet, one sysctl resets another, and with a directory its files were
// deleted. Effects are in the graph, because tasks name them. What needs the effects is not,
// because a repair asks for no effect.
func (s *Converged) around(owners []tasks.Task) (*tasks.Graph, error) {
	list, seen := []tasks.Task(nil), map[graph.Key]bool{}
	var add func(t tasks.Task)
	add = func(t tasks.Task) {
		key := t.Owns()[0]
		if seen[key] || len(list) > nearby {
			return
		}
		seen[key] = true
		list = append(list, t)
		for _, e := range s.graph.Dependents(t) {
			if tasks.IsState(key) && (e.Reason != graph.Need || tasks.LostWithNeeds(e.Node)) {
				add(e.Node)
			}
		}
	}
	for _, t := range owners {
		add(t)
	}
	if len(list) > nearby {
		return nil, wholePass("more than %d keys need what changed", nearby)
	}
	g, err := graph.New(list, tasks.AsNodes{}, graph.Options{Parent: graph.PathParent})
	if err != nil {
		return nil, &WholeError{err}
	}
	return g, nil
}

// plan plans tasks and those that need them. It returns an error if a change of one of them needs a
// pass.
func (s *Converged) plan(ctx context.Context, h *host.Host, led *ledger.Ledger, owners []tasks.Task) (*directRepair, error) {
	g, err := s.around(owners)
	if err != nil {
		return nil, err
	}
	v := h.Live.View().Snapshot()
	tx := &ownership.Transaction{Led: led, Set: s.set, Changed: ownership.PolicyOf(s.desired), Unnoted: true,
		Judge: drift.New(s.set, led, h.Live.View(), s.desired, false, time.Now())}
	if !tx.InStep() || len(tx.Led.Effects.List()) > 0 {
		return nil, wholePass("the ledger has pending work")
	}
	planned := execute.Plan(ctx, g, v, nil, nil, tx.Judge)
	tx.Judge.Prove(ctx, planned, v, s.desired.Node)
	for i := range planned.Rep.Results {
		res := &planned.Rep.Results[i]
		key := res.Key
		if res.State != graph.Done {
			return nil, wholePass("%s is %s: %w", key, res.State, res.Err)
		}
		if err := direct(res.Node, key, planned.Changes); err != nil {
			return nil, err
		}
	}
	one := &directRepair{planned, tx}
	if !one.Changes.Any() {
		return one, nil
	}
	switch noted, err := tx.Noted(ctx, v, one.Changes); {
	case err != nil:
		return nil, &WholeError{err}
	case !noted:
		return nil, wholePass("the ledger must record the change first")
	}
	return one, nil
}

// direct refuses a change that only a pass may make. A change without a pass restores a proved
// state, asks for no effect, fetches and starts nothing, and is not contested.
func direct(t tasks.Task, key graph.Key, planned *changes.Set) error {
	c := planned.Get(key)
	if planned.Repairs.Later(key) != nil || planned.Repairs.Contested(key) != nil {
		return wholePass("another program keeps changing %s", key)
	}
	if c == nil || c.NotApplicable != "" {
		return nil
	}
	switch t.(type) {
	case tasks.Archive, tasks.UnitState:
		return wholePass("%s may take long", key)
	}
	if c.Proof != tasks.ProofBefore || !planned.IsRepair(key) || len(c.Effects) > 0 || c.Unknown != "" {
		return wholePass("%s asks for more than its repair", key)
	}
	return nil
}

// repair applies what was planned, and records it.
func (s *Converged) repair(ctx context.Context, p Pass, h *host.Host, one *directRepair) ([]report.Step, error) {
	tx := one.tx
	done, err := execute.Apply(ctx, one.Work, h, tx.Led, execute.Options{
		Log: p.Log, Judge: tx.Judge, Generation: s.desired.Snapshot.Generation, Hooks: p.Hooks.Hooks, Fresh: true,
	})
	if err != nil {
		return nil, &WholeError{err}
	}
	tx.Judge.NameWriters(ctx, h)
	if err := tx.Commit(context.WithoutCancel(ctx), h, ownership.Ending{Work: done,
		Pruned: &ownership.Removals{}, By: p.Session().Maker(), Desired: s.desired}); err != nil {
		return nil, &UnwrittenError{err}
	}
	steps := done.Steps(report.Done, tx.Judge.NotePods)
	steps = slices.DeleteFunc(steps, func(one report.Step) bool { return one.State != report.Done })
	if err := changes.Failure(done.Rep); err != nil {
		return steps, &WholeError{err}
	}
	for i := range done.Rep.Results {
		if key := done.Rep.Results[i].Key; done.Changes.Repairs.Later(key) != nil {
			return steps, wholePass("another program keeps changing %s", key)
		}
	}
	return steps, nil
}
