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
	"github.com/netwright/netwright/test/cache"
	"github.com/netwright/netwright/test/needs"
)

// TestSandboxProvesPodsAndLeavesNothing tests what `make run` shows, with the real CNI plugins. Two
// pods ping each other, the second run has nothing to do, and nothing of it stays on the host.
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

// If a sandbox cannot be set up, the output has the plan, and says why there is no sandbox. The
// kernel stacks two overlays (FILESYSTEM_MAX_STACK_DEPTH), and the sandbox would be a third. The
// lines that keep it: sandbox.go, runSandbox; pkg/host/sandbox/sandbox.go, Enter.
func TestSandboxThatCannotBeSetUpShowsThePlan(t *testing.T) {
	needs.Root(t)
	store := t.TempDir()
	base, err := os.MkdirTemp("/var/tmp", "stacked") // /tmp is the sandbox's own
	if err != nil || os.CopyFS(store, os.DirFS("../../examples/bridge")) != nil {
		t.Fatal(err)
	}
	defer os.Remove(base)
	onHost(t, func() {
		stack := fmt.Sprintf(`mount -t tmpfs stacked %[1]s; cd %[1]s; mkdir l m u w v x
mount -t overlay one -o lowerdir=l,upperdir=u,workdir=w m; mount -t overlay two -o lowerdir=m,upperdir=v,workdir=x m`, base)
		if out, err := exec.Command("sh", "-ec", stack).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
			return
		}
		var out, errOut strings.Builder
		cmd := exec.Command("agent", "--once", "--sandbox", "--store", store, "--node", "node-1")
		cmd.Stdout, cmd.Stderr = &out, &errOut
		code := exitCode(cmd.Run())
		why := "the run stops here: no sandbox on this host: make the sandbox's root: mount an overlay of " + base
		if code != int(cli.ExitError) || !strings.Contains(out.String(), " link:cbr0 ") || !strings.Contains(errOut.String(), why) {
			t.Errorf("exit %d\n%s\n%s", code, out.String(), errOut.String())
		}
	})
}

// onHost runs f on a thread with mounts and network of its own, so that no other program changes
// anything meanwhile.
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

// planned returns the changes that a run would make outside of the sandbox.
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

// standing returns the mounts whose mount point still exists. If another program of this machine
// removes the directory or the file on which it has a mount, the kernel removes that mount from
// every namespace. It leaves out those of other suites, which build and boot nodes in their cache.
func standing(mountinfo string) string {
	var out strings.Builder
	others, _ := cache.Dir()
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(fields[4])
		if _, err := os.Lstat(point); err == nil && (others == "" || !strings.HasPrefix(point, others+"/")) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// leftovers returns all that a sandbox could leave: mounts, network, sysctls, and the files and
// keys of its plan.
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
