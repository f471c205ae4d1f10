package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// result is how a suite went.
type result struct {
	suite
	outcome
	took time.Duration
	cpu  time.Duration // of all its processes that were waited for
	err  error         // of the command; nil for exit code 0
}

// runner runs suites.
type runner struct {
	root  string   // the repository
	extra []string // more flags for go test
	mu    sync.Mutex
	out   io.Writer
}

// runAll runs suites side by side: one for each worker, in their order. A worker whose lane has
// nothing left takes what waits. The results have the order of the suites.
func (r *runner) runAll(ctx context.Context, all []suite) []result {
	results := make([]result, len(all))
	queues := map[lane]chan int{}
	for _, lane := range workers {
		queues[lane] = make(chan int, len(all))
	}
	for i, s := range all {
		queues[s.lane] <- i
	}
	for _, queue := range queues {
		close(queue)
	}
	take := func(lane lane) {
		for i := range queues[lane] {
			results[i] = r.run(ctx, all[i])
			r.show(results[i])
		}
	}
	var done sync.WaitGroup
	for _, lane := range workers {
		done.Go(func() {
			take(lane)
			take(waits)
		})
	}
	done.Wait()
	return results
}

// uncollected is for compilers. They end before their garbage matters, and to collect it is a
// quarter to a third of what they compute.
var uncollected = []string{"GOGC=off", "GOMEMLIMIT=1GiB"}

// compile compiles what the suites stand on before any of them begins: side by side they would
// compile the same, each for itself. What does not compile fails in the suite that has it.
func (r *runner) compile(ctx context.Context, all []suite) {
	builds := []suite{{lane: computes, command: []string{"go", "build", "./..."}, env: uncollected}}
	for _, s := range all {
		if slices.Contains(s.args, "-race") {
			builds = append(builds, suite{lane: computes, command: slices.Concat([]string{"go", "build"}, s.args), env: slices.Concat(s.env, uncollected)})
		}
	}
	for _, b := range builds {
		start := time.Now()
		t := r.command(ctx, b, b.command)
		r.say("=== %s: %.0f s\n", strings.Join(b.command, " "), time.Since(start).Seconds())
		if t.err != nil {
			r.say("%s", strings.Join(t.lines, ""))
		}
	}
}

func (r *runner) run(ctx context.Context, s suite) result {
	r.say("=== %s: %s\n", s.name, s.shown(r.extra))
	start := time.Now()
	result := r.command(ctx, s, s.argv(r.extra))
	result.took = time.Since(start)
	return result
}

// command runs one command of a suite.
func (r *runner) command(ctx context.Context, s suite, argv []string) result {
	t := result{suite: s}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = filepath.Join(r.root, s.dir)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what is interrupted ends with what it started
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.err = err
		return t
	}
	cmd.Stderr = cmd.Stdout
	if t.err = cmd.Start(); t.err != nil {
		return t
	}
	if s.lane == computes { // who waits for a clock goes first
		if err := syscall.Setpriority(syscall.PRIO_PGRP, cmd.Process.Pid, 5); err != nil {
			r.say("suites: lowering the priority of %s: %v\n", s.name, err)
		}
	}
	t.err = errors.Join(t.read(out), cmd.Wait())
	t.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return t
}

// show prints what a suite has to say once it has ended.
func (r *runner) show(result result) {
	var text strings.Builder
	verdict := "passed"
	if result.err != nil {
		verdict = "FAILED: " + result.err.Error()
	}
	for _, f := range slices.Concat(result.failures, result.broken) {
		fmt.Fprintf(&text, "--- output of %s %s\n%s", f.pkg, f.test, f.output)
	}
	if result.err != nil || len(result.args) == 0 {
		text.WriteString(strings.Join(result.lines, ""))
	}
	for _, line := range result.packages {
		text.WriteString(line)
	}
	fmt.Fprintf(&text, "=== %s: %s in %.0f s\n", result.name, verdict, result.took.Seconds())
	r.say("%s", text.String())
}

func (r *runner) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, format, args...)
}
