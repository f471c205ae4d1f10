package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64 // seconds
}

// outcome is what the events of one command said.
type outcome struct {
	passed, failed, skipped int // tests, subtests counted
	lines                   []string
	packages                []string // a line for each package, as go test prints it
	failures                []failure
	broken                  []failure // packages that did not come to their end: a build, a panic, a time-out
	tests                   []timed
	output                  map[string]*bytes.Buffer
}

// timed is a test and how long it took, in seconds.
type timed struct {
	test    string
	seconds float64
}

// failure is a test that failed, with all that it and its subtests printed. Without a test it is a
// package.
type failure struct {
	pkg, test string
	output    string
}

// neverAgain is what a test prints of which a failure must stay red. Package test/rerun prints it.
const neverAgain = "a failure of this test is never run again: "

// read takes in the output of go test -json. What is no event is kept as it is.
func (r *outcome) read(in io.Reader) error {
	r.output = map[string]*bytes.Buffer{}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &e) != nil {
				r.lines = append(r.lines, line)
			} else {
				r.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// take takes in one event.
func (r *outcome) take(e event) {
	top, _, sub := strings.Cut(e.Test, "/")
	key := e.Package + " " + top
	switch e.Action {
	case "build-output":
		r.lines = append(r.lines, e.Output)
	case "output":
		if r.output[key] == nil {
			r.output[key] = &bytes.Buffer{}
		}
		r.output[key].WriteString(e.Output)
		if e.Test == "" && isResult(e.Output) {
			r.packages = append(r.packages, e.Output)
		}
	case "pass", "skip", "fail":
		if e.Test != "" {
			r.count(e.Action)
		}
		if !sub { // a subtest's output is in its parent's
			r.end(e, key)
		}
	}
}

// end takes in the end of a test or of a package.
func (r *outcome) end(e event, key string) {
	var output string
	if b := r.output[key]; b != nil {
		output = b.String()
	}
	delete(r.output, key)
	if e.Test != "" {
		r.tests = append(r.tests, timed{e.Test, e.Elapsed})
	}
	switch {
	case e.Action != "fail":
	case e.Test != "":
		r.failures = append(r.failures, failure{e.Package, e.Test, output})
	case !strings.Contains("\n"+output, "\nFAIL\n"): // package testing prints it when all tests have run
		for key, b := range r.output { // tests that did not end
			if strings.HasPrefix(key, e.Package+" ") {
				output += b.String()
			}
		}
		r.broken = append(r.broken, failure{pkg: e.Package, output: output})
	}
}

func (r *outcome) count(action string) {
	switch action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
	case "skip":
		r.skipped++
	}
}

// isResult says that a line is a package's result.
func isResult(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t")
}
