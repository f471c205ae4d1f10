// Package dryrun compares what a dry run lists with what the next real run does. The truth is a
// snapshot before and after the run, read with the tools of the system. The report of the agent is
// what the package tests.
package dryrun

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/sandbox"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

var (
	states  = flag.Int("states", 40, "random host states to try; 200 is the full form")
	seed    = flag.Uint64("seed", 1, "of the first state; each next one has the next seed")
	verbose = flag.Bool("plans", false, "print each plan")
)

// tried has the results of the tries of one state.
type tried struct {
	Seed     uint64         `json:"seed"`
	Cases    map[string]int `json:"cases"` // "file: wrong mode"
	Changes  int            `json:"changes"`
	Unknown  int            `json:"unknown"`
	Settled  int            `json:"settled"` // changes of the real run
	Failures int            `json:"failures"`
}

// A dry run lists exactly the changes that the next real run makes, and changes nothing itself.
//
// The lines that keep it: pkg/tasks/path_access.go, missingParents (its items) and changed (the
// owner); pkg/tasks/link.go, Plan (the Pending fact); pkg/tasks/route.go, Plan (reachable);
// pkg/host/rtnl/addresses.go, DelAddress; pkg/reconcile/execute/apply.go, visit (disturbed).
func TestRandomStates(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	needs.Tool(t, "ip", "nft")
	t.Logf("%d states from seed %d: repeat one with -args -states 1 -seed N", *states, *seed)
	// The states run one after another. A process that reads a link's addr_gen_mode uses a whole
	// processor until the kernel's lock of links is free. Three such processes once kept two
	// processors from the owner of the lock.
	var all []tried
	for i := range *states {
		if got, ok := inSandbox(t, *seed+uint64(i)); ok {
			all = append(all, got)
		}
	}
	summarize(t, all)
}

func inSandbox(t *testing.T, s uint64) (got tried, ok bool) {
	var out, errs bytes.Buffer
	box := sandbox.Config{Hostname: "state", Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.2.11/24")}}
	args := []string{"-test.run=^TestInsideState$", "-test.v", fmt.Sprintf("-seed=%d", s), fmt.Sprintf("-plans=%t", *verbose)}
	code, err := sandbox.Run(t.Context(), box, args, nil, &out, &errs)
	if err != nil || code != 0 {
		t.Errorf("state %d (exit %d, %v):\n%s%s", s, code, err, out.String(), errs.String())
		return got, false
	}
	if *verbose {
		t.Log(out.String())
	}
	for line := range strings.Lines(out.String()) {
		if _, data, found := strings.Cut(line, "TRIED "); found {
			if err := json.Unmarshal([]byte(data), &got); err != nil {
				t.Errorf("state %d: %v", s, err)
				return got, false
			}
			return got, true
		}
	}
	t.Errorf("state %d said nothing:\n%s", s, out.String())
	return got, false
}

// summarize prints what was tried, and checks that it was enough.
func summarize(t *testing.T, all []tried) {
	sum, cases, many := tried{}, map[string]int{}, 0
	for _, one := range all {
		sum.Changes += one.Changes
		sum.Unknown += one.Unknown
		sum.Settled += one.Settled
		sum.Failures += one.Failures
		if one.Changes > 5 {
			many++
		}
		for name, n := range one.Cases {
			cases[name] += n
		}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		lines = append(lines, fmt.Sprintf("%4d %s", cases[name], name))
	}
	t.Logf("%d states, %d with more than five changes; %d changes listed, %d made, %d of unknown outcome; %d tasks refused in both runs\n%s",
		len(all), many, sum.Changes, sum.Settled, sum.Unknown, sum.Failures, strings.Join(lines, "\n"))
	if *states < 20 {
		return
	}
	if many*3 < len(all) {
		t.Errorf("only %d of %d states had more than five changes", many, len(all))
	}
	if sum.Unknown*20 > sum.Changes {
		t.Errorf("%d of %d changes are unknown, more than 5 %%", sum.Unknown, sum.Changes)
	}
}

// TestInsideState is the part of TestRandomStates that runs in the sandbox.
func TestInsideState(t *testing.T) {
	t.Parallel()
	if os.Getenv(sandbox.Env) == "" {
		t.Skip("runs only as the child of TestRandomStates")
	}
	if err := sandbox.Enter(); err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Rand: rand.New(rand.NewPCG(*seed, 0)), fetch: &fetcher{}}
	w.must(os.MkdirAll("/srv/host", 0o755))
	result := tried{Seed: *seed, Cases: map[string]int{}}
	// Of three states, one is small, one is medium and one is large.
	count := []int{1 + w.IntN(3), 2 + w.IntN(6), 12 + w.IntN(8)}[*seed%3]
	want := []tasks.Task{tasks.Effect{Meta: meta(), Action: tasks.ActionDaemonReload}}
	for i := range count {
		// The first task covers all cases as the seeds go on.
		c, state := w.pick(i == 0, *seed)
		result.Cases[c.kind+": "+state]++
		w.n = i
		want = append(want, c.make(w, state)...)
	}
	w.settle()
	try(t, w, want, &result)
	data, err := json.Marshal(result)
	w.must(err)
	fmt.Printf("TRIED %s\n", data)
}

