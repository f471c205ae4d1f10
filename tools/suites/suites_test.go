package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is a module of tests that fail in each possible way. once fails once in a directory.
const module = `package a

import (
	"os"
	"testing"
)

func TestGood(t *testing.T)  { t.Run("sub", func(*testing.T) {}) }
func TestLucky(t *testing.T) { once(t) }
func TestKill(t *testing.T) {
	t.Run("sub", func(t *testing.T) { t.Log("a failure of this test is never run again: it kills"); once(t) })
}
func TestBad(t *testing.T)    { t.Error("always") }
func TestWorse(t *testing.T)  { t.Error("always") }
func TestWorst(t *testing.T)  { t.Error("always") }
func TestPanic(t *testing.T)  { once(t); panic("down") }
func TestSkip(t *testing.T)   { t.Skip("not here") }
func once(t *testing.T) {
	if os.Mkdir("failed", 0o755) == nil {
		t.Error("the first time")
	}
}
`

func TestFaultsAreToldFromBadLuck(t *testing.T) {
	for _, c := range []struct {
		name, run, rare string
		code            int
		says, never     []string
	}{
		{name: "all pass", run: "Good|Skip", code: 0, says: []string{"a  ", "2 passed, 0 failed, 1 skipped"}, never: []string{"UNSTABLE", "again, alone"}},
		{name: "passes alone", run: "Good|Lucky", code: 0,
			says: []string{"UNSTABLE: example.com/a TestLucky", "the first time", "--- second output\npassed: ok", "1 unstable", "3 passed, 0 failed"}},
		{name: "fails twice", run: "Good|Bad", code: 1, says: []string{"FAILED TWICE: example.com/a TestBad", "FAILED\n", "2 passed, 1 failed"}},
		{name: "one fails twice, one does not", run: "Lucky|Bad", code: 1, says: []string{"UNSTABLE: example.com/a TestLucky", "FAILED TWICE: example.com/a TestBad", "FAILED: a example.com/a TestBad:"}, never: []string{"FAILED: a example.com/a TestLucky"}},
		{name: "four failures", run: "Lucky|Bad|Worse|Worst", code: 1, says: []string{"4 tests failed, which is more than bad luck"}, never: []string{"again, alone"}},
		{name: "a kill", run: "Kill", code: 1, says: []string{"nothing is run again: a: TestKill: it kills"}, never: []string{"again, alone"}},
		{name: "a suite of races", run: "Lucky", rare: "races", code: 1, says: []string{"a failure of races is rare by nature"}, never: []string{"again, alone"}},
		{name: "a panic", run: "Lucky|Panic", code: 1, says: []string{"did not come to its end", "panic: down"}, never: []string{"again, alone"}},
		{name: "no build", run: "Good", code: 1, says: []string{"did not come to its end", "undefined: nothing"}, never: []string{"again, alone"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, text := t.TempDir(), module
			if c.name == "no build" {
				text += "var _ = nothing\n"
			}
			for name, content := range map[string]string{"go.mod": "module example.com/a\n", "a_test.go": text} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			r := &runner{root: dir, out: &out}
			results := r.runAll(t.Context(), []suite{{name: "a", args: []string{"-run=" + c.run, "."}, rare: c.rare}})
			code := report(&out, results, r.runAgain(t.Context(), results))
			if code != c.code {
				t.Errorf("exit code %d, want %d:\n%s", code, c.code, &out)
			}
			for _, want := range c.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it does not say %q:\n%s", want, &out)
				}
			}
			for _, never := range c.never {
				if strings.Contains(out.String(), never) {
					t.Errorf("it says %q:\n%s", never, &out)
				}
			}
		})
	}
}

// A worker without suites of its own lane takes waiting suites of other lanes. Here four run at
// once, and each waits for the others.
func TestFreeLanesTakeWhatWaits(t *testing.T) {
	const meet = `echo >"$0"; for i in $(seq 600); do if [ -e a ] && [ -e b ] && [ -e c ] && [ -e d ]; then exit 0; fi; sleep 0.1; done; exit 1`
	var four []suite
	for _, name := range []string{"a", "b", "c", "d"} {
		four = append(four, suite{name: name, lane: waits, command: []string{"sh", "-c", meet, name}})
	}
	r := &runner{root: t.TempDir(), out: io.Discard}
	for _, result := range r.runAll(t.Context(), four) {
		if result.err != nil {
			t.Errorf("%s: result.err is %v", result.name, result.err)
		}
	}
}

// The rest leaves out the packages of the race detector, and has all packages without a suite.
func TestTheRestIsWhatNoSuiteHas(t *testing.T) {
	t.Chdir("..") // suites run from there
	rest, err := otherPackages()
	if err != nil {
		t.Fatal(err)
	}
	for pkg, want := range map[string]bool{
		"pkg/host": true, "pkg/checkpoint": true, "cmd/agent": true, "pkg/daemon": false, "pkg/reconcile": false, "pkg/graph": false, "pkg/statestore/s3": false, "test/e2e": false, "test/torture": false, "test/node": true,
	} {
		if slices.Contains(rest, packages+pkg) != want {
			t.Errorf("%s is in the rest: %t, want %t", pkg, !want, want)
		}
	}
}
