package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/netwright/netwright/test/program"
)

func TestMain(m *testing.M) {
	os.Exit(program.Main(m, func() { os.RemoveAll(tools.dir) }))
}

// run runs a program of this machine that has to succeed and returns all that it printed.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// tools are what a release is made with.
var tools struct {
	sync.Once
	dir, packager, manual string
}

const commitTime = "1700000000"

func built(t testing.TB) (made struct{ packager, manual string }) {
	t.Helper()
	tools.Do(func() {
		var err error
		if tools.dir, err = os.MkdirTemp("", "netwright-packages-"); err != nil {
			t.Fatal(err)
		}
		packager, manual := filepath.Join(tools.dir, "packager"), filepath.Join(tools.dir, "manual")
		run(t, "go", "build", "-C", "../../packaging", "-buildvcs=false", "-o", packager, ".")
		run(t, "env", "SOURCE_DATE_EPOCH="+commitTime, program.Agent(t, "manual"), "manual", manual)
		tools.packager, tools.manual = packager, manual
	})
	if tools.packager == "" {
		t.Fatal("what makes packages was not built: see the first test that failed")
	}
	made.packager, made.manual = tools.packager, tools.manual
	return made
}

// release makes a release and returns its directory.
func release(t testing.TB, version string, args ...string) string {
	t.Helper()
	out, with := t.TempDir(), built(t)
	run(t, with.packager, append([]string{"-root", "../..", "-version", version, "-time", commitTime, "-manual", with.manual, "-out", out}, args...)...)
	return out
}

// small stands for the agent where only the package around it matters.
func small(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// versions are two of the agent, as packages for this machine by their kind: the same program, but for a byte after its end.
func versions(t testing.TB) (older, newer map[string]string) {
	t.Helper()
	one, two := program.Agent(t), filepath.Join(t.TempDir(), "agent")
	content, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(two, append(content, '\n'), 0o755); err != nil {
		t.Fatal(err)
	}
	packages := func(version, file string) map[string]string {
		dir, out := release(t, version, "-program", runtime.GOARCH+"="+file), map[string]string{}
		for _, kind := range []string{"deb", "rpm"} {
			found, err := filepath.Glob(filepath.Join(dir, "*."+kind))
			if err != nil || len(found) != 1 {
				t.Fatalf("packages: %v (%v)", found, err)
			}
			out[kind] = found[0]
		}
		return out
	}
	return packages("v1.0.0", one), packages("v1.1.0", two)
}
