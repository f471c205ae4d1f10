// Package program builds programs of this module for the tests that run them. A program is built as
// in a release (Makefile), and once in a process.
package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/netwright/netwright/test/cache"
)

var built struct {
	sync.Mutex
	dir   string
	paths map[string]string // architecture, package and build tags → program
}

// Agent returns the agent, with the build tags of a variant if there are any.
func Agent(t testing.TB, tags ...string) string {
	t.Helper()
	return Build(t, "cmd/agent", tags...)
}

// Build returns the program of a package, named by its directory below the root of the module. A
// package that calls Build must call [Main] in its TestMain.
func Build(t testing.TB, dir string, tags ...string) string {
	t.Helper()
	return build(t, runtime.GOARCH, dir, tags...)
}

// AgentFor returns the agent for another architecture, named as in GOARCH. A person who only runs
// tests has nothing of it in the cache.
func AgentFor(t testing.TB, arch string) string {
	t.Helper()
	return build(t, arch, "cmd/agent")
}

func build(t testing.TB, arch, dir string, tags ...string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	key := arch + " " + dir + " " + strings.Join(tags, ",")
	if path, ok := built.paths[key]; ok {
		return path
	}
	if built.paths == nil {
		built.paths = map[string]string{}
	}
	path := filepath.Join(directory(t), fmt.Sprintf("%s-%d", filepath.Base(dir), len(built.paths)))
	if err := link(path, arch, dir, tags); err != nil {
		t.Fatalf("build %s: %v", dir, err)
	}
	built.paths[key] = path
	return path
}

// link builds a program, unless another process of this checkout has built it from the same
// sources, and gives it a name of this process' own at path: a later build of other sources does
// not change what the name stands for.
func link(path, arch, dir string, tags []string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	shared := filepath.Join(root, ".cache", "programs", cache.Key(append([]string{arch, dir}, tags...)...), filepath.Base(dir))
	if err := os.MkdirAll(filepath.Dir(shared), 0o755); err != nil {
		return err
	}
	lock, err := cache.Lock(shared + ".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	cmd := exec.Command("make", "--silent", "--no-print-directory", "-C", root, "program", "VERSION=devel",
		"DIR="+dir, "TAGS="+strings.Join(tags, ","), "OUT="+shared)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if os.Link(shared, path) == nil {
		return nil
	}
	return copyProgram(shared, path) // another file system
}

func copyProgram(from, to string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, program, 0o755)
}

// Dir returns a directory for other files that are built once in a process. A package that calls
// Dir must call [Main] in its TestMain.
func Dir(t testing.TB) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	return directory(t)
}

func directory(t testing.TB) string {
	t.Helper()
	if built.dir == "" {
		var err error
		if built.dir, err = os.MkdirTemp("", "netwright-test-"); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(built.dir, 0o755); err != nil { // for who is not root
			t.Fatal(err)
		}
	}
	return built.dir
}

// Repository returns the root of this checkout, for a test of any package.
func Repository(t testing.TB) string {
	t.Helper()
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func repository() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// Main runs the tests of a package, then the given functions, and removes what was built. Pass its
// result to os.Exit.
func Main(m *testing.M, then ...func()) int {
	code := m.Run()
	for _, do := range then {
		do()
	}
	built.Lock()
	defer built.Unlock()
	if err := os.RemoveAll(built.dir); err != nil {
		fmt.Fprintln(os.Stderr, "remove what was built:", err)
	}
	return code
}
