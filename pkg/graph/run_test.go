package graph

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// visits has for each node, by its first key, the results of its visits. The last result repeats.
// Other nodes return nil.
type visits map[Key][]error

// visiting is locked while a visit looks into its visits, since other visits run beside it.
var visiting sync.Mutex

func (v visits) visit(_ context.Context, n *node) error {
	visiting.Lock()
	defer visiting.Unlock()
	errs := v[n.owns[0]]
	if len(errs) == 0 {
		return nil
	}
	if len(errs) > 1 {
		v[n.owns[0]] = errs[1:]
	}
	return errs[0]
}

// tell prints a report as lines "key state (because): error".
func tell(rep Report[*node]) string {
	var b strings.Builder
	for _, r := range rep.Results {
		fmt.Fprintf(&b, "%s %s", r.Node.owns[0], r.State)
		if r.Attempts != 1 {
			fmt.Fprintf(&b, " x%d", r.Attempts)
		}
		if r.Because != "" {
			fmt.Fprintf(&b, " (%s)", r.Because)
		}
		if r.Err != nil {
			fmt.Fprintf(&b, ": %v", r.Err)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func expect(t *testing.T, rep Report[*node], want string) {
	t.Helper()
	if diff := cmp.Diff(strings.ReplaceAll(strings.TrimSpace(want), "\t", "")+"\n", tell(rep)); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestRunStates(t *testing.T) {
	boom, wait := errors.New("boom"), Wait("pod CIDRs")
	tests := []struct {
		name, nodes string
		visits      visits
		want        string
	}{
		{"a failure names its root", "a:1\nb:1 a:1\nc:1 b:1\nd:1", visits{"a:1": {boom}}, `
			a:1 failed: boom
			b:1 skipped x0 (a:1): skipped: needs a:1, which failed
			c:1 skipped x0 (a:1): skipped: needs a:1, which failed
			d:1 done`},
		{"a wait is waited for", "a:1\nb:1 a:1\nc:1 b:1", visits{"a:1": {fmt.Errorf("plan: %w", wait)}}, `
			a:1 waiting: plan: pod CIDRs
			b:1 waiting x0 (a:1): waiting for a:1: plan: pod CIDRs
			c:1 waiting x0 (a:1): waiting for a:1: plan: pod CIDRs`},
		{"a failure counts more than a wait", "a:1\nb:1\nc:1 a:1 b:1", visits{"a:1": {wait}, "b:1": {boom}}, `
			a:1 waiting: pod CIDRs
			b:1 failed: boom
			c:1 skipped x0 (b:1): skipped: needs b:1, which failed`},
		{"of two failures the first in the plan", "a:1\nb:1\nc:1 b:1 a:1", visits{"a:1": {boom}, "b:1": {boom}}, `
			a:1 failed: boom
			b:1 failed: boom
			c:1 skipped x0 (a:1): skipped: needs a:1, which failed`},
		{"an effect runs although an asker failed", "a:1 !effect:x\nb:1 !effect:x\neffect:x\nfile:/c effect:x", visits{"a:1": {boom}, "b:1": {wait}}, `
			a:1 failed: boom
			b:1 waiting: pod CIDRs
			effect:x done
			file:/c done`},
		{"who needs an effect fails with it", "a:1 !effect:x\neffect:x\nfile:/c effect:x", visits{"effect:x": {boom}}, `
			a:1 done
			effect:x failed: boom
			file:/c skipped x0 (effect:x): skipped: needs effect:x, which failed`},
		{"the directory fails", "file:/a\nfile:/a/b/c\nfile:/b", visits{"file:/a": {boom}}, `
			file:/a failed: boom
			file:/a/b/c skipped x0 (file:/a): skipped: needs file:/a, which failed
			file:/b done`},
		{"transient without leave to retry", "a:1", visits{"a:1": {Transient(boom)}}, `
			a:1 failed: boom`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rep := Run(t.Context(), build(t, tt.nodes), RunOptions{Limit: 1}, tt.visits.visit)
			expect(t, rep, tt.want)
		})
	}
}

func TestReportErr(t *testing.T) {
	g := build(t, "a:1\nb:1 a:1\nc:1\nd:1")
	rep := Run(t.Context(), g, RunOptions{}, visits{"a:1": {io.ErrUnexpectedEOF}, "c:1": {Wait("time")}, "d:1": {errors.New("boom")}}.visit)
	if err := rep.Err(); !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != "a:1: unexpected EOF\nd:1: boom" {
		t.Errorf("the run's error: %v; want those of a:1 and d:1", err)
	}
	if !errors.Is(rep.Results[1].Err, io.ErrUnexpectedEOF) {
		t.Error("what is skipped does not say what its root met")
	}
	var wait *WaitError
	if rep := Run(t.Context(), g, RunOptions{}, visits{"a:1": {Wait("time")}}.visit); rep.Err() != nil || !errors.As(rep.Results[1].Err, &wait) {
		t.Error("a wait is an error, or is lost on the way: ", rep.Err())
	}
}

func TestRunOfNothing(t *testing.T) {
	g, err := New(nil, stated{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if rep := Run(t.Context(), g, RunOptions{}, visits{}.visit); len(rep.Results) != 0 || rep.Err() != nil {
		t.Errorf("Run returns %v", rep)
	}
}

func TestPanicFailsOneNode(t *testing.T) {
	rep := Run(t.Context(), build(t, "a:1\nb:1 a:1\nc:1\nd:1"), RunOptions{Limit: 1, Retry: Backoff{Attempts: 3}}, func(_ context.Context, n *node) error {
		switch n.owns[0] {
		case "a:1":
			panic(fmt.Errorf("write: %w", io.ErrShortWrite))
		case "c:1":
			runtime.Goexit()
		}
		return nil
	})
	var p *PanicError
	if !errors.As(rep.Err(), &p) || !errors.Is(p, io.ErrShortWrite) || !strings.HasPrefix(p.Stack, "graph.TestPanicFailsOneNode") || !strings.Contains(p.Stack, " run.go:") {
		t.Fatalf("no stack of the visit in %v", p)
	}
	p.Stack = "STACK"
	expect(t, rep, `
		a:1 failed: a:1 panicked: write: short write (this is a bug: report it with this: STACK)
		b:1 skipped x0 (a:1): skipped: needs a:1, which failed
		c:1 failed: the visit ended its goroutine (runtime.Goexit) and returned nothing
		d:1 done`)
}

func TestHooks(t *testing.T) {
	var log []string
	note := func(format string, args ...any) { log = append(log, fmt.Sprintf(format, args...)) }
	name := func(n Node) Key { return n.Owns()[0] }
	synctest.Test(t, func(t *testing.T) {
		Run(t.Context(), build(t, "a:1\nb:1 a:1\nc:1\nz:1 @late\nz:2 @late"), RunOptions{
			Limit:   1,
			Retry:   Backoff{First: 2 * time.Second, Max: time.Minute, Attempts: 2, Rand: func() float64 { return 0 }},
			OnStart: func(n Node) { note("start %s", name(n)) },
			OnRetry: func(n Node, attempts int, err error, pause time.Duration) {
				note("retry %s after %d: %v, in %s", name(n), attempts, err, pause)
			},
			OnDone: func(r Result[Node]) { note("%s %s", r.State, name(r.Node)) },
		}, visits{"a:1": {Transient(errors.New("busy")), errors.New("boom")}}.visit)
	})
	want := []string{
		"start a:1", "retry a:1 after 1: busy, in 1s", "start c:1", "done c:1", "start z:1", "done z:1", "start z:2", "done z:2",
		"failed a:1", "skipped b:1",
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
}

func TestRetry(t *testing.T) {
	busy := Transient(errors.New("busy"))
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var pauses []time.Duration
		rep := Run(t.Context(), build(t, "a:1\nb:1"), RunOptions{
			Retry:   Backoff{First: time.Second, Max: 5 * time.Second, Attempts: 6, Rand: func() float64 { return 0.5 }},
			OnRetry: func(_ Node, _ int, _ error, pause time.Duration) { pauses = append(pauses, pause) },
		}, visits{"a:1": {busy, busy, busy, busy, busy, fmt.Errorf("again: %w", busy)}}.visit)
		expect(t, rep, "a:1 failed x6: gave up after attempt 6, last met: again: busy\nb:1 done")
		ms := time.Millisecond
		want := []time.Duration{750 * ms, 1500 * ms, 3000 * ms, 3750 * ms, 3750 * ms}
		if diff := cmp.Diff(want, pauses); diff != "" {
			t.Errorf("the pauses (-want +got):\n%s", diff)
		}
		if took := time.Since(start); took != 12750*ms || rep.Results[0].Took != 0 {
			t.Errorf("took %s, in visits %s", took, rep.Results[0].Took)
		}
		rep = Run(t.Context(), build(t, "a:1\nb:1 a:1"), RunOptions{Retry: Backoff{Attempts: 3}}, visits{"a:1": {busy, busy, nil}}.visit)
		expect(t, rep, "a:1 done x3\nb:1 done")
		rep = Run(t.Context(), build(t, "a:1"), RunOptions{Retry: Backoff{Attempts: 3}}, visits{"a:1": {busy, errors.New("boom")}}.visit)
		expect(t, rep, "a:1 failed x2: boom")
	})
}

func TestPauseHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rep := Run(t.Context(), build(t, "a:1\nb:1\nc:1"), RunOptions{
			Limit: 1, Retry: Backoff{First: time.Hour, Max: time.Hour, Attempts: 2},
			OnDone: func(r Result[Node]) {
				if r.Node.Owns()[0] != "a:1" && time.Since(start) > 0 {
					t.Errorf("%s had to wait for the pause of a:1", r.Node.Owns()[0])
				}
			},
		}, visits{"a:1": {Transient(errors.New("busy")), nil}}.visit)
		expect(t, rep, "a:1 done x2\nb:1 done\nc:1 done")
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opt := RunOptions{
			Deadline: func(n Node) time.Duration {
				if n.Owns()[0] == "free:1" {
					return 0
				}
				return time.Minute
			},
			Retry: Backoff{Attempts: 2},
		}
		var cause error
		rep := Run(t.Context(), build(t, "a:1\nb:1\nc:1\nd:1\ne:1\nfree:1"), opt, func(ctx context.Context, n *node) error {
			switch n.owns[0] {
			case "b:1":
				time.Sleep(59 * time.Second)
				return errors.New("its own fault")
			case "free:1":
				time.Sleep(time.Hour)
				return nil
			}
			<-ctx.Done()
			switch n.owns[0] {
			case "a:1":
				cause = context.Cause(ctx)
				return fmt.Errorf("dial: %w", ctx.Err())
			case "d:1":
				return Wait("a late one")
			case "e:1":
				return Permanent(errors.New("late, and for ever"))
			}
			return nil // now it succeeds
		})
		expect(t, rep, `
			a:1 failed x2: gave up after attempt 2, last met: a:1 was not through within its deadline of 1m0s: dial: context deadline exceeded
			b:1 failed: its own fault
			c:1 done
			d:1 waiting: a late one
			e:1 failed: late, and for ever
			free:1 done`)
		if cause == nil || cause.Error() != "a:1 was not through within its deadline of 1m0s" {
			t.Errorf("the context's cause is %v", cause)
		}
		var late *DeadlineError
		if !errors.As(rep.Err(), &late) || late.Key != "a:1" || !errors.Is(late, context.DeadlineExceeded) {
			t.Errorf("late is %+v", late)
		}
	})
}

// A task that only asks a context for its error learns of the deadline, as a task does that waits
// for the context. A task that keeps the context learns after its visit that the visit has ended.
func TestDeadlineIsSeenByWhoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept context.Context
		opt := RunOptions{Deadline: func(Node) time.Duration { return time.Minute }}
		rep := Run(t.Context(), build(t, "a:1\nb:1\nc:1"), opt, func(ctx context.Context, n *node) error {
			if ctx.Err() != nil || context.Cause(ctx) != nil {
				t.Errorf("%s: it has ended when it begins: %v", n.owns[0], context.Cause(ctx))
			}
			switch n.owns[0] {
			case "a:1":
				kept = ctx
				return nil
			case "b:1":
				time.Sleep(61 * time.Second)
				return context.Cause(ctx)
			}
			below, cancel := context.WithCancel(ctx)
			defer cancel()
			<-below.Done()
			return context.Cause(below)
		})
		expect(t, rep, `
			a:1 done
			b:1 failed: b:1 was not through within its deadline of 1m0s: b:1 was not through within its deadline of 1m0s
			c:1 failed: c:1 was not through within its deadline of 1m0s: c:1 was not through within its deadline of 1m0s`)
		if !errors.Is(kept.Err(), context.Canceled) {
			t.Errorf("after its visit a context is %v", kept.Err())
		}
		<-kept.Done()
	})
}

