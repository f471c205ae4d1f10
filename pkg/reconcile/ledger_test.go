package reconcile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile/history"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// removed returns the keys that a plan removes.
func removed(p *report.Plan) []string {
	var out []string
	for _, s := range p.Steps {
		for _, it := range s.Items {
			if it.Op == "-" && (s.State == report.Planned || s.State == report.Done) {
				out = append(out, it.Key)
			}
		}
	}
	return out
}

// The lines that keep it: pkg/reconcile/ownership/ledger_entries.go, enter (absent makes it ours);
// pkg/reconcile/ownership/removals.go, sort (found stays); pkg/reconcile/ownership/give_back.go,
// giveBack.
func TestPruneRemovesWhatIsOursAndNothingElse(t *testing.T) {
	root := t.TempDir()
	hostroot.Put(t, root, "/etc/found", "theirs")
	hostroot.Put(t, root, "/etc/right", "r")
	mustConverge(t, root, file("/etc/ours/deep/file", "1"), file("/etc/found", "ours now"), file("/etc/right", "r"), file("/etc/stays", "1"))

	dry, err := onRoot(root).DryRun(t.Context(), wanting(file("/etc/stays", "1")))
	if err != nil {
		t.Fatal(err)
	}
	p := mustConverge(t, root, file("/etc/stays", "1"))
	want := []string{"file:/etc/ours/deep/file", "file:/etc/ours/deep", "file:/etc/ours"}
	if got := removed(p); !slices.Equal(got, want) {
		t.Errorf("removed %v, want %v, a path before its directory", got, want)
	}
	if got := removed(dry); !slices.Equal(got, want) {
		t.Errorf("the dry run listed %v, want %v", got, want)
	}
	if hostroot.There(root, "/etc/ours") {
		t.Error("what was ours is still there")
	}
	if got := hostroot.Read(t, root, "/etc/found"); got != "theirs" {
		t.Errorf("/etc/found is %q: somebody's file does not come back", got)
	}
	if !hostroot.There(root, "/etc/right") {
		t.Error("a file that was right before us is gone")
	}
	if !strings.Contains(said(p), "/etc/right is no longer wanted and stays: it was there before") {
		t.Errorf("nothing was said of /etc/right:\n%s", said(p))
	}
	if p := mustConverge(t, root, file("/etc/stays", "1")); len(p.Notes)+len(p.Steps) != 0 {
		t.Errorf("the next run still has something to say:\n%s", said(p))
	}
}

// The lines that keep it: pkg/reconcile/ownership/removals.go, sort;
// pkg/reconcile/ownership/ledger_entries.go, Altered (live != e.Last).
func TestWhatAPersonChangedIsReportedAndStays(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"), file("/etc/b", "1"))
	hostroot.Put(t, root, "/etc/a", "a person's")
	p := mustConverge(t, root, file("/etc/b", "1"))
	if !hostroot.There(root, "/etc/a") || !strings.Contains(said(p), "warning: file:/etc/a is no longer wanted and stays: somebody changed it") {
		t.Errorf("a person's change was removed, or nothing was said of it:\n%s", said(p))
	}
}

// The lines that keep it: plan.go, planSteps; carry_out.go, apply (Failure == nil before the
// removals).
func TestNothingIsRemovedWhileWhatIsWantedFails(t *testing.T) {
	for name, wanted := range map[string]tasks.Task{
		"in the plan": file("/etc/in-the-way", "1"),
		"when made":   unwritable{path: "/etc/b"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			mustConverge(t, root, file("/etc/a", "1"))
			if err := os.Mkdir(filepath.Join(root, "etc/in-the-way"), 0o755); err != nil {
				t.Fatal(err)
			}
			p, err := converge(t, root, wanted)
			if err == nil || !hostroot.There(root, "/etc/a") || !strings.Contains(said(p), "removed when all that is wanted is right") {
				t.Errorf("err = %v, /etc/a there: %v\n%s", err, hostroot.There(root, "/etc/a"), said(p))
			}
		})
	}
}

