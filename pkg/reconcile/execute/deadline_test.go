package execute

import (
	"testing"

	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/tasks"
)

func TestArchivesHaveTimeForASlowMirror(t *testing.T) {
	if got := ApplyDeadline(tasks.Archive{}); got != fetch.Limit {
		t.Errorf("an archive: %s", got)
	}
	if got := ApplyDeadline(tasks.File{}); got != applyLimit {
		t.Errorf("a file: %s", got)
	}
}
