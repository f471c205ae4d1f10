package program

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/cache"
)

// earlier is the commit of the agents that nodes have which are not upgraded yet: c5d410c.
const earlier = "c5d410ca95ed438afe1812a5fb68b2c7bb5258e6"

// Earlier returns the agent of a commit that fleets still run. Tests check with it that old and new
// agents can use the same ledgers and stores.
func Earlier(t testing.TB) string {
	t.Helper()
	return At(t, earlier)
}

// At returns the agent of a commit. It is built once for each machine, from the history of the
// repository, or of the repository from which this clone was made. If neither has the commit, the
// test is skipped, in CI too, because a copy of the sources alone has no history. The files that
// such an agent wrote are beside the tests that read them, and are read anywhere.
func At(t testing.TB, commit string) string {
	t.Helper()
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	if git(root, "cat-file", "-e", commit+"^{commit}") != nil {
		if err := git(root, "fetch", "--quiet", "--depth=1", "origin", commit); err != nil {
			t.Skipf("needs commit %.7s of this repository: clone it with its history, or `git fetch --unshallow`: %v", commit, err)
		}
	}
	key := cache.Key(commit, runtime.GOARCH, runtime.Version())
	return filepath.Join(cache.Built(t, "earlier", key, func(dir string) error { return buildAt(root, commit, dir) }), "agent")
}

// buildAt leaves the program alone in a directory.
func buildAt(root, commit, dir string) error {
	sources := filepath.Join(dir, "sources")
	archive := filepath.Join(dir, "sources.tar")
	if err := os.Mkdir(sources, 0o755); err != nil {
		return err
	}
	if err := git(root, "archive", "--output="+archive, commit, "go.mod", "go.sum", "cmd", "pkg", "systemd"); err != nil {
		return err
	}
	if err := run(sources, "tar", "--extract", "--file="+archive); err != nil {
		return err
	}
	if err := run(sources, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, "agent"), "./cmd/agent"); err != nil {
		return err
	}
	return run(dir, "rm", "-r", sources, archive)
}

// git runs a command in the repository, which may be another user's.
func git(root string, args ...string) error {
	return run(root, "git", append([]string{"-c", "safe.directory=*"}, args...)...)
}

func run(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
