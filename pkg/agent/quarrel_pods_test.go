package agent

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

func TestWhatPodsStandOnIsNeverGivenUp(t *testing.T) {
	p, d := peaceOf(policy.Contested{}), (*ledger.Drift)(nil)
	var got []int
	for now := noon; now.Sub(noon) < time.Minute; now = now.Add(time.Second) {
		if r := p.judgePods(d, now, false); r.repair {
			d = p.notedPods(d, r, now)
			got = append(got, int(now.Sub(noon).Seconds()))
		}
	}
	equal(t, "a minute", got, []int{0, 3, 13, 23, 33, 43, 53})
	if r := p.judgePods(d, noon.Add(54*time.Second), false); r.repair || !r.contested || !d.Recent[0].Equal(noon) {
		t.Errorf("in the quarrel: %+v, since %s", r, d.Recent[0])
	}
	// It stood for a minute: the quarrel is over.
	if r := p.judgePods(d, noon.Add(113*time.Second), false); !r.repair || r.contested {
		t.Errorf("after a minute: %+v", r)
	}
}

// Whoever changes it, whenever, and whatever the documents say of giving up: it is repaired within
// ten seconds, not before any other key would be where that takes less, contested while it is
// changed again and again, and over a minute after; and the ledger stays small.
func TestWhatPodsStandOnProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := peaceOf(policy.Contested{After: rapid.IntRange(2, 20).Draw(t, "after"), Within: values.Duration(rapid.IntRange(10, 3600).Draw(t, "within")) * values.Duration(time.Second)})
		d, now, wrong, repairs := (*ledger.Drift)(nil), noon, time.Time{}, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 30_000).Draw(t, "passes")) * time.Millisecond)
			if rapid.Bool().Draw(t, "changed") && wrong.IsZero() {
				wrong = now
			}
			if wrong.IsZero() {
				continue
			}
			last := d.Last()
			r := p.judgePods(d, now, false)
			switch {
			case !r.repair && (r.until.Sub(last) > podsPause || !r.until.After(now)):
				t.Fatalf("it waits until %s, %s after the last repair", r.until, r.until.Sub(last))
			case !r.repair && len(d.Recent) == 1 && r.until.Sub(last) > p.pause(1):
				t.Fatalf("the second repair waits %s, that of any other key %s", r.until.Sub(last), p.pause(1))
			case !r.repair:
				continue
			}
			if now.Sub(last) >= podsOver {
				repairs = 0
			}
			d, wrong, repairs = p.notedPods(d, r, now), time.Time{}, repairs+1
			if p.contestedPods(d) != (repairs >= p.after) || len(d.Recent) > p.after {
				t.Fatalf("contested %t after %d repairs, the ledger has %d times", p.contestedPods(d), repairs, len(d.Recent))
			}
		}
	})
}

// When the other writer of what pods stand on is gone, it is repaired at once. Where that was one
// process of many, it goes on as before.
func TestWhatPodsStandOnIsRepairedWithoutTheOtherWriter(t *testing.T) {
	p, d := peaceOf(policy.Contested{}), (*ledger.Drift)(nil)
	var got []int
	for now := noon; now.Sub(noon) < time.Minute; now = now.Add(time.Second) {
		gone := now.Sub(noon) >= 25*time.Second
		if r := p.judgePods(d, now, gone); r.repair {
			d = p.notedPods(d, r, now)
			got = append(got, int(now.Sub(noon).Seconds()))
		}
	}
	equal(t, "a minute", got, []int{0, 3, 13, 23, 25, 35, 45, 55})
	if d = p.notedPods(d, ruling{anew: true}, noon); d.Trials != 0 {
		t.Error("the next quarrel does not begin anew")
	}
}

// When it is known that the other writer is gone, a key that was given up is repaired at once.
// Where that was one process of many, these tries are ever more seldom too.
func TestWithoutTheOtherWriterItIsRepairedAtOnce(t *testing.T) {
	p := peaceOf(policy.Contested{})
	_, d, _ := fight(p, nil, noon, time.Hour, time.Second)
	at := d.Last().Add(10 * time.Minute)
	if r := p.judge(d, at, false); r.repair {
		t.Fatal("while the other runs it is repaired")
	}
	if r := p.judge(d, at, true); !r.repair || !r.trial {
		t.Errorf("without the other: %+v", r)
	}
	if r := p.judge(&ledger.Drift{Recent: []time.Time{noon, noon.Add(3 * time.Second)}}, noon.Add(4*time.Second), true); !r.repair {
		t.Errorf("before it was given up: %+v", r)
	}
	tries := 0
	for now := at; now.Sub(at) < time.Hour; now = now.Add(time.Second) {
		if r := p.judge(d, now, true); r.repair {
			d = p.noted(d, r, now)
			tries++
		}
	}
	if tries > 10 {
		t.Errorf("%d tries in an hour of processes that come and go", tries)
	}
}

