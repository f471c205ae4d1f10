package execute

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// note is a task whose state is a file. The host and its writes are real, and only the kind of task
// belongs to the test.
type note struct {
	tasks.Await // of no recorded kind
	tasks.Meta
	path, want string
	sticky     bool  // the write has no effect, as if another program undid it
	wait       error // returned by Plan
	broken     error // returned by Apply
	planned    *int  // counts plans, and changes the file between the first two
	drift      string
	never      bool // it is not for this host
}

func (n note) Owns() []graph.Key { return []graph.Key{tasks.FileKey(n.path)} }

func (n note) Plan(_ context.Context, v host.View) (*tasks.Change, error) {
	if n.wait != nil {
		return nil, n.wait
	}
	want := n.want
	if n.planned != nil {
		if *n.planned++; *n.planned > 1 {
			want = n.drift
		}
	}
	if n.never {
		return &tasks.Change{NotApplicable: "it is never set here", Items: []tasks.Item{{Key: n.Owns()[0]}}}, nil
	}
	got, err := v.Files.ReadFile(n.path)
	if err != nil && !errors.Is(err, host.ErrNotExist) {
		return nil, err
	}
	if string(got) == want {
		return nil, nil
	}
	return &tasks.Change{
		Items:  []tasks.Item{{Key: n.Owns()[0], Op: tasks.Update, Before: got, After: []byte(want)}},
		Reason: "content differs", Effects: n.Effects,
	}, nil
}

func (n note) Apply(ctx context.Context, h *host.Host, c *tasks.Change) error {
	if n.broken != nil || n.sticky {
		return n.broken
	}
	return h.Files.WriteFile(ctx, n.path, c.Items[0].After, hostfs.FileSpec{Mode: 0o644})
}

// bell is an effect that counts how often it is applied.
type bell struct {
	tasks.Await // as note
	tasks.Meta
	rung *int
	dies bool // as if the process were killed before it rang
}

const bellKey = graph.Key("effect:restart bell.service")

func (b bell) Owns() []graph.Key { return []graph.Key{bellKey} }

func (b bell) Plan(_ context.Context, v host.View) (*tasks.Change, error) {
	by := v.Upcoming.Asked(string(bellKey))
	if len(by) == 0 {
		return nil, nil
	}
	return &tasks.Change{Items: []tasks.Item{{Key: bellKey, Op: tasks.Run}}, Reason: "asked for by " + strings.Join(by, ", ")}, nil
}

func (b bell) Apply(context.Context, *host.Host, *tasks.Change) error {
	if b.dies {
		return errors.New("killed")
	}
	*b.rung++
	return nil
}

// once makes one pass of tasks on a root, with the root's ledger.
func once(t *testing.T, root string, list ...tasks.Task) ([]report.Step, error) {
	t.Helper()
	return onceWith(t, root, Options{Log: zap.NewNop()}, list...)
}

