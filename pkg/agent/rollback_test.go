package agent

import (
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
)

// A rollback gives back what its revision did not have and a later one took: a file that was there
// before, whether the documents still want ours or have let go of it. What no later revision took
// stays, and so does what somebody changed since.
// The lines that keep it: rollback_back.go; prune.go, prune and sort; revise.go, settleRemoved.
func TestARollbackBringsBackWhatWasThere(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	const conf, ourConf = "/etc/cni/net.d/10-x.conflist", `{"name":"ours"}`
	was := map[string]string{
		"/etc/hosts": "127.0.0.1 store\n", conf: "{}", "/etc/early": "theirs", "/etc/changed": "theirs",
		"/etc/let-go": "theirs", "/etc/kept": "theirs",
	}
	for path, content := range was {
		put(t, root, path, content)
	}
	if err := os.Chmod(root+"/etc/hosts", 0o640); err != nil {
		t.Fatal(err)
	}
	a, kept := file("/etc/a", "1"), file("/etc/kept", "ours")
	mustConverge(t, root, a, kept, file("/etc/early", "ours")) // 1
	mustConverge(t, root, a, kept)                             // 2, whose host has our /etc/early still
	later := []tasks.Task{a, kept, file("/etc/hosts", "ours"), file("/etc/changed", "ours"),
		file("/etc/new", "ours"), file(conf, ourConf)}
	mustConverge(t, root, append(later, file("/etc/let-go", "ours"))...) // 3
	mustConverge(t, root, later...)                                      // 4
	put(t, root, "/etc/changed", "a person's")

	p, err := onRoot(root).Rollback(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/etc/hosts": was["/etc/hosts"], "/etc/let-go": "theirs", "/etc/early": "ours",
		"/etc/changed": "a person's", "/etc/kept": "ours", conf: ourConf,
	}
	for path, content := range want {
		if got := read(t, root, path); got != content {
			t.Errorf("%s is %q, want %q", path, got, content)
		}
	}
	if info, err := os.Stat(root + "/etc/hosts"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("/etc/hosts: %v, %v", info, err)
	}
	if there(root, "/etc/new") {
		t.Error("what the revision did not have is there")
	}
	for _, stays := range []string{"file:/etc/changed is not brought back: somebody changed it", "file:" + conf + " is not brought back"} {
		if !strings.Contains(said(p), stays) {
			t.Errorf("it does not say %q:\n%s", stays, said(p))
		}
	}
	entries, _, _ := entriesOf(t, root)
	if _, known := entries["file:/etc/hosts"]; known {
		t.Error("what was given back is ours still")
	}
	p, err = onRoot(root).Converge(t.Context(), nil)
	if err != nil || p.Summary.Changes() > 0 || strings.Contains(said(p), "brought back") {
		t.Errorf("the next pass: %v\n%s", err, said(p))
	}
	if _, err := onRoot(root).Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustConverge(t, root, later...)
	if got := read(t, root, "/etc/hosts"); got != "ours" {
		t.Errorf("after resume /etc/hosts is %q", got)
	}
	mustConverge(t, root, a, kept) // documents that let go of it leave it, as ever
	if got := read(t, root, "/etc/hosts"); got != "ours" {
		t.Errorf("without a rollback /etc/hosts is %q", got)
	}
	if _, err := onRoot(root).Rollback(t.Context(), 2); err != nil { // the one that the node is at
		t.Fatal(err)
	}
	if got := read(t, root, "/etc/hosts"); got != was["/etc/hosts"] {
		t.Errorf("after a rollback to the revision that the node is at /etc/hosts is %q", got)
	}
}

// A sysctl comes back too, but for those that others rely on once they are set.
// The line that keeps it: rollback_back.go; tasks/sysctl_shared.go.
func TestARollbackBringsSysctlsBack(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	pass := Pass{Host: host.Options{Root: "/", Sandbox: true}, Log: onRoot("/").Log}
	sysctl := func(key string) string {
		t.Helper()
		data, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(key, ".", "/"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(data))
	}
	const plain, shared = "net.ipv4.ip_default_ttl", "net.ipv4.ip_forward"
	ttl, forward := sysctl(plain), sysctl(shared)
	if ttl == "77" || forward != "0" {
		t.Fatalf("a network namespace with ttl %s, forwarding %s", ttl, forward)
	}
	a := file("/etc/a", "1")
	set := []tasks.Task{a, tasks.Sysctl{Key: plain, Value: "77"}, tasks.Sysctl{Key: shared, Value: "1"}}
	for _, list := range [][]tasks.Task{{a}, set} {
		if _, err := pass.Converge(t.Context(), wanting(list...)); err != nil {
			t.Fatal(err)
		}
	}
	if sysctl(plain) != "77" || sysctl(shared) != "1" {
		t.Fatal("the sysctls were not set")
	}
	p, err := pass.Rollback(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if sysctl(plain) != ttl || sysctl(shared) != "1" {
		t.Errorf("after the rollback the ttl is %s, want %s; forwarding is %s\n%s",
			sysctl(plain), ttl, sysctl(shared), said(p))
	}
}
