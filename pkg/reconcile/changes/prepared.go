package changes

import (
	"slices"

	"github.com/netwright/netwright/pkg/report"
)

// Prepared says that all of the first gate is right. What waits there (a pod CIDR that only a
// running kubelet brings) does not hold kubelet back, nor does what a boot failed with, or what
// fails alone: kubelet ran before without it. A plugin that is being fetched does. What is only
// planned is not made: a pass that ended before it changed anything has prepared nothing.
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
