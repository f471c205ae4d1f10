package probation

import (
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/test/needs"
)

// When a change is undone, only its own trials end. A unit that got new settings in an earlier pass
// is still judged by them. What was kept back stays so. The line that keeps it: probation.go,
// TakeBack.
func TestTrialsOfEarlierPassesGoOn(t *testing.T) {
	needs.Root(t) // files belong to root
	h, err := host.Open(t.Context(), host.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	units := func() (out []string) {
		list, err := ledger.Trials(h.Live.Files)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			out = append(out, one.Unit+" "+string(one.State))
		}
		return out
	}
	early := []ledger.Probation{{Unit: "a.service", State: ledger.ProbationOpen}, {Unit: "b.service", State: ledger.ProbationSuppressed, Tries: 3}}
	want := []string{"a.service open", "b.service held"}
	if err := ledger.SaveTrials(t.Context(), h.Files, early); err != nil {
		t.Fatal(err)
	}
	ts := Load(h.Live.Files, nil, false)
	for _, opened := range []bool{false, true} {
		if opened { // b was kept back for former documents
			ts.opened, ts.was = true, early
			ts.list = []ledger.Probation{early[0], {Unit: "b.service", State: ledger.ProbationOpen}, {Unit: "c.service", State: ledger.ProbationOpen}}
		}
		if err := ts.TakeBack(t.Context(), h); err != nil || !slices.Equal(units(), want) {
			t.Errorf("opened %v: %v, %v; want %v", opened, units(), err, want)
		}
	}
}
