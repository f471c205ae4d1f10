package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// mostAgain is how many tests a run may run again. More failures than that are no bad luck.
const mostAgain = 3

// attempt is a test that was run once more, alone.
type attempt struct {
	suite  string
	first  failure
	second string // its output then
	passed bool
}

// runAgain runs the tests that failed once more, one after the other and alone, if bad luck may
// explain all of the run's failures: at most three tests, each of which ended, none of a kind whose
// failures are rare by nature (races, kills, power cuts, fuzzing, dry-run purity, the safety
// witness). Of those one failure in a hundred runs is what they look for.
func (r *runner) runAgain(ctx context.Context, results []result) []attempt {
	var failed int
	for _, result := range results {
		if why := result.stays(); result.err != nil && why != "" {
			r.say("suites: nothing is run again: %s: %s\n", result.name, why)
			return nil
		}
		failed += len(result.failures)
	}
	if failed > mostAgain {
		r.say("suites: nothing is run again: %d tests failed, which is more than bad luck\n", failed)
		return nil
	}
	var attempts []attempt
	for _, result := range results {
		for _, f := range result.failures {
			r.say("=== again, alone: %s %s\n", f.pkg, f.test)
			t := r.command(ctx, result.suite, result.again(f.pkg, f.test))
			a := attempt{suite: result.name, first: f, passed: t.err == nil && t.passed > 0}
			for _, second := range slices.Concat(t.failures, t.broken) {
				a.second += second.output
			}
			if a.passed {
				a.second = fmt.Sprintf("passed: %s", strings.Join(t.packages, ""))
			}
			attempts = append(attempts, a)
		}
	}
	return attempts
}

// stays says why a failed suite stays failed, "" if its tests may be run again.
func (r result) stays() string {
	switch {
	case r.rare != "":
		return "a failure of " + r.rare + " is rare by nature"
	case len(r.args) == 0 || len(r.failures) == 0 && len(r.broken) == 0:
		return "it is not a test that failed"
	case len(r.broken) > 0:
		return r.broken[0].pkg + " did not come to its end"
	}
	for _, f := range r.failures {
		if _, why, never := strings.Cut(f.output, neverAgain); never {
			why, _, _ = strings.Cut(why, "\n")
			return f.test + ": " + why
		}
	}
	return ""
}
