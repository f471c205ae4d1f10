package witness

import "testing"

// A run fails if a node is lost, and if the documents are too tame or too wild. The lines that keep
// it: witness_test.go, lost, unfit and tame.
func TestJudge(t *testing.T) {
	of := func(applies, takes, refuses, loses int) (all []outcome) {
		for verdict, n := range map[verdict]int{applied: applies, taken: takes, refused: refuses} {
			for range n {
				all = append(all, outcome{verdict: verdict})
			}
		}
		for i := range loses {
			all[i].lost = "lost: ssh"
		}
		return all
	}
	for name, c := range map[string]struct {
		of                []outcome
		lost, unfit, tame int // number of complaints
	}{
		"as they should be":        {of(70, 20, 10, 30), 30, 0, 0},
		"one less lost":            {of(70, 20, 10, 29), 29, 0, 1},
		"none lost":                {of(60, 25, 15, 0), 0, 0, 1},
		"one lost":                 {of(60, 25, 15, 1), 1, 0, 1},
		"too few are applied":      {of(59, 26, 15, 0), 0, 1, 1},
		"too few are undone":       {of(75, 14, 11, 0), 0, 1, 1},
		"too many are refused":     {of(69, 15, 16, 0), 0, 1, 1},
		"nothing is applied":       {of(0, 0, 100, 0), 0, 3, 1},
		"there are no documents":   {nil, 0, 2, 1},
		"all are applied and lost": {of(100, 0, 0, 100), 100, 1, 0},
	} {
		got := [3]int{len(lost(c.of)), len(unfit(c.of)), len(tame(c.of))}
		if want := [3]int{c.lost, c.unfit, c.tame}; got != want {
			t.Errorf("%s: %d complaints (lost, unfit, tame), want %d", name, got, want)
		}
	}
}
