package changes

import (
	"slices"

	"github.com/netwright/netwright/pkg/report"
)

// Prepared reports whether all tasks of the first gate are right. Three kinds of task do not hold
// kubelet back: tasks that wait (for a pod CIDR that only a running kubelet brings), tasks with
// which a boot failed, and isolated tasks, because kubelet ran without them before. A plugin that
// is being fetched does hold kubelet back, and so does a change that is planned and not made.
func Prepared(p *report.Plan) bool {
	if p == nil {
		return false
	}
	without := map[string]bool{}
	for _, s := range p.Steps {
		without[s.Key] = s.Refused == report.RefusedByBoot || s.Isolated
	}
	for _, s := range p.Steps {
		if s.Gate == GateName(0) && !without[s.Key] && !without[s.Because] &&
			(s.Fetching || slices.Contains(unmadeStates, s.State)) {
			return false
		}
	}
	return true
}

// unmadeStates are the states of a step whose change should have been made and was not.
var unmadeStates = []report.State{report.Planned, report.Failed, report.Skipped, report.Stopped}
