// Command suites runs the tests of this repository: suites side by side, each a `go test` or
// another command. It prints the output of what fails, and ends with a table of seconds for each
// suite.
//
// Under CI=true it tells a fault from bad luck: see again.go. The Makefile calls it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	list := flag.Bool("list", false, "say what would run, and stop")
	extra := flag.String("flags", "", "more flags for every go test, such as '-run TestX'")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "suites [flags] [test | ci | all | SUITE ...]: runs a set of suites, or those that are named; without a word the set test")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, *list, strings.Fields(*extra), flag.Args())
	stop()
	os.Exit(code)
}

// run is the program. Its result is the exit code: 0 all passed, 1 something failed, 2 bad command
// line.
func run(ctx context.Context, list bool, extra, words []string) int {
	chosen, err := choose(words)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		return 2
	}
	if list {
		for _, s := range chosen {
			fmt.Printf("%-12s %-4s %s\n", s.name, s.set, s.shown(nil))
		}
		return 0
	}
	r := &runner{root: root, extra: extra, out: os.Stdout}
	r.compile(ctx, chosen)
	results := r.runAll(ctx, chosen)
	var attempts []attempt
	if os.Getenv("CI") == "true" && ctx.Err() == nil {
		attempts = r.runAgain(ctx, results)
	}
	return report(os.Stdout, results, attempts)
}

// choose returns the suites of a set, or those that are named.
func choose(words []string) ([]suite, error) {
	all, err := suites()
	if err != nil {
		return nil, err
	}
	set := "test"
	if len(words) == 1 && slices.Contains(sets, words[0]) {
		set, words = words[0], nil
	}
	for _, word := range words {
		if !slices.ContainsFunc(all, func(s suite) bool { return s.name == word }) {
			return nil, fmt.Errorf("no suite is named %s; `go run -C tools ./suites -list all` shows them", word)
		}
	}
	var chosen []suite
	for _, s := range all {
		if slices.Contains(words, s.name) || len(words) == 0 && slices.Index(sets, s.set) <= slices.Index(sets, set) {
			chosen = append(chosen, s.sized(set))
		}
	}
	return chosen, nil
}
