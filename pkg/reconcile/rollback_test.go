package reconcile

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/netns"
	"github.com/netwright/netwright/test/pki"
)

// A rollback restores what its revision did not have and a later revision changed, such as a file
// that was there before. It does so whether the documents still want our file or no longer do. What
// no later revision changed stays, and so does what somebody changed since. The lines that keep it:
// pkg/reconcile/ownership/give_back.go; pkg/reconcile/ownership/removals.go, Prune and sort;
// pkg/reconcile/ownership/commit.go, commitRemoved.
func TestARollbackBringsBackWhatWasThere(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	const conf, ourConf = "/etc/cni/net.d/10-x.conflist", `{"name":"ours"}`
	was := map[string]string{
		"/etc/hosts": "127.0.0.1 store\n", conf: "{}", "/etc/early": "theirs", "/etc/changed": "theirs",
		"/etc/let-go": "theirs", "/etc/kept": "theirs",
	}
	for path, content := range was {
		hostroot.Put(t, root, path, content)
	}
	if err := os.Chmod(root+"/etc/hosts", 0o640); err != nil {
		t.Fatal(err)
	}
	a, kept := file("/etc/a", "1"), file("/etc/kept", "ours")
	mustConverge(t, root, a, kept, file("/etc/early", "ours")) // 1
	mustConverge(t, root, a, kept)                             // 2, which gives the host its /etc/early back
	later := []tasks.Task{a, kept, file("/etc/hosts", "ours"), file("/etc/changed", "ours"),
		file("/etc/new", "ours"), file(conf, ourConf)}
	mustConverge(t, root, append(later, file("/etc/let-go", "ours"))...) // 3
	mustConverge(t, root, later...)                                      // 4
	hostroot.Put(t, root, "/etc/changed", "a person's")

	p, err := onRoot(root).Rollback(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"/etc/hosts": was["/etc/hosts"], "/etc/let-go": "theirs", "/etc/early": "theirs",
		"/etc/changed": "a person's", "/etc/kept": "ours", conf: ourConf,
	}
	for path, content := range want {
		if got := hostroot.Read(t, root, path); got != content {
			t.Errorf("%s is %q, want %q", path, got, content)
		}
	}
	if info, err := os.Stat(root + "/etc/hosts"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("/etc/hosts: %v, %v", info, err)
	}
	if hostroot.There(root, "/etc/new") {
		t.Error("what the revision did not have is there")
	}
	for _, stays := range []string{"file:/etc/changed is not restored: somebody changed it", "file:" + conf + " is not restored"} {
		if !strings.Contains(said(p), stays) {
			t.Errorf("it does not say %q:\n%s", stays, said(p))
		}
	}
	entries, _, _ := entriesOf(t, root)
	if _, known := entries["file:/etc/hosts"]; known {
		t.Error("a restored file is still in the ledger")
	}
	p, err = onRoot(root).Converge(t.Context(), nil)
	if err != nil || p.Summary.Changes() > 0 || strings.Contains(said(p), "brought back") {
		t.Errorf("the next pass: %v\n%s", err, said(p))
	}
	if _, err := onRoot(root).Session().Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustConverge(t, root, later...)
	if got := hostroot.Read(t, root, "/etc/hosts"); got != "ours" {
		t.Errorf("after resume /etc/hosts is %q", got)
	}
	mustConverge(t, root, a, kept)
	if got := hostroot.Read(t, root, "/etc/hosts"); got != was["/etc/hosts"] {
		t.Errorf("when no document has it any more /etc/hosts is %q", got)
	}
}

// A node that is held at a revision waits for the CNI conf of that revision: without the conf no
// pod starts. The lines that keep it: pkg/reconcile/ownership/number_revisions.go, revise;
// pkg/reconcile/desired/pinned.go, FromRevision.
func TestARollbackWaitsForTheConf(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	const conf = "/etc/cni/net.d/10-flannel.conflist"
	hostroot.Put(t, root, conf, `{"cniVersion":"1.0.0","name":"cbr0","plugins":[{"type":"flannel"}]}`)
	hostroot.Put(t, root, "/opt/cni/bin/flannel", "")
	if err := os.Chmod(root+"/opt/cni/bin/flannel", 0o755); err != nil {
		t.Fatal(err)
	}
	wait := tasks.WaitConf{Network: "flannel", Writer: "its DaemonSet writes it", Dir: "/etc/cni/net.d",
		File: "10-flannel.conflist", BinDirs: []string{"/opt/cni/bin"}}
	mustConverge(t, root, file("/etc/a", "1"), wait)
	mustConverge(t, root, file("/etc/a", "2"))
	if err := os.Remove(root + conf); err != nil {
		t.Fatal(err)
	}
	p, err := onRoot(root).Rollback(t.Context(), 1)
	if err != nil || p.Summary.Waiting != 1 || !strings.Contains(said(p), "no 10-flannel.conflist in /etc/cni/net.d") {
		t.Errorf("%v, %d waiting\n%s", err, p.Summary.Waiting, said(p))
	}
}

