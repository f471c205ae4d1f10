// Package repo_test checks the files of the repository for faults that no analyzer of Go finds.
package repo_test

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// skipped has directories without sources: what is built, and intended faults of the tests of
// rules.
var skipped = []string{".git", ".cache", "bin", "testdata"}

// files yields each source file with its path in the repository.
func files(t *testing.T, visit func(path string, data []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains(skipped, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err == nil && !bytes.ContainsRune(data, 0) {
			visit(name, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The repository has no built program or archive, since what is built stays out of it. testdata has
// what earlier releases wrote, unchanged.
func TestNothingBuiltIsTracked(t *testing.T) {
	list, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skipf("needs a checkout: git ls-files: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err == nil && bytes.ContainsRune(data, 0) && !strings.Contains(name, "/testdata/") {
			t.Errorf("%s is no text: run `git rm --cached %s`, and let a test build or fetch it", name, name)
		}
	}
}

func TestGoIsFormatted(t *testing.T) {
	files(t, func(path string, data []byte) {
		if filepath.Ext(path) != ".go" {
			return
		}
		formatted, err := format.Source(data)
		if err != nil {
			t.Errorf("%s: Source returns %v", path, err)
		} else if !bytes.Equal(formatted, data) {
			t.Errorf("%s: not formatted: run gofmt -w", path)
		}
	})
}

// The size rule has a limit for all files that are not Go. Tables of data, generated files and the
// list of changes may be longer.
func TestFilesAreShort(t *testing.T) {
	written := []string{"LICENSE", "CHANGELOG.md", "go.sum", "sysctls.txt", "fields.tsv"}
	files(t, func(path string, data []byte) {
		if lines := bytes.Count(data, []byte("\n")); lines > 400 && filepath.Ext(path) != ".go" && !slices.Contains(written, filepath.Base(path)) &&
			!bytes.HasPrefix(data, []byte("<!-- Generated from ")) {
			t.Errorf("%s: %d lines, at most 400: split it by what changes for one reason", path, lines)
		}
	})
}

func TestWorkLeftHasAnIssue(t *testing.T) {
	left := regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	named := regexp.MustCompile(`\b(TODO|FIXME)\(#[0-9]+\)`)
	files(t, func(path string, data []byte) {
		if path == "tools/repo/repo_test.go" {
			return
		}
		for i, line := range strings.Split(string(data), "\n") {
			if left.MatchString(line) && !named.MatchString(line) {
				t.Errorf("%s:%d: work left without an issue: write TODO(#number), or do it", path, i+1)
			}
		}
	})
}

// A script goes on after a failed command unless it is told to stop, and then breaks something
// else.
func TestScriptsStopAtErrors(t *testing.T) {
	files(t, func(path string, data []byte) {
		first, rest, _ := strings.Cut(string(data), "\n")
		if !strings.HasPrefix(first, "#!") || !strings.HasSuffix(first, "sh") {
			if strings.HasSuffix(path, ".sh") {
				t.Errorf("%s: begins without #!/bin/sh", path)
			}
			return
		}
		if !regexp.MustCompile(`(?m)^set -[a-z]*e[a-z]*u`).MatchString(rest) {
			t.Errorf("%s: add a line with set -eu", path)
		}
		shell := "sh"
		if strings.HasSuffix(first, "bash") {
			shell = "bash"
		}
		if out, err := exec.Command(shell, "-n", filepath.Join(root, path)).CombinedOutput(); err != nil {
			t.Errorf("%s: does not parse: %s", path, out)
		}
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s: is a script and cannot be executed: chmod +x (%v)", path, err)
		}
	})
}

// ignored is a negated command of a shell that another one follows. With `set -e` a shell goes on
// where it fails.
var ignored = regexp.MustCompile("(?m)(?:^[ \t]*|[`\"']|; *|\\b(?:do|then) )! [^;&|{`\n]*;")

// A check that a shell ignores cannot fail: use `test ! …`, `if …; then exit 9; fi`, or `&&`.
func TestShellsIgnoreNoCheck(t *testing.T) {
	files(t, func(path string, data []byte) {
		if !strings.HasSuffix(path, "_test.go") && !bytes.HasPrefix(data, []byte("#!")) {
			return
		}
		for _, at := range ignored.FindAllIndex(data, -1) {
			t.Errorf("%s:%d: the shell ignores that %q fails", path, 1+bytes.Count(data[:at[0]], []byte("\n")), data[at[0]:at[1]])
		}
	})
}

func TestLicence(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil || !bytes.Contains(text, []byte("Apache License")) || !bytes.Contains(text, []byte("Version 2.0")) {
		t.Errorf("LICENSE is not the Apache License 2.0: %v", err)
	}
}

// A failure that a kill or a look at system calls causes is rare by nature, so such a test is never
// run again (tools/suites). The lists below have the tests whose failures are never run again, and
// the tests that kill only to clean up or to look at a supervisor.
func TestKillsAreNeverRunAgain(t *testing.T) {
	kills := regexp.MustCompile(`"KILL"|signal=KILL|-s KILL|kill -9|Process\.Kill\(\)|"strace"`)
	exempt := []string{"test/torture/", "test/witness/", "test/dryrun/", "test/child/", "test/trap/", "tools/repo/", "test/e2e/drift_node_test.go", "pkg/host/watch/node_test.go", "test/toxic/node_test.go", "test/setup_apt_test.go"}
	files(t, func(path string, data []byte) {
		if !strings.HasSuffix(path, "_test.go") || slices.ContainsFunc(exempt, func(e string) bool { return strings.HasPrefix(path, e) }) {
			return
		}
		if found := kills.Find(data); found != nil && !bytes.Contains(data, []byte("rerun.Never(")) {
			t.Errorf("%s has %s: say rerun.Never in the test that does it", path, found)
		}
	})
}
