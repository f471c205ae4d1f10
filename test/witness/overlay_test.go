package witness

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/program"
)

// edited writes the files of overlays, and returns the list of them for the compiler.
func edited(t *testing.T, overlays ...Overlay) (list string) {
	t.Helper()
	root, texts := program.Repository(t), map[string]string{}
	for _, o := range overlays {
		for _, e := range o.Edits {
			text, ok := texts[e.File]
			if !ok {
				data, err := os.ReadFile(filepath.Join(root, e.File))
				if err != nil {
					t.Fatalf("%s: ReadFile returns %v", o.Name, err)
				}
				text = string(data)
			}
			if n := strings.Count(text, e.Old); n != 1 {
				t.Fatalf("%s (%s): %s has %d times, want once: %s", o.Name, o.Rule, e.File, n,
					e.Old)
			}
			texts[e.File] = strings.Replace(text, e.Old, e.New, 1)
		}
	}
	dir, replace := t.TempDir(), map[string]string{}
	for file, text := range texts {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		write(t, to, text)
		replace[filepath.Join(root, file)] = to
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	list = filepath.Join(dir, "overlay.json")
	write(t, list, string(data))
	return list
}

// agentWithout builds the agent without a rule.
func agentWithout(t *testing.T, o Overlay) string {
	t.Helper()
	agent := filepath.Join(program.Dir(t), "without-"+o.Name)
	compile(t, edited(t, o), "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", agent,
		"./cmd/agent")
	return agent
}

func compile(t *testing.T, list string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", append([]string{"build", "-overlay", list}, args...)...)
	cmd.Dir, cmd.Env = program.Repository(t), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// Every overlay still applies to the present files, and they compile. No two overlays change one
// line.
func TestOverlaysApply(t *testing.T) {
	compile(t, edited(t, append([]Overlay{Off}, Overlays...)...), "./pkg/tasks",
		"./pkg/checkpoint", "./pkg/reconcile")
}
