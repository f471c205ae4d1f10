// Package release makes the files of `make release` for tests: packages of programs, their sums and
// signatures.
package release

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/netwright/netwright/test/program"
)

// Time is when the commit of such a release was made, in seconds of Unix.
const Time = "1700000000"

// tools are what a release is made with.
var tools struct {
	sync.Once
	packager, manual string
}

func build(t testing.TB) {
	t.Helper()
	tools.Do(func() {
		dir, root := program.Dir(t), program.Repository(t)
		packager, manual := filepath.Join(dir, "packager"), filepath.Join(dir, "manual")
		run(t, exec.Command("go", "build", "-C", filepath.Join(root, "packaging"), "-buildvcs=false", "-o", packager, "."))
		run(t, exec.Command(program.Agent(t), "manual", manual))
		tools.packager, tools.manual = packager, manual
	})
	if tools.packager == "" {
		t.Fatal("what makes packages was not built: see the first test that failed")
	}
}

// Packager returns the program that makes packages. A package that calls Packager must call
// [program.Main] in its TestMain.
func Packager(t testing.TB) string {
	t.Helper()
	build(t)
	return tools.packager
}

// Make returns a command that makes a release of a version, in the form of git, in a directory.
// args say of which programs. A package that calls Make must call [program.Main] in its TestMain.
func Make(t testing.TB, out, version string, args ...string) *exec.Cmd {
	t.Helper()
	build(t)
	return exec.Command(tools.packager, append([]string{"-root", program.Repository(t), "-version", version, "-time", Time, "-manual", tools.manual, "-out", out}, args...)...)
}

// made are the directories of the packages that were made, each once in a process.
var made struct {
	sync.Mutex
	dirs map[string]string // by version, architecture and the program's sha256
}

// Package is the package of a kind, deb or rpm, of a program that is for an architecture, in
// GOARCH's words.
func Package(t testing.TB, kind, version, arch, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	made.Lock()
	defer made.Unlock()
	what := fmt.Sprintf("%s %s %x", version, arch, sha256.Sum256(content))
	out := made.dirs[what]
	if out == "" {
		out = filepath.Join(program.Dir(t), fmt.Sprintf("packages-%d", len(made.dirs)))
		run(t, Make(t, out, version, "-program", arch+"="+file))
		if made.dirs == nil {
			made.dirs = map[string]string{}
		}
		made.dirs[what] = out
	}
	found, err := filepath.Glob(filepath.Join(out, "*."+kind))
	if err != nil || len(found) != 1 {
		t.Fatalf("packages: %v (%v)", found, err)
	}
	return found[0]
}

func run(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
}