// The line that keeps it: pkg/ledger/journal.go, lose.
func TestALostLedgerRemovesNothing(t *testing.T) {
	for name, harm := range map[string]func(path string) error{
		"gone":  os.Remove,
		"empty": func(path string) error { return os.Truncate(path, 0) },
		"damaged": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			data[len(data)/3] ^= 1
			return os.WriteFile(path, data, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			mustConverge(t, root, file("/etc/a", "1"), file("/etc/b", "1"))
			if err := harm(filepath.Join(root, "var/lib/netwright/journal")); err != nil {
				t.Fatal(err)
			}
			p := mustConverge(t, root, file("/etc/b", "1"))
			if !strings.Contains(said(p), "counts as found") {
				t.Errorf("nothing was said of it:\n%s", said(p))
			}
			mustConverge(t, root)
			if !hostroot.There(root, "/etc/a") || !hostroot.There(root, "/etc/b") {
				t.Error("something was removed for want of a memory")
			}
		})
	}
}

// The lines that keep it: carry_out.go, carryOut (prepare before apply);
// pkg/reconcile/ownership/intend.go, Intend;
// pkg/reconcile/ownership/ledger_entries.go, leftBy.
func TestAKillBetweenChangeAndRecordKeepsWhoseItIs(t *testing.T) {
	needs.Root(t) // files belong to root
	for name, before := range map[string]bool{"before the change": true, "after the change": false} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			hostroot.Put(t, root, "/etc/found", "theirs")
			die(t, root, []tasks.Task{file("/etc/ours", "1"), file("/etc/found", "2")}, before)
			mustConverge(t, root) // no document wants them any more
			if hostroot.There(root, "/etc/ours") {
				t.Error("a file that we made before the kill is not ours now")
			}
			if !hostroot.There(root, "/etc/found") {
				t.Error("what was there before us was removed")
			}
		})
	}
}