// What is renewed stays in a rollback, each file of a set. What is in subdirectories of the
// directory of CNI confs also stays. The lines that keep it:
// pkg/reconcile/ownership/ledger_entries.go, taskOf; pkg/reconcile/ownership/give_back.go,
// staysInRollback.
func TestARollbackLeavesWhatIsRenewed(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	const kubeconfig, deep = "/etc/kubernetes/app.conf", "/etc/cni/net.d/multus.d/multus.kubeconfig"
	ca := pki.New(t, "ca")
	client := ca.Client("app")
	set := tasks.CertificateSet{
		Meta: tasks.Meta{From: "test", Secret: true}, Dir: "/etc/kubernetes/app",
		CA:   tasks.CertFile{Name: "ca.crt", PEM: []byte(ca.PEM), Mode: 0o644},
		Cert: tasks.CertFile{Name: "app.crt", PEM: []byte(client.Cert), Mode: 0o644},
		Key:  tasks.CertFile{Name: "app.key", PEM: []byte(client.Key), Mode: 0o600},
	}
	token := file(kubeconfig, "token 2")
	token.Secret = true
	want := map[string]string{
		set.Dir + "/ca.crt": ca.PEM, set.Dir + "/app.crt": client.Cert, set.Dir + "/app.key": client.Key,
		kubeconfig: "token 2", deep: "ours",
	}
	for path := range want {
		hostroot.Put(t, root, path, "old")
	}
	a := file("/etc/a", "1")
	mustConverge(t, root, a)
	mustConverge(t, root, a, set, token, file(deep, "ours"))
	p, err := onRoot(root).Rollback(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range want {
		if got := hostroot.Read(t, root, path); got != content {
			t.Errorf("%s is %q, want %q", path, got, content)
		}
		if !strings.Contains(said(p), "file:"+path+" is not restored: ") {
			t.Errorf("the plan does not say that %s is not restored:\n%s", path, said(p))
		}
	}
}

// A rollback does not restore an older certificate of its revision: the node keeps the current one.
// Files of the documents are restored, secret or not, and so is a unit's file. The lines that keep
// it: pkg/reconcile/desired/pinned.go, renew; pkg/reconcile/ownership/give_back.go, token;
// rollback.go, rollbackTo.
func TestARollbackKeepsWhatWasRotated(t *testing.T) {
	needs.Root(t) // files belong to root
	root := t.TempDir()
	const token, netplan, unit = "/etc/kubernetes/app.conf", "/etc/netplan/50.yaml", "/etc/systemd/system/x.service"
	was := map[string]string{netplan: "theirs", unit: "theirs"}
	for path, content := range was {
		hostroot.Put(t, root, path, content)
	}
	set := func(client pki.Pair, ca string) tasks.Task {
		return tasks.CertificateSet{
			Meta: tasks.Meta{From: "test", Secret: true}, Dir: "/etc/app", CommonName: "app",
			CA:   tasks.CertFile{Name: "ca.crt", PEM: []byte(ca), Mode: 0o644},
			Cert: tasks.CertFile{Name: "app.crt", PEM: []byte(client.Cert), Mode: 0o644},
			Key:  tasks.CertFile{Name: "app.key", PEM: []byte(client.Key), Mode: 0o600},
		}
	}
	secret := func(path, content string) tasks.Task {
		f := file(path, content)
		f.Secret, f.Mode = true, 0o600
		return f
	}
	a, b := pki.New(t, "a"), pki.New(t, "b")
	first, second := a.Client("app"), b.Client("app")
	mustConverge(t, root, file("/etc/a", "0"), set(first, a.PEM), secret(token, "1"))
	mustConverge(t, root, file("/etc/a", "1"), set(first, a.PEM), secret(token, "1"))
	taken := tasks.Unit{Meta: tasks.Meta{From: "test", Secret: true}, Name: "x.service", Content: []byte("ours")}
	mustConverge(t, root, file("/etc/a", "2"), set(second, b.PEM), secret(token, "2"), secret(netplan, "ours"), taken, tasks.EffectOf(tasks.DaemonReload))
	want := map[string]string{"/etc/app/ca.crt": b.PEM, "/etc/app/app.crt": second.Cert, "/etc/app/app.key": second.Key, token: "1"}
	maps.Copy(want, was)
	for n, content := range []string{"1", "0"} { // twice: a held node goes further back
		want["/etc/a"] = content
		if _, err := onRoot(root).Rollback(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		for path, content := range want {
			if got := hostroot.Read(t, root, path); got != content {
				t.Errorf("after rollback %d %s is %q, want %q", n+1, path, got, content)
			}
		}
		if p, err := onRoot(root).Converge(t.Context(), nil); err != nil || p.Summary.Changes() > 0 {
			t.Errorf("the pass after rollback %d: %v\n%s", n+1, err, said(p))
		}
	}
}

// A sysctl is restored too, except one on which others rely once it is set, and one that no
// revision after the pinned one has. The lines that keep it:
// pkg/reconcile/ownership/give_back.go; pkg/tasks/sysctl_shared.go.
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
	const plain, shared, early = "net.ipv4.ip_default_ttl", "net.ipv4.ip_forward", "net.ipv4.tcp_syn_retries"
	ttl, forward := sysctl(plain), sysctl(shared)
	if ttl == "77" || forward != "0" {
		t.Fatalf("a network namespace with ttl %s, forwarding %s", ttl, forward)
	}
	a := file("/etc/a", "1")
	set := []tasks.Task{a, tasks.Sysctl{Key: plain, Value: "77"}, tasks.Sysctl{Key: shared, Value: "1"}}
	for _, list := range [][]tasks.Task{{a, tasks.Sysctl{Key: early, Value: "7"}}, {a}, set} {
		if _, err := pass.Converge(t.Context(), wanting(list...)); err != nil {
			t.Fatal(err)
		}
	}
	if sysctl(plain) != "77" || sysctl(shared) != "1" {
		t.Fatal("the sysctls were not set")
	}
	p, err := pass.Rollback(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if sysctl(plain) != ttl || sysctl(shared) != "1" || sysctl(early) != "7" {
		t.Errorf("after the rollback the ttl is %s, want %s; forwarding is %s; what revision 1 set is %s, want 7\n%s",
			sysctl(plain), ttl, sysctl(shared), sysctl(early), said(p))
	}
}

// A revision has no spec.followLinks. A node that is pinned to one follows the links of the last
// documents, and an undo or a reset follows them, too. The line that keeps it:
// pkg/reconcile/ownership/commit.go, Commit (FollowLinks).
func TestAPinnedNodeFollowsTheLinksOfTheLastDocuments(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	led := ledger.Load(h.Live.Files)
	head := led.Head()
	head.FollowLinks = "/etc/link"
	if err := led.Commit(t.Context(), h.Files, ledger.Batch{Head: head}); err != nil {
		t.Fatal(err)
	}
	mustConverge(t, root, file("/etc/b", "1"))
	if _, head, _ := entriesOf(t, root); head.FollowLinks != "/etc/link" {
		t.Errorf("the ledger has %q", head.FollowLinks)
	}
}

// A new revision is stored with all its contents, also with those that an earlier one had and that
// are lost since. So a rollback to it needs no store. The line that keeps it:
// pkg/reconcile/ownership/number_revisions.go, revise (Blobs).
func TestARevisionHasAllItsContents(t *testing.T) {
	root := t.TempDir()
	a, b := file("/etc/a", "one"), file("/etc/b", "two")
	mustConverge(t, root, a)
	if err := os.RemoveAll(root + ledger.Dir + "/blobs"); err != nil {
		t.Fatal(err)
	}
	mustConverge(t, root, a, b)
	mustConverge(t, root)
	if _, err := onRoot(root).Rollback(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if got := hostroot.Read(t, root, "/etc/a") + hostroot.Read(t, root, "/etc/b"); got != "onetwo" {
		t.Errorf("the rollback restored %q", got)
	}
}
