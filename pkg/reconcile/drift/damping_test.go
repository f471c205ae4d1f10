package drift

import (
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/ledger"
)

// fight has somebody change a key back at once after every repair. It looks at the key in this
// interval, and returns the times of the repairs, in seconds.
func fight(p damping, d *ledger.Drift, begin time.Time, length, every time.Duration) (repairs []int, last *ledger.Drift, end decision) {
	for now := begin; now.Sub(begin) < length; now = now.Add(every) {
		if end = p.judge(d, now, false); end.repair {
			d = p.noted(d, end, now)
			repairs = append(repairs, int(now.Sub(begin).Seconds()))
		}
	}
	return repairs, d, end
}

func equal(t *testing.T, what string, got, want []int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: repaired at %v, want %v", what, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: repaired at %v, want %v", what, got, want)
		}
	}
}

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestAQuarrelIsKeptSmallAndGivenUp(t *testing.T) {
	p := dampingOf(policy.Contested{})
	got, d, end := fight(p, nil, noon, time.Hour, time.Second)
	equal(t, "an hour", got, []int{0, 3, 13, 51, 201})
	if !end.contested || !end.until.Equal(noon.Add(201*time.Second+time.Hour)) {
		t.Errorf("after it %+v", end)
	}
	// The agent tries again less and less often, but at least once a day.
	got, d, end = fight(p, d, noon.Add(time.Hour), 9*24*time.Hour, time.Minute)
	if len(got) != 12 || d.Repairs != 17 || d.Trials != 12 {
		t.Errorf("%d repairs in nine days of a conflict, %d trials: %v", len(got), d.Trials, got)
	}
	if day := got[len(got)-1] - got[len(got)-2]; day != 24*60*60 || !end.contested {
		t.Errorf("the last two are %d s apart, %+v", day, end)
	}
}

func TestWhoeverStopsHasPeace(t *testing.T) {
	p := dampingOf(policy.Contested{})
	_, d, _ := fight(p, nil, noon, time.Hour, time.Second)
	tried := d.Last().Add(time.Hour)
	d = p.noted(d, p.judge(d, tried, false), tried)
	if d.Trials != 1 {
		t.Fatalf("the first repair after the rest is no trial: %+v", d)
	}
	// The key stays right. If somebody changes it within the rest, it is still given up.
	if r := p.judge(d, tried.Add(time.Minute), false); r.repair || !r.contested {
		t.Errorf("a minute after the trial: %+v", r)
	}
	// A change long after that begins anew.
	if r := p.judge(d, tried.Add(4*time.Hour), false); !r.repair || r.retry {
		t.Errorf("hours after the trial: %+v", r)
	}
}

// A person changes something now and then, and each time the agent repairs it at once.
func TestNowAndThenIsNoQuarrel(t *testing.T) {
	p := dampingOf(policy.Contested{})
	var d *ledger.Drift
	for i := range 200 {
		now := noon.Add(time.Duration(i) * 3 * time.Minute)
		r := p.judge(d, now, false)
		if !r.repair {
			t.Fatalf("drift %d, three minutes after the one before, waits: %+v", i, r)
		}
		if d = p.noted(d, r, now); len(d.Recent) > p.repairs {
			t.Fatalf("the ledger has %d times", len(d.Recent))
		}
	}
}

func TestQuarrelsAsDocumentsSay(t *testing.T) {
	p := dampingOf(policy.Contested{Repairs: 3, Within: values.Duration(20 * time.Second)})
	got, _, end := fight(p, nil, noon, 100*time.Second, time.Second)
	equal(t, "three in twenty seconds", got, []int{0, 2, 7})
	if !end.contested || !end.until.Equal(noon.Add(127*time.Second)) {
		t.Errorf("fight returns %+v", end)
	}
	many := dampingOf(policy.Contested{Repairs: 1000, Within: values.Duration(time.Hour)})
	if got, _, _ = fight(many, nil, noon, 30*time.Second, 50*time.Millisecond); len(got) != 600 {
		t.Errorf("a thousand an hour: %d repairs in 600 looks", len(got))
	}
}

// The clock of a node may be wrong before NTP sets it.
func TestAClockThatIsSetBack(t *testing.T) {
	p := dampingOf(policy.Contested{})
	_, d, _ := fight(p, nil, noon, time.Hour, time.Second)
	if r := p.judge(d, noon.Add(-24*time.Hour), false); !r.repair {
		t.Errorf("a day before the conflict: %+v", r)
	}
}
