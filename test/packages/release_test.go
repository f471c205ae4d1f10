package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/program"
	"github.com/netwright/netwright/test/release"
)

func TestMain(m *testing.M) { os.Exit(program.Main(m)) }

// run runs a program of this machine, which must succeed, and returns its output.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// released makes a release and returns its directory.
func released(t testing.TB, version string, args ...string) string {
	t.Helper()
	out := t.TempDir()
	if said, err := release.Make(t, out, version, args...).CombinedOutput(); err != nil {
		t.Fatalf("make a release: %v\n%s", err, said)
	}
	return out
}

// small returns a small program in place of the agent, for tests of only the package around it.
func small(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// versions makes two versions of a kind of package for this machine. Their programs differ by one
// byte after the end.
func versions(t testing.TB, kind string) (older, newer string) {
	t.Helper()
	one, two := program.Agent(t), filepath.Join(t.TempDir(), "agent")
	content, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(two, append(content, '\n'), 0o755); err != nil {
		t.Fatal(err)
	}
	return release.Package(t, kind, "v1.0.0", runtime.GOARCH, one), release.Package(t, kind, "v1.1.0", runtime.GOARCH, two)
}
