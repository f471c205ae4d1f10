package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/config/values"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
)

// The nodes of a fleet are spread evenly, over the places of a percent and over the splay, and
// never past the end of a window.
func TestTheFleetIsSpread(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	u := policy.Update{Splay: values.Duration(time.Hour), Window: []policy.Window{{From: 12*60 + 10, Until: 12*60 + 20, TimeZone: "UTC"}}}
	const nodes = 10_000
	var places [100]int
	var minutes [10]int
	other := 0
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		places[Bucket(name, "a")]++
		if Bucket(name, "a") < 10 && Bucket(name, "b") < 10 {
			other++
		}
		at, _ := when(u, name, now.Add(-time.Hour), now)
		minutes[int(at.Sub(now.Add(10*time.Minute))/time.Minute)]++
	}
	for i, n := range places {
		if n < 50 || n > 150 {
			t.Errorf("place %d has %d nodes of %d", i, n, nodes)
		}
	}
	for i, n := range minutes {
		if n < 850 || n > 1150 {
			t.Errorf("minute %d of the window has %d nodes of %d", i, n, nodes)
		}
	}
	if other < 50 || other > 150 {
		t.Errorf("%d of the first %d nodes of one change are the first of another", other, nodes/10)
	}
}

// The uptime measures a wait as long as it is of the same boot. Otherwise the wall clock does. The
// lines that keep it: splay.go, free.
func TestAWaitIsMeasuredByTheUptime(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	here := ledger.Clock{Now: now, Boot: "b", Up: 3 * time.Hour}
	for name, c := range map[string]struct {
		u     ledger.Update
		clock ledger.Clock
		want  time.Time
	}{
		"it begins":               {ledger.Update{}, here, now},
		"an hour":                 {ledger.Update{Free: ago(time.Hour), FreeBoot: "b", FreeUp: 2 * time.Hour}, here, ago(time.Hour)},
		"the clock is adjusted":   {ledger.Update{Free: ago(time.Hour - time.Minute), FreeBoot: "b", FreeUp: 2 * time.Hour}, here, ago(time.Hour - time.Minute)},
		"the clock is set ahead":  {ledger.Update{Free: ago(24 * time.Hour), FreeBoot: "b", FreeUp: 2 * time.Hour}, here, ago(time.Hour)},
		"the clock is set back":   {ledger.Update{Free: ago(-time.Hour), FreeBoot: "b", FreeUp: 2 * time.Hour}, here, ago(time.Hour)},
		"another boot":            {ledger.Update{Free: ago(24 * time.Hour), FreeBoot: "a", FreeUp: 2 * time.Hour}, here, ago(24 * time.Hour)},
		"another boot, set back":  {ledger.Update{Free: ago(-time.Hour), FreeBoot: "a", FreeUp: 2 * time.Hour}, here, now},
		"an uptime of the future": {ledger.Update{Free: ago(time.Hour), FreeBoot: "b", FreeUp: 4 * time.Hour}, here, ago(time.Hour)},
		"no uptime":               {ledger.Update{Free: ago(time.Hour), FreeBoot: "b", FreeUp: 2 * time.Hour}, ledger.Clock{Now: now, Boot: "b"}, ago(time.Hour)},
		"no uptime at first":      {ledger.Update{Free: ago(time.Hour), FreeBoot: "b"}, here, ago(time.Hour)},
	} {
		if free(&c.u, now, c.clock); !c.u.Free.Equal(c.want) {
			t.Errorf("%s: since %s, want %s", name, c.u.Free, c.want)
		}
	}
}

// A repair would be made without the changed configuration, too. The lines that keep it: update.go,
// intended.
func TestARepairHasNoPartInTheClassOfAChange(t *testing.T) {
	step := func(class tasks.Class, repair bool) report.Step {
		return report.Step{State: report.Planned, Class: class.String(), ClassWhy: class.String(), Repair: repair}
	}
	for name, c := range map[string]struct {
		steps   []report.Step
		class   tasks.Class
		changes bool
	}{
		"nothing":               {nil, 0, false},
		"a repair":              {[]report.Step{step(tasks.ClassReplace, true)}, 0, false},
		"a change and a repair": {[]report.Step{step(tasks.ClassReplace, true), step(tasks.ClassLive, false)}, tasks.ClassLive, true},
		"two changes":           {[]report.Step{step(tasks.ClassReload, false), step(tasks.ClassLive, false)}, tasks.ClassReload, true},
	} {
		class, why, changes := intended(&report.Plan{Steps: c.steps})
		if class != c.class || changes != c.changes || changes && why != class.String() {
			t.Errorf("%s: %s (%s), changes %t; want %s, %t", name, class, why, changes, c.class, c.changes)
		}
	}
	replaces := &report.Plan{Class: tasks.ClassReplace.String(), ClassWhy: "the network", Steps: []report.Step{step(tasks.ClassLive, false)}}
	if class, why, changes := intended(replaces); class != tasks.ClassReplace || why != "the network" || !changes {
		t.Errorf("a replacement that no step shows: %s (%s), changes %t", class, why, changes)
	}
	replaces.Steps[0].Repair = true
	if class, why, changes := intended(replaces); class != 0 || why != "" || changes {
		t.Errorf("a replacement that is a repair: %s (%s), changes %t", class, why, changes)
	}
}
