// Package cleanup proves that what a network leaves goes, all of it, and nothing else: for each network a script that knows nothing of ours makes
// every line of what it is known to leave, among decoys one letter off and things of other owners.
package cleanup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/node"
)

// build compiles a command of this repository, static: it runs on other roots.
func build(t *testing.T, dir, pkg string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return path
}

// networks are those that have a script.
func networks(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/networks/*.sh")
	if err != nil || len(files) == 0 {
		t.Fatalf("scripts: %v, %v", files, err)
	}
	var out []string
	for _, f := range files {
		out = append(out, strings.TrimSuffix(filepath.Base(f), ".sh"))
	}
	return out
}

// report fails for each FAIL of what the proof printed and returns its lines.
func report(t *testing.T, out string) {
	t.Helper()
	t.Log("\n" + out)
	if strings.Contains(out, "FAIL") {
		t.Error("see FAIL above")
	}
	for _, n := range networks(t) {
		if !strings.Contains(out, "LINES "+n+" made ") {
			t.Errorf("%s: not proved", n)
		}
	}
}

func TestNetworksLeaveNothingInANode(t *testing.T) {
	needs.Root(t)
	dir := t.TempDir()
	copies := map[string]string{"/lab/clean": build(t, dir, "./clean"), "/lab/pin": build(t, dir, "./pin")}
	for _, name := range []string{"state.sh", "prelude.sh", "decoys.sh", "prove.sh", "cgroup", "networks"} {
		copies["/lab/"+name] = filepath.Join("testdata", name)
	}
	n := node.NewFabric(t).Node(t, node.Options{Name: "n1", Address: "10.77.0.11", Copies: copies})
	report(t, n.Run(t.Context(), "/bin/sh", "-c", "cd /lab && sh ./prove.sh "+strings.Join(networks(t), " ")+" 2>&1").Stdout)
}