func onceWith(t *testing.T, root string, o Options, list ...tasks.Task) ([]report.Step, error) {
	t.Helper()
	needs.Root(t) // files belong to root
	ctx := t.Context()
	opt := host.Options{Root: root}
	h, err := host.Open(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	led := ledger.Load(h.Live.Files)
	g, err := graph.New(list, tasks.AsNodes{}, graph.Options{Parent: graph.PathParent})
	if err != nil {
		t.Fatal(err)
	}
	planned := Plan(ctx, g, h.Live.View(), led.Effects.List(), nil, nil)
	if failed := changes.Failure(planned.Rep); failed != nil {
		return planned.Steps(report.Planned, nil), failed
	}
	done, err := Apply(ctx, planned, h, led, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := led.Effects.Save(ctx, h.Files); err != nil {
		t.Fatal(err)
	}
	return done.Steps(report.Done, nil), changes.Failure(done.Rep)
}

func states(list []report.Step) map[string]report.State {
	out := map[string]report.State{}
	for _, s := range list {
		out[s.Key] = s.State
	}
	return out
}

func asking(why string) tasks.Meta { return tasks.Meta{From: why, Effects: []graph.Key{bellKey}} }

func TestAnEffectIsDoneOnceAndOnlyWhenAskedFor(t *testing.T) {
	root, rung := t.TempDir(), 0
	list := []tasks.Task{note{Meta: asking("a"), path: "/a", want: "1"}, note{Meta: asking("b"), path: "/b", want: "1"}, bell{rung: &rung}}
	if _, err := once(t, root, list...); err != nil || rung != 1 {
		t.Fatalf("first run: %v, effect done %d times; want once", err, rung)
	}
	if got, err := once(t, root, list...); err != nil || rung != 1 || len(got) != 0 {
		t.Fatalf("second run: %v, effect done %d times, steps %v; want nothing", err, rung, got)
	}
}

func TestAnEffectOwedByAKilledRunIsDoneByTheNext(t *testing.T) {
	root, rung := t.TempDir(), 0
	file := note{Meta: asking("a"), path: "/a", want: "1"}
	if _, err := once(t, root, file, bell{rung: &rung, dies: true}); err == nil {
		t.Fatal("the effect did not fail")
	}
	if _, err := once(t, root, file, bell{rung: &rung}); err != nil || rung != 1 {
		t.Fatalf("the next run, with nothing else to change: %v, effect done %d times; want once", err, rung)
	}
	if _, err := once(t, root, file, bell{rung: &rung}); err != nil || rung != 1 {
		t.Fatalf("the one after: %v, effect done %d times in all; want once", err, rung)
	}
}

// A killed run recorded that a file asks for the effect, and the file has to change once more.
func TestAKeyThatAsksAgainIsNamedOnce(t *testing.T) {
	root, rung := t.TempDir(), 0
	file := note{Meta: asking("a"), path: "/a", want: "1"}
	if _, err := once(t, root, file, bell{rung: &rung, dies: true}); err == nil {
		t.Fatal("the effect did not fail")
	}
	file.want = "2"
	got, err := once(t, root, file, bell{rung: &rung})
	if err != nil || rung != 1 || len(got) != 2 || got[1].Reason != "asked for by file:/a" {
		t.Fatalf("%v, effect done %d times, steps %+v; want a file and one effect that it asks for", err, rung, got)
	}
}

// The effect is not visited either, so it cannot say that no change asked for it. The line that
// keeps it: apply.go, cancelUntried.
func TestAnEffectOfAChangeThatWasNotMadeIsNotOwed(t *testing.T) {
	root, rung := t.TempDir(), 0
	broken := note{path: "/first", want: "1", broken: errors.New("no")}
	file := note{Meta: asking("a"), path: "/a", want: "1"}
	file.Requires = []graph.Key{"file:/first"}
	got, err := once(t, root, broken, file, bell{rung: &rung, Meta: tasks.Meta{Requires: file.Requires}})
	if err == nil || rung != 0 {
		t.Fatalf("%v, effect done %d times; want a failure and no effect", err, rung)
	}
	want := map[string]report.State{"file:/first": report.Failed, "file:/a": report.Skipped, string(bellKey): report.Skipped}
	if diff := cmp.Diff(want, states(got)); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	files, err := host.OpenFiles(host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close() // only read from
	if led := ledger.Load(files); len(led.Effects.List()) != 0 {
		t.Errorf("owed for a change that was not made: %v", led.Effects.List())
	}
}

// The ledger cannot be written. A change whose effect cannot be recorded is not made, because a
// kill would lose the effect. The lines that keep it: apply.go, Apply (Save); effects.go, Enqueue.
func TestAnEffectThatCannotBeRecordedStopsTheChange(t *testing.T) {
	needs.Root(t) // files belong to root
	root, rung := t.TempDir(), 0
	hostroot.Put(t, root, ledger.Dir, "a file in the way")
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	g, err := graph.New([]tasks.Task{note{Meta: asking("a"), path: "/a", want: "1"}, bell{rung: &rung}}, tasks.AsNodes{}, graph.Options{Parent: graph.PathParent})
	if err != nil {
		t.Fatal(err)
	}
	led := ledger.Load(h.Live.Files)
	planned := Plan(t.Context(), g, h.Live.View(), nil, nil, nil)
	if err := Enqueue(t.Context(), h, led, planned.Changes); err == nil || len(led.Effects.List()) != 0 {
		t.Errorf("%v, and owed is %v", err, led.Effects.List())
	}
	if _, err := Apply(t.Context(), planned, h, led, Options{Log: zap.NewNop()}); err == nil || rung != 0 || hostroot.There(root, "/a") {
		t.Errorf("%v, effect done %d times, the file is there: %t", err, rung, hostroot.There(root, "/a"))
	}
}

// A task looks at its fields again just before its change.
func TestAnotherValueThanPlannedIsNotWritten(t *testing.T) {
	becomes := func(value string) *tasks.Change {
		return &tasks.Change{Items: []tasks.Item{{Key: "file:/a", Fields: []tasks.Field{{Name: "mode", Before: "0600", After: value}}}}}
	}
	if err := within("file:/a", becomes("0644"), becomes("0644")); err != nil {
		t.Error(err)
	}
	if err := within("file:/a", becomes("0666"), becomes("0644")); !OnlyChangedSincePlanned(err) {
		t.Errorf("%v; want that the change differs from the plan", err)
	}
}

// The line of the journal has the values, but never those of a secret.
func TestAChangeOfASecretIsLoggedWithoutValues(t *testing.T) {
	change := &tasks.Change{Items: []tasks.Item{
		{Key: "file:/a", Fields: []tasks.Field{{Name: "mode", Before: "0600", After: "0644"}}}, {Key: "file:/b", Fields: []tasks.Field{{After: "x"}}},
	}}
	file := note{path: "/a"}
	if got := changeText(file, change); got != "mode: 0600 → 0644, file:/b, none → x" {
		t.Errorf("logged as %q", got)
	}
	if file.Secret = true; changeText(file, change) != "" {
		t.Errorf("a secret is logged as %q", changeText(file, change))
	}
}

// somebody is an [Admission] that takes some time, in which somebody else writes a file.
type somebody struct {
	path string
	come *bool
}

func (s somebody) Before(context.Context, tasks.Task, *tasks.Change) (waited bool, err error) {
	waited, *s.come = !*s.come, true
	return waited, os.WriteFile(s.path, []byte("x"), 0o644)
}

// It may take seconds to arm a checkpoint if some server does not answer. A key that became right
// or different meanwhile is not changed by the former plan, and asks for no effect.
func TestAChangeIsLookedAtAgainAfterItWaited(t *testing.T) {
	root, come, rung := t.TempDir(), false, 0
	steps, err := onceWith(t, root, Options{Log: zap.NewNop(), Admission: somebody{filepath.Join(root, "f"), &come}},
		note{Meta: asking("a"), path: "/f", want: "x", broken: errors.New("it was written")}, bell{rung: &rung})
	if err != nil || !come || rung != 0 {
		t.Errorf("%v, rung %d times: %v", states(steps), rung, err)
	}
}

func TestOnlyWhatWasPlannedIsDone(t *testing.T) {
	root, count := t.TempDir(), 0
	got, err := once(t, root, note{path: "/a", want: "planned", drift: "something else", planned: &count}, note{path: "/b", want: "1"})
	if err == nil || !strings.Contains(err.Error(), "changed since planned") || !OnlyChangedSincePlanned(err) {
		t.Fatalf("err = %v; want changed since planned", err)
	}
	if diff := cmp.Diff(map[string]report.State{"file:/a": report.Failed, "file:/b": report.Done}, states(got)); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(root, "a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was not planned was done: %v", err)
	}
}

func TestWhatDoesNotHoldIsAnError(t *testing.T) {
	root := t.TempDir()
	_, err := once(t, root, note{path: "/a", want: "1", sticky: true})
	var not *changes.NotConvergedError
	if !errors.As(err, &not) || not.Key != "file:/a" {
		t.Fatalf("err = %v; want a NotConvergedError", err)
	}
	if OnlyChangedSincePlanned(err) {
		t.Error("a task that does not hold was taken for one that changed since planned")
	}
}

func TestWaitsAreNoErrorAndSilenceTheirDependents(t *testing.T) {
	root := t.TempDir()
	late := note{path: "/late", want: "1"}
	late.Requires = []graph.Key{"file:/conf"}
	got, err := once(t, root, note{path: "/conf", wait: graph.Wait("flannel")}, late, note{path: "/b", want: "1"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]report.State{"file:/conf": report.Waits, "file:/late": report.Waits, "file:/b": report.Done}
	if diff := cmp.Diff(want, states(got)); diff != "" {
		t.Errorf("the states (-want +got):\n%s", diff)
	}
	if got := readIn(t, root, "b"); got != "1" {
		t.Errorf("the branch that waits for nothing was not done: %q", got)
	}
}

func readIn(t *testing.T, root, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
