package execute

import (
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/tasks"
)

func TestArchivesHaveTimeForASlowMirror(t *testing.T) {
	for _, n := range []graph.Node{tasks.Archive{}, &tasks.Archive{}} {
		if got := ApplyDeadline(n); got != fetch.Limit {
			t.Errorf("%T: %s", n, got)
		}
	}
	if got := ApplyDeadline(tasks.File{}); got != applyLimit {
		t.Errorf("a file: %s", got)
	}
}
