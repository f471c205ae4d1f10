package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/needs"
)

// TestSandboxProvesPodsAndLeavesNothing is what `make run` shows, with the real
// CNI plugins: two pods ping, the second run has nothing to do, and of all that
// nothing is left on the host.
func TestSandboxProvesPodsAndLeavesNothing(t *testing.T) {
	needs.Root(t)
	needs.Tool(t, "ip", "nft")
	store := t.TempDir()
	archive, sum := assets.CNIArchive(t)
	cluster := filepath.Join(store, "demo.example.com")
	if err := os.CopyFS(store, os.DirFS("../../examples/bridge")); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(cluster, "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	doc = fmt.Appendf(doc, "  assets:\n  - name: cni-plugins\n    arch:\n      %s: {sha256: %s, urls: [plugins.tgz]}\n", runtime.GOARCH, sum)
	if err := os.WriteFile(filepath.Join(cluster, "cluster.yaml"), doc, 0o644); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(archive); err != nil || os.WriteFile(filepath.Join(cluster, "plugins.tgz"), content, 0o644) != nil {
		t.Fatalf("copy %s into the store: %v", archive, err)
	}

	onHost(t, func() {
		plan := planned(t, store)
		before := leftovers(plan)
		out, err := exec.Command("agent", "--once", "--sandbox", "--store", store, "--node", "node-1").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
			return
		}
		for _, want := range []string{
			"✓ pod-1  100.96.1.2      → pod-2 ", "→ gateway     100.96.1.1 ", "→ node's eth0 10.0.0.11 ", "✓ pod-2  100.96.1.3      → pod-1 ",
			"\nnothing to do; ",
		} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%q is missing:\n%s", want, out)
			}
		}
		after := leftovers(plan)
		for _, all := range []map[string]string{before, after} {
			all["mounts"] = standing(all["mounts"])
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("left on the host:\n%s", diff)
		}
	})
}

// onHost runs f where nobody else changes anything meanwhile: on a thread with mounts and network
// of its own.
func onHost(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespaces
		err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_NEWNET)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// planned is what a run would change outside of the sandbox.
func planned(t *testing.T, store string) report.Plan {
	t.Helper()
	var plan report.Plan
	out, err := exec.Command("agent", "--dry-run", "--store", store, "--node", "node-1", "-o", "json").Output()
	if code := exitCode(err); code != int(cli.ExitChanges) {
		t.Errorf("dry run: exit code %d\n%s", code, out)
	}
	if err := json.Unmarshal(out, &plan); err != nil {
		t.Error(err)
	}
	return plan
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exited, ok := err.(*exec.ExitError); ok {
		return exited.ExitCode()
	}
	return -1
}

// standing are the mounts whose mount point still exists. When somebody else on this machine
// removes the directory or file that a mount of his is on, the kernel takes that mount out of every
// namespace.
func standing(mountinfo string) string {
	var out strings.Builder
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(fields[4])
		if _, err := os.Lstat(point); err == nil {
			out.WriteString(line)
		}
	}
	return out.String()
}

// leftovers is all that a sandbox could leave: mounts, network, sysctls, and the files and keys of
// its plan.
func leftovers(plan report.Plan) map[string]string {
	out := map[string]string{}
	for _, args := range [][]string{
		{"ip", "-o", "link"}, {"ip", "-o", "addr"}, {"ip", "route", "show", "table", "all"}, {"ip", "rule"}, {"nft", "list", "ruleset"},
	} {
		text, err := exec.Command(needs.Path(args[0]), args[1:]...).CombinedOutput()
		out[strings.Join(args, " ")] = fmt.Sprint(string(text), err)
	}
	mounts, err := os.ReadFile("/proc/thread-self/mountinfo")
	out["mounts"] = fmt.Sprint(string(mounts), err)
	paths := []string{"/run/netwright", "/run/netns/netwright-pod-1", "/run/netns/netwright-pod-2", "/var/lib/cni/networks/netwright-bridge"}
	for _, step := range plan.Steps {
		for _, it := range step.Items {
			kind, name, _ := strings.Cut(it.Key, ":")
			switch kind {
			case "file":
				paths = append(paths, name)
			case "sysctl":
				paths = append(paths, "/proc/sys/"+strings.ReplaceAll(name, ".", "/"))
			}
		}
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		out[path] = fmt.Sprint(string(content), err)
	}
	return out
}
