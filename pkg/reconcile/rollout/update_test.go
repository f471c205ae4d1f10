package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/config/policy"
	"github.com/netwright/netwright/pkg/config/values"
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
