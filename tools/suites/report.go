package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// report prints the end of a run: what was unstable, what failed, seconds for each suite. Its
// result is the exit code: 0 if all passed, at the second attempt at the latest.
func report(out io.Writer, results []result, attempts []attempt) int {
	red := map[string]int{} // suite → failures that stay
	for _, r := range results {
		if r.err != nil {
			red[r.name] = max(1, len(r.failures))
		}
	}
	var unstable int
	for _, a := range attempts {
		if a.passed {
			red[a.suite]--
			unstable++
			fmt.Fprintf(out, "\nUNSTABLE: %s %s failed, and passed when it was run again alone.\n", a.first.pkg, a.first.test)
		} else {
			fmt.Fprintf(out, "\nFAILED TWICE: %s %s\n", a.first.pkg, a.first.test)
		}
		fmt.Fprintf(out, "--- first output\n%s--- second output\n%s", a.first.output, a.second)
	}
	for _, r := range results {
		for _, f := range slices.Concat(r.failures, r.broken) {
			if red[r.name] > 0 && !slices.ContainsFunc(attempts, func(a attempt) bool { return a.passed && a.first == f }) {
				fmt.Fprintf(out, "\nFAILED: %s %s %s: its output is above\n", r.name, f.pkg, f.test)
			}
		}
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\nsuite\tseconds\tprocessor\tpassed\tfailed\tskipped\t")
	var passed, failed, skipped int
	for _, r := range results {
		verdict := ""
		if red[r.name] > 0 {
			verdict = "FAILED"
			failed += max(1, r.failed)
		}
		passed, skipped = passed+r.passed, skipped+r.skipped
		fmt.Fprintf(table, "%s\t%.0f\t%.0f\t%d\t%d\t%d\t%s\n", r.name, r.took.Seconds(), r.cpu.Seconds(), r.passed, r.failed, r.skipped, verdict)
	}
	table.Flush()
	fmt.Fprintf(out, "\nslowest tests, seconds:\n%s", slowest(results))
	if unstable > 0 {
		fmt.Fprintf(out, "\n%d unstable: mend them, they cost the next run\n", unstable)
	}
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", passed+unstable, failed, skipped)
	if failed > 0 {
		return 1
	}
	return 0
}

// slowest lists the tests that took longest, a line each: how far a suite can be cut into parts
// that run side by side.
func slowest(results []result) string {
	type row struct {
		suite string
		timed
	}
	var rows []row
	for _, r := range results {
		for _, t := range r.tests {
			rows = append(rows, row{r.name, t})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.seconds, a.seconds) })
	var lines strings.Builder
	for _, r := range rows[:min(len(rows), 12)] {
		fmt.Fprintf(&lines, "%6.0f  %s %s\n", r.seconds, r.suite, r.test)
	}
	return lines.String()
}
