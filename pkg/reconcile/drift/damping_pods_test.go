package drift

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/changes"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

func TestWhatPodsStandOnIsNeverGivenUp(t *testing.T) {
	p, d := dampingOf(policy.Contested{}), (*ledger.Drift)(nil)
	var got []int
	for now := noon; now.Sub(noon) < time.Minute; now = now.Add(time.Second) {
		if r := p.judgePods(d, now, false); r.repair {
			d = p.notedPods(d, r, now)
			got = append(got, int(now.Sub(noon).Seconds()))
		}
	}
	equal(t, "a minute", got, []int{0, 3, 13, 23, 33, 43, 53})
	if r := p.judgePods(d, noon.Add(54*time.Second), false); r.repair || !r.contested || !d.Recent[0].Equal(noon) {
		t.Errorf("in the conflict: %+v, since %s", r, d.Recent[0])
	}
	// It was right for a minute: the conflict is over.
	if r := p.judgePods(d, noon.Add(113*time.Second), false); !r.repair || r.contested {
		t.Errorf("after a minute: %+v", r)
	}
}

// Any program changes such a key at any time, and the documents may say anything about giving up.
// The key is repaired within ten seconds, but not sooner than another key if that takes less. It is
// contested while it is changed again and again, and for more than a minute after. The ledger stays
// small.
func TestWhatPodsStandOnProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := dampingOf(policy.Contested{Repairs: rapid.IntRange(2, 20).Draw(t, "after"), Within: values.Duration(rapid.IntRange(10, 3600).Draw(t, "within")) * values.Duration(time.Second)})
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
			case !r.repair && (r.until.Sub(last) > PodsPause || !r.until.After(now)):
				t.Fatalf("it waits until %s, %s after the last repair", r.until, r.until.Sub(last))
			case !r.repair && len(d.Recent) == 1 && r.until.Sub(last) > p.pause(1):
				t.Fatalf("the second repair waits %s, that of any other key %s", r.until.Sub(last), p.pause(1))
			case !r.repair:
				continue
			}
			if now.Sub(last) >= PodsOver {
				repairs = 0
			}
			d, wrong, repairs = p.notedPods(d, r, now), time.Time{}, repairs+1
			if p.contestedPods(d) != (repairs >= p.repairs) || len(d.Recent) > p.repairs {
				t.Fatalf("contested %t after %d repairs, the ledger has %d times", p.contestedPods(d), repairs, len(d.Recent))
			}
		}
	})
}

// When the other writer of a key that pods need is gone, the key is repaired at once. If that was
// one process of many, the pauses go on as before.
func TestWhatPodsStandOnIsRepairedWithoutTheOtherWriter(t *testing.T) {
	p, d := dampingOf(policy.Contested{}), (*ledger.Drift)(nil)
	var got []int
	for now := noon; now.Sub(noon) < time.Minute; now = now.Add(time.Second) {
		gone := now.Sub(noon) >= 25*time.Second
		if r := p.judgePods(d, now, gone); r.repair {
			d = p.notedPods(d, r, now)
			got = append(got, int(now.Sub(noon).Seconds()))
		}
	}
	equal(t, "a minute", got, []int{0, 3, 13, 23, 25, 35, 45, 55})
	if d = p.notedPods(d, decision{anew: true}, noon); d.Trials != 0 {
		t.Error("the next conflict does not begin anew")
	}
}

// When the other writer is known to be gone, a key that was given up is repaired at once. If that
// was one process of many, such tries come less and less often, too.
func TestWithoutTheOtherWriterItIsRepairedAtOnce(t *testing.T) {
	p := dampingOf(policy.Contested{})
	_, d, _ := fight(p, nil, noon, time.Hour, time.Second)
	at := d.Last().Add(10 * time.Minute)
	if r := p.judge(d, at, false); r.repair {
		t.Fatal("while the other runs it is repaired")
	}
	if r := p.judge(d, at, true); !r.repair || !r.retry {
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

// If another program is quicker than a repair, the key is contested. Nothing failed, and what needs
// the key goes on with the value that is there. A person who asks for the repair is told that it
// failed.
func TestWhoIsQuickerThanARepairQuarrels(t *testing.T) {
	p := dampingOf(policy.Contested{Repairs: 2, Within: values.Duration(time.Hour)})
	conf := tasks.File{Meta: tasks.Meta{From: "test"}, Path: "/etc/a", Content: []byte("1"), Mode: 0o644}
	key := conf.Owns()[0]
	change := &tasks.Change{Items: []tasks.Item{{Key: key, Op: tasks.Update}}}
	for _, c := range []struct {
		pods, afresh bool
		recent       []time.Time
		want         report.State
		within       time.Duration
	}{
		{pods: true, recent: []time.Time{noon}, want: report.Waits, within: PodsPause},
		{pods: true, recent: []time.Time{noon.Add(-time.Hour), noon}, want: report.Contested, within: PodsPause},
		{recent: []time.Time{noon}, want: report.Waits, within: time.Hour},
		{recent: []time.Time{noon.Add(-time.Minute), noon}, want: report.Contested, within: 6 * time.Hour},
		{afresh: true, recent: []time.Time{noon}},
		{want: ""}, // this is no repair
	} {
		d := &Judge{damping: p, now: noon, force: c.afresh, pods: func(tasks.Task) bool { return c.pods }, found: changes.NewRepairs()}
		if len(c.recent) > 0 {
			d.found.Put(key, &ledger.Drift{Recent: c.recent, Repairs: 7}, nil)
		}
		l := d.Quicker(conf, change)
		if c.want == "" {
			if l != nil {
				t.Errorf("%+v: got %+v", c, l)
			}
			continue
		}
		if l == nil || l.State != c.want || l.End() != nil || l.Until.Sub(noon) > c.within || !d.Repairs().LookAgain().Equal(l.Until) {
			t.Errorf("%+v: Quicker returns %+v", c, l)
		}
	}
}