// A daemon tells a quarrel about what pods stand on for as long as it lasts: also while the key is
// right, and no longer than a minute after its last change.
func TestAQuarrelIsToldUntilItIsOver(t *testing.T) {
	q := quarrels{}
	pass := func(after time.Duration, steps ...report.Step) *report.Plan {
		p := &report.Plan{Steps: steps}
		p.Finish(3)
		q.keep(p, noon.Add(after))
		return p
	}
	fought := report.Step{Key: "sysctl:a", State: report.Contested, Repair: true, Pods: true}
	p := pass(0, fought, report.Step{Key: "file:b", State: report.Contested})
	if len(p.Steps) != 2 || !p.Again.Equal(noon.Add(podsOver)) {
		t.Errorf("%+v", p)
	}
	p = pass(30 * time.Second)
	if len(p.Steps) != 1 || p.Steps[0].State != report.Contested || p.Steps[0].Repair || p.Summary.Contested != 1 || p.Summary.Right != 2 || !p.Again.Equal(noon.Add(podsOver)) {
		t.Errorf("while it is right: %+v", p)
	}
	pass(50*time.Second, fought)
	if p = pass(70 * time.Second); len(p.Steps) != 1 {
		t.Errorf("twenty seconds after it was changed again: %+v", p)
	}
	if p = pass(110 * time.Second); len(p.Steps) != 0 || !p.Again.IsZero() {
		t.Errorf("a minute after the last change: %+v", p)
	}
	pass(120*time.Second, fought)
	fought.State = report.Done
	pass(121*time.Second, fought) // a person had it repaired
	if p = pass(122 * time.Second); len(p.Steps) != 0 {
		t.Errorf("after somebody asked: %+v", p)
	}
}

// A conf that somebody else keeps writing is written again for ever, and the pass says that it is
// contested.
func TestAContestedConfIsWrittenForEver(t *testing.T) {
	name := "/etc/cni/net.d/" + network.Named("bridge").Conf.File
	root := t.TempDir()
	pass := func() *report.Plan {
		t.Helper()
		d := wanting(file(name, "1"), tasks.Task(file("/etc/other", "1")))
		d.held.network = "bridge"
		d.Node.Drift = policy.Drift{Contested: policy.Contested{After: 2, Within: values.Duration(time.Hour)}}
		p, err := onRoot(root).Converge(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	pass()
	want := []report.State{report.Done, report.Contested, report.Contested, report.Contested}
	for i, state := range want {
		put(t, root, name, "theirs")
		p := pass()
		if got := stateOfKey(p, "file:"+name); got != state || contentOf(t, root, name) != "1" {
			t.Fatalf("repair %d: %s, %q\n%s", i, got, contentOf(t, root, name), said(p))
		}
		ago(t, root, "file:"+name, podsPause)
	}
	if e := entryOf(t, root, "file:"+name); e.Drift.Repairs != len(want) || len(e.Drift.Recent) != 2 {
		t.Errorf("the ledger has %+v", e.Drift)
	}
	ago(t, root, "file:"+name, -podsPause) // as if it was just repaired
	put(t, root, name, "theirs")
	if p := pass(); stateOfKey(p, "file:"+name) != report.Contested || contentOf(t, root, name) != "theirs" || p.Again.IsZero() || !prepared(p) {
		t.Errorf("before its time: %s, prepared %t", said(p), prepared(p))
	}
}

// Who is quicker than the repair quarrels: nothing failed, and what needs the key goes on with what
// is there. A person who asks for the repair hears that it failed.
func TestWhoIsQuickerThanARepairQuarrels(t *testing.T) {
	p := peaceOf(policy.Contested{After: 2, Within: values.Duration(time.Hour)})
	conf := file("/etc/a", "1")
	key := conf.Owns()[0]
	change := &tasks.Change{Items: []tasks.Item{{Key: key, Op: tasks.Update}}}
	for _, c := range []struct {
		pods, afresh bool
		recent       []time.Time
		want         report.State
		within       time.Duration
	}{
		{pods: true, recent: []time.Time{noon}, want: report.Waits, within: podsPause},
		{pods: true, recent: []time.Time{noon.Add(-time.Hour), noon}, want: report.Contested, within: podsPause},
		{recent: []time.Time{noon}, want: report.Waits, within: time.Hour},
		{recent: []time.Time{noon.Add(-time.Minute), noon}, want: report.Contested, within: 6 * time.Hour},
		{afresh: true, recent: []time.Time{noon}},
		{want: ""}, // it is no repair
	} {
		d := &drift{peace: p, now: noon, afresh: c.afresh, pods: func(tasks.Task) bool { return c.pods }, repairs: map[graph.Key]*ledger.Drift{}, left: map[graph.Key]*leaving{}}
		if len(c.recent) > 0 {
			d.repairs[key] = &ledger.Drift{Recent: c.recent, Repairs: 7}
		}
		l := d.quicker(conf, change)
		if c.want == "" {
			if l != nil {
				t.Errorf("%+v: %+v", c, l)
			}
			continue
		}
		if l == nil || l.state != c.want || l.end() != nil || l.until.Sub(noon) > c.within || !d.lookAgain().Equal(l.until) {
			t.Errorf("%+v: %+v", c, l)
		}
	}
}