// die makes a pass that ends at the first change, before it or after it. The ledger stays as it
// then is on the disk.
func die(t testing.TB, root string, list []tasks.Task, before bool) {
	t.Helper()
	ctx := t.Context()
	led, err := Pass{Host: host.Options{Root: root}}.Session().LoadLedger()
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(ctx, host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	r, err := onRoot(root).plan(ctx, wanting(list...), h.Live.View(), led)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ownership.Intend(ctx, h, r.wanted.Changes, false); err != nil {
		t.Fatal(err)
	}
	if before {
		return
	}
	for _, task := range list {
		if c := r.wanted.Changes.Get(task.Owns()[0]); c != nil {
			if err := task.Apply(ctx, h, c); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The lines that keep it: pkg/reconcile/desired/pinned.go, Target (the pin wins over the store);
// rollback.go, Rollback (the pin).
func TestARollbackHoldsUntilResume(t *testing.T) {
	root := t.TempDir()
	one, two := []tasks.Task{file("/etc/a", "1"), file("/etc/gone", "x")}, []tasks.Task{file("/etc/a", "2"), file("/etc/new", "x")}
	mustConverge(t, root, one...)
	mustConverge(t, root, two...)
	person := onRoot(root)
	person.By = "ada"
	p, err := person.Rollback(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		if got := hostroot.Read(t, root, "/etc/a"); got != "1" || !hostroot.There(root, "/etc/gone") || hostroot.There(root, "/etc/new") {
			t.Errorf("%s: /etc/a is %q, /etc/gone there: %v, /etc/new there: %v", when, got, hostroot.There(root, "/etc/gone"), hostroot.There(root, "/etc/new"))
		}
	}
	check("after the rollback")
	if p.Pinned != "held at revision 1 by ada" {
		t.Errorf("the plan says %q", p.Pinned)
	}
	if p := mustConverge(t, root, two...); p.Pinned != "held at revision 1 by ada" || p.Summary.Changes() != 0 {
		t.Errorf("the next run was not held: %q, %d changes", p.Pinned, p.Summary.Changes())
	}
	check("after another run")
	if p, err := onRoot(root).DryRun(t.Context(), wanting(two...)); err != nil || p.Pinned == "" || p.Summary.Changes() != 0 {
		t.Errorf("a dry run does not know: %v, %q", err, p.Pinned)
	}
	if _, err := person.Converge(t.Context(), nil); err != nil {
		t.Errorf("without a store: %v", err)
	}
	if was, err := person.Session().Resume(t.Context()); err != nil || was != "held at revision 1 by ada" {
		t.Errorf("resume: %q, %v", was, err)
	}
	mustConverge(t, root, two...)
	if got := hostroot.Read(t, root, "/etc/a"); got != "2" || hostroot.There(root, "/etc/gone") {
		t.Errorf("after resume /etc/a is %q", got)
	}
	h, err := history.Read(person.Host)
	if err != nil || len(h.Revisions) != 2 || h.Current != 2 || h.Pin != nil {
		t.Errorf("history: %v, %+v; want two revisions: to go back and forth makes no new one", err, h)
	}
	if _, err := person.Rollback(t.Context(), 9); err == nil || !strings.Contains(err.Error(), "agent history") {
		t.Errorf("a revision that is not kept: %v", err)
	}
}

// The revision before is the one that the node had before, also where the documents returned to a
// content with an older number.
func TestARollbackAfterTheDocumentsWentBack(t *testing.T) {
	root := t.TempDir()
	mustConverge(t, root, file("/etc/a", "1"))
	mustConverge(t, root, file("/etc/a", "2"))
	mustConverge(t, root, file("/etc/a", "3"))
	mustConverge(t, root, file("/etc/a", "1"))
	person := onRoot(root)
	for _, want := range []string{"3", "2", "1"} { // from a held revision it goes further back
		if _, err := person.Rollback(t.Context(), 0); err != nil {
			t.Fatalf("to %s: %v", want, err)
		}
		if got := hostroot.Read(t, root, "/etc/a"); got != want {
			t.Errorf("rolled back to %q, want %q", got, want)
		}
	}
	if _, err := person.Rollback(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "no revision before") {
		t.Errorf("from the first: %v", err)
	}
}

// The lines that keep it: pkg/reset/reset.go, times and forget; pkg/tasks/path_baseline.go, Restore
// (SetMtime); pkg/reconcile/ownership/intend.go, intent (Baseline before the change).
func TestResetLeavesTheHostAsItWas(t *testing.T) {
	root := t.TempDir()
	hostroot.Put(t, root, "/etc/found", "theirs")
	hostroot.Put(t, root, "/etc/conf.toml", "# mine\n[a]\nx = 1\n")
	hostroot.Put(t, root, "/etc/right", "r")
	hostroot.Put(t, root, "/run/x", "")
	hostroot.Put(t, root, "/var/lib/other/x", "")
	if err := os.Chmod(filepath.Join(root, "etc/found"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"etc/found", "etc/conf.toml", "etc", "var/lib"} {
		old := time.Unix(1_600_000_000, 12345)
		if err := os.Chtimes(filepath.Join(root, dir), old, old); err != nil {
			t.Fatal(err)
		}
	}
	before := hostroot.Tree(t, root)
	one := []tasks.Task{file("/etc/found", "ours"), file("/etc/right", "r"), file("/etc/new/deep/file", "1"),
		tasks.SymbolicLink{Path: "/etc/link", Target: "found"}, tasks.Directory{Path: "/opt/dir", Mode: 0o700},
		tasks.TOMLKey{Path: "/etc/conf.toml", Table: []string{"a"}, Key: "y", Value: "2"}, tasks.TOMLKey{Path: "/etc/conf.toml", Table: []string{"b"}, Key: "z", Value: true}}
	mustConverge(t, root, one...)
	mustConverge(t, root, one[0], one[3], file("/etc/second", "x"), one[5]) // the agent released some before the reset
	dry, err := resetOf(onRoot(root)).Plan(t.Context())
	if err != nil || dry.Summary.Changes() == 0 {
		t.Errorf("the dry run of reset: %v, %d changes", err, dry.Summary.Changes())
	}
	p, err := resetOf(onRoot(root)).Run(t.Context())
	if err != nil {
		t.Fatalf("%v\n%s", err, said(p))
	}
	after := hostroot.Tree(t, root)
	delete(before, "") // the directory of the lock
	delete(after, "")
	delete(before, "/run")
	delete(after, "/run")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s\n%s", diff, said(p))
	}
}

// What could not be written to a read-only file system leaves nothing to remove there. The line
// that keeps it: pkg/reset/reset.go, times (EROFS).
func TestResetEndsWhereADirectoryIsReadOnly(t *testing.T) {
	root := t.TempDir()
	hostroot.Put(t, root, "/sys/fs/x", "")
	readOnly(t, filepath.Join(root, "sys"))
	if _, err := onRoot(root).Converge(t.Context(), wanting(file("/sys/fs/ours", "1"), file("/etc/ours", "1"))); err == nil {
		t.Fatal("a file was put onto a read-only file system")
	}
	if p, err := resetOf(onRoot(root)).Run(t.Context()); err != nil || hostroot.There(root, "/etc/ours") || hostroot.There(root, "/var/lib/netwright/journal") {
		t.Errorf("the reset did not come to its end: %v\n%s", err, said(p))
	}
}

// The line that keeps it: pkg/reset/decide.go, decideRemoval (changed).
func TestResetKeepsWhatAPersonChanged(t *testing.T) {
	root := t.TempDir()
	hostroot.Put(t, root, "/etc/found", "theirs")
	mustConverge(t, root, file("/etc/found", "ours"), file("/etc/new", "ours"))
	hostroot.Put(t, root, "/etc/found", "a person's")
	hostroot.Put(t, root, "/etc/new", "a person's")
	p, err := resetOf(onRoot(root)).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/etc/found", "/etc/new"} {
		if got := hostroot.Read(t, root, path); got != "a person's" || !strings.Contains(said(p), "file:"+path+" stays: somebody changed it") {
			t.Errorf("%s is %q\n%s", path, got, said(p))
		}
	}
}

// The line that keeps it: pkg/reconcile/changes/plan_task.go, makable.
func TestFilesOfAnotherAgentAreReportedAndNotChanged(t *testing.T) {
	for peer, c := range map[string]struct{ sign, path string }{
		"nodeup":  {"/etc/systemd/system/kops-configuration.service", "/etc/sysctl.d/99-k8s-general.conf"},
		"nodeadm": {"/etc/eks/kubelet/environment", "/etc/eks/image-credential-provider/config.json"},
		"kubeadm": {"/etc/kubernetes/admin.conf", "/var/lib/kubelet/kubeadm-flags.env"},
	} {
		t.Run(peer, func(t *testing.T) {
			root := t.TempDir()
			hostroot.Put(t, root, c.sign, "theirs")
			hostroot.Put(t, root, c.path, "theirs")
			list := []tasks.Task{file(c.path, "ours"), file("/etc/ours", "1")}
			p := mustConverge(t, root, list...)
			if got := hostroot.Read(t, root, c.path); got != "theirs" || !strings.Contains(said(p), "file:"+c.path+" not here: "+peer+"'s") {
				t.Errorf("%s is %q\n%s", c.path, got, said(p))
			}
			if !hostroot.There(root, "/etc/ours") {
				t.Error("our own file was not written")
			}
			mustConverge(t, root)
			if !hostroot.There(root, c.path) {
				t.Error("their file was removed")
			}
			alone := t.TempDir()
			hostroot.Put(t, alone, c.path+".other", "")
			if peer == "nodeup" { // without the sign it is a path like any other
				mustConverge(t, alone, list[0])
				if got := hostroot.Read(t, alone, c.path); got != "ours" {
					t.Errorf("without %s the file is %q", peer, got)
				}
			}
		})
	}
}

// The lines that keep it: pkg/tasks/conf_removal.go, check (of ConfRemoval) and livingPod;
// pkg/reconcile/ownership/removals_order.go, IsConf.
func TestTheLastConfStaysWhilePodsLive(t *testing.T) {
	for cache, dir := range map[string]string{
		"/var/lib/cni/results":       "/etc/cni/net.d",
		"/var/lib/cni/cache/results": "/srv/cni/net.d", // of cri-dockerd; no runtime names the directory now
	} {
		root := t.TempDir()
		conf := file(dir+"/10-x.conflist", `{"name":"x","plugins":[{"type":"bridge"}]}`)
		mustConverge(t, root, conf)
		hostroot.Put(t, root, cache+"/x-pod-eth0", "{}")
		p := mustConverge(t, root)
		if !hostroot.There(root, conf.Path) || p.Summary.Waiting == 0 || !strings.Contains(said(p), "another CNI conf in "+dir+": pods live here") {
			t.Errorf("%s: the conf is there: %v\n%s", cache, hostroot.There(root, conf.Path), said(p))
		}
		other := file(dir+"/20-y.conflist", `{"name":"y","plugins":[{"type":"ptp"}]}`)
		mustConverge(t, root, other)
		if hostroot.There(root, conf.Path) || !hostroot.There(root, other.Path) {
			t.Errorf("%s: the conf stayed although another one came", cache)
		}
	}
}

// The former network's conf comes first by its name. The agent removes it, so it is no error for
// the network that waits for its own conf. The lines that keep it:
// pkg/reconcile/ownership/removals_order.go, protect (Gone); pkg/tasks/cni_conf_file.go, confFiles.
func TestAConfThatGoesIsNotInTheWay(t *testing.T) {
	root := t.TempDir()
	conf := file("/etc/cni/net.d/05-x.conflist", `{"name":"x","plugins":[{"type":"bridge"}]}`)
	dir := tasks.Directory{Path: "/etc/cni/net.d", Mode: 0o755}
	mustConverge(t, root, dir, conf)
	wait := tasks.WaitConf{Network: "flannel", Writer: "its DaemonSet writes it", Dir: "/etc/cni/net.d", File: "10-flannel.conflist", FirstOnly: true}
	hostroot.Put(t, root, "/etc/cni/net.d/10-flannel.conflist", `{"name":"cbr0","plugins":[{"type":"flannel"}]}`)
	hostroot.Put(t, root, "/opt/cni/bin/flannel", "")
	p, err := onRoot(root).DryRun(t.Context(), wanting(dir, wait))
	if err != nil || !slices.Equal(removed(p), []string{"file:/etc/cni/net.d/05-x.conflist"}) {
		t.Errorf("the dry run: %v\n%s", err, said(p))
	}
	mustConverge(t, root, dir, wait)
	if hostroot.There(root, conf.Path) {
		t.Error("the former network's conf stays")
	}
}

// unwritable is a task for a file that cannot be written.
type unwritable struct {
	tasks.Await // of no recorded kind
	tasks.Meta
	path string
}

func (u unwritable) Owns() []graph.Key { return []graph.Key{tasks.FileKey(u.path)} }

func (u unwritable) Plan(context.Context, host.View) (*tasks.Change, error) {
	return &tasks.Change{Items: []tasks.Item{{Key: u.Owns()[0], Op: tasks.Update, After: []byte("1")}}, Reason: "content differs"}, nil
}

func (u unwritable) Apply(context.Context, *host.Host, *tasks.Change) error { return errors.New("no") }