// A deadline for which no task waits costs its context, and no timer.
func TestDeadlineAllocates(t *testing.T) {
	const nodes, most = 1000, 1.1
	var text strings.Builder
	for i := range nodes {
		fmt.Fprintf(&text, "a:%d\n", i)
	}
	g := build(t, text.String())
	cost := func(opt RunOptions) float64 {
		return testing.AllocsPerRun(5, func() { Run(t.Context(), g, opt, func(context.Context, *node) error { return nil }) })
	}
	with := cost(RunOptions{Deadline: func(Node) time.Duration { return time.Minute }})
	if each := (with - cost(RunOptions{})) / nodes; each > most {
		t.Errorf("%.1f allocations for each deadline, want at most %.1f", each, most)
	}
}

func TestCancel(t *testing.T) {
	stop := errors.New("SIGTERM")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		rep := Run(ctx, build(t, "a:1\nb:1\nc:1\nd:1\nd:2 d:1\ne:1 a:1 b:1\nf:1 b:1\ng:1"), RunOptions{
			Limit: 5, Retry: Backoff{First: time.Hour, Max: time.Hour, Attempts: 9},
		}, func(ctx context.Context, n *node) error {
			switch n.owns[0] {
			case "a:1":
				return Transient(errors.New("busy"))
			case "b:1":
				time.Sleep(time.Minute)
				cancel(stop)
				<-ctx.Done()
				return fmt.Errorf("killed: %w", ctx.Err())
			case "c:1":
				<-ctx.Done()
				return nil
			case "d:1":
				return errors.New("boom")
			case "g:1":
				<-ctx.Done()
				return Permanent(errors.New("wrong hash"))
			}
			t.Errorf("%s was visited", n.owns[0])
			return nil
		})
		expect(t, rep, `
			a:1 cancelled: cancelled: SIGTERM, while it paused after attempt 1, which met: busy
			b:1 cancelled: cancelled: SIGTERM, while it ran: killed: context canceled
			c:1 done
			d:1 failed: boom
			d:2 skipped x0 (d:1): skipped: needs d:1, which failed
			e:1 cancelled x0: cancelled: SIGTERM
			f:1 cancelled x0: cancelled: SIGTERM
			g:1 failed: wrong hash`)
		for _, r := range rep.Results {
			if r.State == Cancelled && !errors.Is(r.Err, stop) {
				t.Errorf("%s lost the cause: %v", r.Node.owns[0], r.Err)
			}
		}
		if err := rep.Err(); err.Error() != "d:1: boom\ng:1: wrong hash\ncancelled: SIGTERM" {
			t.Errorf("the run's error: %v; want those of d:1 and g:1, then that of the signal", err)
		}
	})
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("too late"))
	var count atomic.Int32
	rep := Run(ctx, build(t, "a:1\nb:1 a:1"), RunOptions{}, func(context.Context, *node) error { count.Add(1); return nil })
	expect(t, rep, "a:1 cancelled x0: cancelled: too late\nb:1 cancelled x0: cancelled: too late")
	if count.Load() > 0 {
		t.Error("something was visited")
	}
}

