package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sets are the sizes of a run, each with what the one before has.
var sets = []string{"test", "ci", "all"}

// lane says what a suite spends its time on.
type lane int

const (
	computes lane = iota // it keeps all processors busy
	waits                // it waits for nodes, servers and clocks
	builds               // it builds programs of others, where none are cached: that begins at once, and the others find them
)

// workers are the lanes of the suites that run at once. What computes has a lower priority, so that
// who waits is not late.
var workers = []lane{computes, waits, waits, builds}

// suite is one row: a command and how its failures are judged.
type suite struct {
	name string
	set  string // the smallest set that has it
	lane lane
	dir  string   // where it runs, below the root of the repository
	args []string // of go test; without any: command
	env  []string
	// full is added to env in the set all, where what a smaller set samples runs in full.
	full    []string
	command []string
	rare    string // why a failure of it is never run again: "" if it may be
}

const (
	// Go's own limit for a suite, far above what it takes: it ends what hangs and shows where.
	timeout, fullTimeout = "-timeout=75m", "-timeout=12h"
	// go vet is what lint runs, and of all its analyzers: that of go test would have its own
	// results.
	unvetted = "-vet=off"
	// stripped spares the linker what only a debugger reads: two hundred programs of tests are
	// linked in a run.
	stripped = "-ldflags=-s"
	// parallel is how many tests of one suite wait side by side.
	parallel = "-parallel=4"
)

const (
	packages   = "github.com/netwright/netwright/"
	kubernetes = "NETWRIGHT_KUBERNETES=1"
	unit       = "unit" // the suite of all packages that no other has
)

// Tests of test/e2e and test/cleanup by what they are about: a suite of each, so that they run side
// by side. What no pattern has stays in the suite of its package.
const (
	machines = "^Test(Images|Machine|SELinux|FactsOnEC2|NetworksLeaveNothingInAMachine)$" // emulated
	proxy    = "^TestKubernetesKubeletProxyModes$"
	pods     = "^Test(Pods|Containerd|Kubenet|Switch|Calico|Verify|Bootstrap|Shared|Network|Firewalld|Udev)"
	hooks    = "^Test(Hook|AHook|WhatAHook|ReadyWaits)"
	boots    = "^Test(AFile|AnAbsentStore|ABoot|FirstBoot|TheBoot|NodeBoots|NothingWaits|MixedFleet|Upgrade|APackage|AUnitFile|Unit|OneDaemon)"
	undoing  = "^Test(Checkpoint|StoreOutage|WhatAChange|Undo|ResetThat|ContainerdIsTakenBack|AChangedConf|DefaultProbes|Daemon|Drift|Fights|Confirm|StatedPeers)"
)

