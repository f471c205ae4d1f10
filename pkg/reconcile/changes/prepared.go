package changes

import (
	"slices"

	"github.com/netwright/netwright/pkg/report"
)

// Prepared says that all tasks of the first gate are right. Three kinds do not hold kubelet back:
// tasks that wait (for a pod CIDR that only a running kubelet brings), tasks that a boot failed
// with, and tasks that fail alone, for kubelet ran before without them. A plugin that is being
// fetched does hold it back, and so does a change that is planned and not made.
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

// unmadeStates are those of a step that was to be made and is not.
var unmadeStates = []report.State{report.Planned, report.Failed, report.Skipped, report.Stopped}