func TestSlowNodeHoldsBackOnlyWhatNeedsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		last := map[Key]time.Duration{}
		Run(t.Context(), build(t, "a:1\na:2 a:1\nb:1\nb:2 b:1\nb:3 b:2"), RunOptions{
			Limit:  2,
			OnDone: func(r Result[Node]) { last[r.Node.Owns()[0]] = time.Since(start) },
		}, func(_ context.Context, n *node) error {
			if n.owns[0] == "a:1" {
				time.Sleep(time.Hour)
			}
			return nil
		})
		if last["b:3"] != 0 || last["a:2"] != time.Hour {
			t.Errorf("settled at %v", last)
		}
	})
}

// A task that takes long goes first, with the tasks that it needs. All others keep the order of the
// plan.
func TestWhatTakesLongGoesFirst(t *testing.T) {
	var visited []Key
	long := func(n Node) bool { return n.Owns()[0] == "y:1" }
	Run(t.Context(), build(t, "a:1\nb:1\nc:1 b:1\nx:1\ny:1 x:1\nz:1"), RunOptions{Limit: 1, First: long}, func(_ context.Context, n *node) error {
		visited = append(visited, n.owns[0])
		return nil
	})
	if want := []Key{"x:1", "y:1", "a:1", "b:1", "c:1", "z:1"}; !slices.Equal(visited, want) {
		t.Errorf("visited %v, want %v", visited, want)
	}
}

func TestLimitIsReachedAndKept(t *testing.T) {
	for _, tt := range []struct{ leaves, limit, hours int }{{2, 2, 3}, {8, 4, 4}, {9, 4, 5}, {8, 1, 10}, {3, 9, 3}} {
		lines := "a:first\nz:last"
		for i := range tt.leaves {
			lines += fmt.Sprintf(" b:%d", i)
		}
		for i := range tt.leaves {
			lines += fmt.Sprintf("\nb:%d a:first", i)
		}
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			Run(t.Context(), build(t, lines), RunOptions{Limit: tt.limit}, func(context.Context, *node) error {
				time.Sleep(time.Hour)
				return nil
			})
			if took := time.Since(start); took != time.Duration(tt.hours)*time.Hour {
				t.Errorf("one, %d by %d, and one more took %s, want %dh", tt.leaves, tt.limit, took, tt.hours)
			}
		})
	}
}