// named are the suites that are not just "the rest". The longest of a lane stand first.
var named = []suite{
	{name: "torture", set: "test", lane: waits, dir: "test/torture", args: []string{"-count=1", "."},
		full: []string{"NETWRIGHT_TORTURE=full"}, rare: "kills, power cuts and fuzzing"},
	{name: "machines", set: "test", lane: waits, args: []string{"-run=" + machines, "./test/e2e"}, full: []string{"NETWRIGHT_IMAGES=1"}},
	{name: "undo", set: "test", lane: waits, args: []string{"-run=" + undoing, "./test/e2e"}, full: []string{"NETWRIGHT_DRIFT=full"}},
	{name: "proxy", set: "ci", lane: waits, args: []string{"-count=1", "-run=" + proxy, "./test/e2e"}, env: []string{kubernetes}},
	{name: "e2e", set: "test", lane: waits, args: []string{"-skip=" + machines + "|" + pods + "|" + hooks + "|" + boots + "|" + undoing, "./test/e2e"}},
	{name: "hooks", set: "test", lane: waits, args: []string{"-run=" + hooks, "./test/e2e"}},
	{name: "cleanup", set: "test", lane: waits, args: []string{"-skip=" + machines, "./test/cleanup"}, full: []string{"NETWRIGHT_PAIRS=full"}},
	{name: "pods", set: "test", lane: waits, args: []string{"-run=" + pods, "-skip=" + undoing, "./test/e2e"}},
	{name: "kubelet", set: "ci", lane: waits, args: []string{"-count=1", "-run=Kubernetes", "-skip=" + proxy, "./test/e2e"},
		env: []string{kubernetes}},
	{name: "boots", set: "test", lane: waits, args: []string{"-run=" + boots, "./test/e2e"}},
	{name: "bench", set: "ci", lane: waits, // a table for people: no figure fails it
		command: []string{"go", "test", unvetted, stripped, timeout, "-short", "-run=^$", "-bench=NodeJob", "-benchtime=1x", "./bench"}},
	{name: "packages", set: "test", lane: waits, args: []string{"./test/packages"}},
	{name: "witness", set: "test", lane: waits, args: []string{"./test/witness"}, full: []string{"NETWRIGHT_WITNESS=2000"},
		rare: "the safety witness"},
	{name: "modules", set: "test", lane: waits, args: []string{"-run=" + machines, "./test/cleanup"}, full: []string{"NETWRIGHT_MODULES=full"}},
	{name: "reset", set: "test", lane: waits, args: []string{"./test/reset"}},
	{name: "daemons", set: "ci", lane: waits, args: []string{"-count=1", "-run=Kubernetes", "./test/cleanup"}, env: []string{kubernetes},
		full: []string{"NETWRIGHT_MODULES=full"}},
	{name: "dryrun", set: "test", lane: waits, args: []string{"./test/dryrun"}, rare: "dry-run purity"},
	{name: "kind", set: "test", lane: waits, args: []string{"./test/kind"}},
	{name: "toxic", set: "test", lane: waits, args: []string{"./test/toxic"}},
	{name: "storm", set: "test", lane: waits, args: []string{"./test/storm"}, full: []string{"NETWRIGHT_STORM=1000"}},
	{name: "images", set: "all", lane: waits, args: []string{"-count=1", "./images"}, env: []string{"NETWRIGHT_IMAGES=1"}},
	{name: "kubernetes", set: "ci", lane: builds, args: []string{"-count=1", "./test/kubernetes/..."}, env: []string{kubernetes}},
	{name: "plugins", set: "test", lane: builds, args: []string{"./test/plugins"}, full: []string{"NETWRIGHT_PLUGINS=full"}},
	{name: "alerts", set: "test", lane: builds, dir: "test/alerts", args: []string{"-count=1", "."}},
	{name: "lint", set: "ci", lane: computes, command: []string{"make", "lint"}},
	{name: "rules", set: "test", lane: computes, dir: "tools", args: []string{"-count=1", "./..."}},
	{name: "race", set: "test", lane: computes, env: []string{"CGO_ENABLED=1"}, rare: "races",
		args: []string{"-race", "./pkg/daemon", "./pkg/reconcile/...", "./pkg/graph/...", "./pkg/publish/...", "./pkg/statestore/..."}},
	{name: "packaging", set: "test", lane: computes, dir: "packaging", args: []string{"./..."}},
	{name: "release", set: "ci", lane: computes, env: []string{"NETWRIGHT_RELEASE=1"}, args: []string{"-count=1", "-run=ARM64", "./test/packages"}},
}

// suites are the named ones, and that of every package of the module that none of them has.
func suites() ([]suite, error) {
	rest, err := otherPackages()
	if err != nil {
		return nil, err
	}
	return append(slices.Clone(named), suite{name: unit, set: "test", lane: computes, args: rest, full: []string{"NETWRIGHT_VM=1"}}), nil
}

// otherPackages lists the packages of the module whose every test no named suite runs.
func otherPackages() ([]string, error) {
	cmd := exec.Command("go", "list", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages of the module: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(pkg string) bool {
		return slices.ContainsFunc(named, func(s suite) bool { return s.whole(strings.TrimPrefix(pkg, packages)) })
	}), nil
}

// whole says that the suite has a package of the root's module: all of its tests run in it, or in
// it and its siblings. What the race detector looks at is not run a second time without it.
func (s suite) whole(pkg string) bool {
	return s.set == "test" && slices.ContainsFunc(s.args, func(arg string) bool {
		below, tree := strings.CutSuffix(arg, "/...")
		at := filepath.Join(s.dir, below)
		return !strings.HasPrefix(arg, "-") && (at == pkg || tree && strings.HasPrefix(pkg, at+"/"))
	})
}

// root is the repository: go run -C tools stands in tools.
const root = ".."

// sized is the suite as a set runs it.
func (s suite) sized(set string) suite {
	if set == "all" {
		s.env = append(slices.Clone(s.env), s.full...)
	}
	return s
}

// argv is the command of the suite.
func (s suite) argv(extra []string) []string {
	if len(s.args) == 0 {
		return s.command
	}
	limit := timeout
	if len(s.full) > 0 && slices.Contains(s.env, s.full[0]) {
		limit = fullTimeout
	}
	flags := []string{"go", "test", "-json", unvetted, stripped, limit}
	if s.lane != computes {
		flags = append(flags, parallel)
	}
	return slices.Concat(flags, extra, s.args)
}

// shown is the command for eyes.
func (s suite) shown(extra []string) string {
	if s.name == unit {
		return "go test, every package that no other suite has"
	}
	return strings.Join(s.argv(extra), " ")
}

// again is the command that runs tests of one package of the suite once more, alone.
func (s suite) again(pkg, test string) []string {
	flags := slices.DeleteFunc(slices.Clone(s.args), func(arg string) bool {
		return !strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "-run=") || strings.HasPrefix(arg, "-count=")
	})
	return slices.Concat([]string{"go", "test", "-json", unvetted, stripped, timeout, "-count=1", "-run=^" + test + "$"}, flags, []string{pkg})
}
