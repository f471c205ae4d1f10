package kind

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tree is the root of the module.
const tree = "../.."

// overlay lays files over those of the tree, by their path in the tree. It returns the file for the
// compiler's flag -overlay.
func overlay(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.Abs(tree)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for path, text := range files {
		file := filepath.Join(dir, filepath.Base(path))
		write(t, file, text)
		replace[filepath.Join(root, path)] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	write(t, file, string(list))
	return file
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// table returns the table of kinds with one more constant and row; "" adds none.
func table(t *testing.T, constant, row string) string {
	t.Helper()
	text := read(t, tree+"/pkg/tasks/kind.go")
	for _, add := range []struct{ before, text string }{
		{"\n\trowAwait\n", constant}, {"\n\t// These are not recorded", row},
	} {
		if strings.Count(text, add.before) != 1 {
			t.Fatalf("the table has no place %q", add.before)
		}
		text = strings.Replace(text, add.before, add.text+add.before, 1)
	}
	return text
}

// kindFiles returns the three files of the kind: its own, its test's, and the table with its row.
func kindFiles(t *testing.T, table string) map[string]string {
	t.Helper()
	return map[string]string{
		"pkg/tasks/hosts.go":      read(t, "testdata/hosts.go"),
		"pkg/tasks/hosts_test.go": read(t, "testdata/hosts_test.go"),
		"pkg/tasks/kind.go":       table,
	}
}

// run runs the go command in the tree.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A kind without its row does not compile, and neither does a row without one of its columns.
//
// The lines that keep it: pkg/tasks/task.go, Task (row); pkg/tasks/kind.go, the length of kinds,
// and rows without field names.
func TestWithoutItsRowAKindDoesNotCompile(t *testing.T) {
	t.Parallel()
	row := read(t, "testdata/row.txt")
	own := strings.Replace(read(t, "testdata/hosts.go"), "func (Hosts) row() row { return rowHosts }", "", 1)
	for _, c := range []struct {
		name, constant, row, want string
		file                      string // in place of the kind's own
	}{
		{name: "nothing in the table", want: "undefined: rowHosts"},
		{name: "a constant without a row", constant: "\trowHosts\n", want: "cannot use &kinds"},
		{name: "a row without a constant", row: row, want: "undefined: rowHosts"},
		{name: "a row without a column", constant: "\trowHosts\n", row: strings.Replace(row, ", allModes", "", 1),
			want: "too few values in struct literal"},
		{name: "a kind that names no row", file: own, want: "missing method row"},
		{name: "a kind that cannot bring its keys back", constant: "\trowHosts\n", row: row,
			file: strings.ReplaceAll(read(t, "testdata/hosts.go"), "Restore(ctx ", "Rest(ctx "), want: "missing method Restore"},
	} {
		files := kindFiles(t, table(t, c.constant, c.row))
		if c.file != "" {
			files["pkg/tasks/hosts.go"] = c.file
		}
		out, err := run(t, "build", "-overlay", overlay(t, files), "./pkg/tasks")
		if err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%s: want a build that fails with %q: %v\n%s", c.name, c.want, err, out)
		}
	}
}

// built builds the agent with the kind. The kind's test passes, and so does the table's.
func built(t *testing.T) (agent string) {
	t.Helper()
	flag := overlay(t, kindFiles(t, table(t, "\trowHosts\n", read(t, "testdata/row.txt"))))
	if out, err := run(t, "test", "-overlay", flag, "-run", "^(TestHosts|TestTheTable.*)$", "./pkg/tasks"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	agent = filepath.Join(t.TempDir(), "agent")
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-overlay", flag, "-o", agent, "./cmd/agent"}
	if out, err := run(t, args...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return agent
}