// try compares a dry run of the tasks with a real one. A second dry run must find nothing.
func try(t *testing.T, w *world, want []tasks.Task, result *tried) {
	p := reconcile.Pass{Host: host.Options{Root: "/", Sandbox: true}, Assets: w.fetch, Log: zap.NewNop()}
	d := desired.FromTasks("state", want)
	before := take(t)
	fetched := w.fetch.opened
	listed, listErr := p.DryRun(t.Context(), d)
	if listed == nil {
		t.Fatalf("no plan: %v", listErr)
	}
	identical(t, "the dry run", before, take(t))
	if w.fetch.opened != fetched {
		t.Error("the dry run fetched an asset")
	}
	made, madeErr := p.Converge(t.Context(), d)
	if made == nil {
		t.Fatalf("no pass: %v", madeErr)
	}
	after := take(t)
	if *verbose || t.Failed() {
		fmt.Printf("listed: %v\n%smade: %v\n%s", listErr, show(listed), madeErr, show(made))
	}
	hold(t, listed, before, after)
	fates(t, listed, made)
	result.Changes, result.Unknown, result.Settled = listed.Summary.Changes(), listed.Summary.Unknown, made.Summary.Changes()
	result.Failures = listed.Summary.Failed

	again, _ := p.DryRun(t.Context(), d)
	if again.Summary.Changes() != 0 || again.Summary.Failed != listed.Summary.Failed {
		t.Errorf("after the real run a dry run lists\n%s", show(again))
	}
	identical(t, "the second dry run", after, take(t))
	if t.Failed() {
		fmt.Printf("listed: %v\n%smade: %v\n%s", listErr, show(listed), madeErr, show(made))
	}
}

// fates checks that each task that was not right had the same result in both runs.
func fates(t *testing.T, listed, made *report.Plan) {
	of := func(p *report.Plan) map[string]string {
		out := map[string]string{}
		for _, s := range p.Steps {
			state := s.State
			if state == report.Planned {
				state = report.Done
			}
			if s.Unknown != "" {
				continue
			}
			out[s.Key] = fmt.Sprintf("%s, asks %v", state, s.Effects)
		}
		return out
	}
	was, is := of(listed), of(made)
	for key := range was {
		if was[key] != is[key] && (is[key] != "" || !strings.HasPrefix(key, "sysctl:")) { // another sysctl may have caused it
			t.Errorf("%s was to be %q and was %q", key, was[key], is[key])
		}
		delete(is, key)
	}
	for key, state := range is {
		t.Errorf("%s was %q, and the dry run did not say so", key, state)
	}
}

func show(p *report.Plan) string {
	var b strings.Builder
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "  %s %s: %s %s %v\n", s.State, s.Key, s.Reason, s.Message, s.Items)
	}
	return b.String()
}

// world is a host that is being made.
type world struct {
	*testing.T
	*rand.Rand
	n     int // the number of the case that is being made
	fetch *fetcher
	made  map[string]bool // what a host has only once

	settled []tasks.Task
	spoil   []func()
}

func (w *world) pick(walk bool, seed uint64) (kind, string) {
	if walk {
		for i := seed % uint64(total()); ; {
			for _, c := range kinds {
				if i < uint64(len(c.states)) {
					return c, c.states[i]
				}
				i -= uint64(len(c.states))
			}
		}
	}
	c := kinds[w.IntN(len(kinds))]
	return c, c.states[w.IntN(len(c.states))]
}

func total() (n int) {
	for _, c := range kinds {
		n += len(c.states)
	}
	return n
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// sh runs a command that sets up the host.
func (w *world) sh(line string, args ...any) {
	w.Helper()
	words := strings.Fields(fmt.Sprintf(line, args...))
	run(w.T, words[0], words[1:]...)
}

// converge is for states that only the agent makes. All of them are converged at once, since a pass
// removes what it does not want. Then each is spoilt.
func (w *world) converge(want tasks.Task, spoil func()) {
	w.settled, w.spoil = append(w.settled, want), append(w.spoil, spoil)
}

func (w *world) settle() {
	if len(w.settled) > 0 {
		p := reconcile.Pass{Host: host.Options{Root: "/", Sandbox: true}, Assets: w.fetch, Log: zap.NewNop()}
		_, err := p.Converge(w.Context(), desired.FromTasks("before", w.settled))
		w.must(err)
	}
	for _, do := range w.spoil {
		do()
	}
}

// kind makes states of one kind of task on a host, and the task.
type kind struct {
	kind   string
	states []string
	make   func(w *world, state string) []tasks.Task
}

var kinds = slices.Concat(fileKinds, bundleKinds, networkKinds)

func meta(asks ...graph.Key) tasks.Meta { return tasks.Meta{From: "state", Effects: asks} }
