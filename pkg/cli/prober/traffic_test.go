package prober

import (
	"testing"

	"github.com/netwright/netwright/pkg/verify"
	"github.com/netwright/netwright/pkg/verify/traffic"
)

// Of a proof only those checks count that could be tried and that depend on no document. The line
// that keeps it: traffic.go, verdicts.
func TestWhatOfAProofWithPodsCounts(t *testing.T) {
	got := verdicts([]verify.Result{
		{Check: "pods", State: verify.Waiting, Seen: "no CNI conf"},
		{Check: "pod to pod", State: verify.OK},
		{Check: "pod to outside", State: verify.NotApplicable},
		{Check: traffic.Hairpin, State: verify.Failed},
		{Check: "MTU", State: verify.Failed, Seen: "a black hole"},
	})
	if len(got) != 3 || got["pods"] == nil || got["pod to pod"] != nil || got["MTU"] == nil || got["MTU"].Error() != "a black hole" {
		t.Errorf("verdicts returns %v", got)
	}
}
