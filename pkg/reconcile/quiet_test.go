package reconcile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

const confDir = "/etc/app/conf.d"

// quiet is a root and a store with many small files. Each process that converges the root with the
// store gets both.
type quiet struct{ root, store string }

func newQuiet(t testing.TB, files int) quiet {
	t.Helper()
	needs.Root(t) // files belong to root
	q := quiet{root: t.TempDir(), store: t.TempDir()}
	hostroot.Put(t, q.root, "/proc/sys/kernel/random/boot_id", "boot\n") // stamps are valid in one boot
	hostroot.Put(t, q.store, "c/cluster.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nspec:\n  kubernetesVersion: 1.33.0\n"+
		"  networking: {cni: {}}\n  assets: []\n  fileAssets:\n  - path: "+confDir+"\n    source: files/conf.d/\n    mode: \"0644\"\n")
	for i := range files {
		hostroot.Put(t, q.store, fmt.Sprintf("c/files/conf.d/%05d.conf", i), content(i))
	}
	return q
}

func content(i int) string {
	return fmt.Sprintf("# %05d\n", i) + strings.Repeat("option = value\n", 20+i%200)
}

// begin starts as the run of a process does: it returns the pass and the files that the documents
// want. The other tasks of documents need more than a tree of files.
func (q quiet) begin(t testing.TB) (Pass, *desired.State) {
	t.Helper()
	store, err := stores.Open(q.store, "c", stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := Pass{Host: host.Options{Root: q.root}, Log: zap.NewNop(), ForceRepair: true}
	if err := p.Remember(store); err != nil {
		t.Fatal(err)
	}
	d, err := desired.Load(t.Context(), store, config.Select{Node: "n"}, statestore.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := d.Graph(check.DefaultFacts(), model.Discovered{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Pinned = &desired.Pinned{Network: "cni"}
	for _, task := range g.Order() {
		if strings.HasPrefix(task.Owns()[0].Name(), confDir+"/") {
			d.Pinned.Recorded = append(d.Pinned.Recorded, task)
		}
	}
	return p, d
}

// pass makes the run of one process.
func (q quiet) pass(t testing.TB) *report.Plan {
	t.Helper()
	p, d := q.begin(t)
	plan, err := p.Converge(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// look returns all that stat says of all files on the root, without the time of the last read.
func (q quiet) look(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(q.root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(path, q.root+"/run") { // the lock
			return err
		}
		var st syscall.Stat_t
		err = syscall.Lstat(path, &st)
		all[path] = fmt.Sprint(st.Ino, st.Mode, st.Uid, st.Gid, st.Size, st.Mtim, st.Ctim)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// On a host and a store without changes a pass writes nothing, and trusts the stamps of the ledger.
// It still notices every change of a small file that can be noticed: by its ctime, where size and
// mtime were put back.
func TestQuietPassSeesEveryChange(t *testing.T) {
	q := newQuiet(t, 40)
	if p := q.pass(t); p.Summary.Changes() == 0 {
		t.Fatalf("nothing was installed: %s", said(p))
	}
	before := q.look(t)
	for range 2 {
		if p := q.pass(t); p.Summary.Changes() != 0 {
			t.Fatalf("a second pass changes: %s", said(p))
		}
	}
	for path, was := range before {
		if now := q.look(t)[path]; now != was {
			t.Errorf("%s changed in a pass with nothing to do: %s, then %s", path, was, now)
		}
	}
	at := q.root + confDir + "/00007.conf"
	for name, change := range map[string]func() error{
		"one letter, mtime put back": func() error {
			info, err := os.Stat(at)
			if err != nil {
				return err
			}
			text := []byte(content(7))
			text[0] = '!'
			if err := os.WriteFile(at, text, 0o644); err != nil {
				return err
			}
			return os.Chtimes(at, time.Now(), info.ModTime())
		},
		"a line more": func() error {
			f, err := os.OpenFile(at, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString("drift\n")
			return err
		},
		"mode":  func() error { return os.Chmod(at, 0o600) },
		"owner": func() error { return os.Chown(at, 1, 0) },
		"gone":  func() error { return os.Remove(at) },
		"replaced": func() error {
			if err := os.WriteFile(at+".new", []byte("# 00008"+content(7)[7:]), 0o644); err != nil {
				return err
			}
			return os.Rename(at+".new", at)
		},
	} {
		if err := change(); err != nil {
			t.Fatalf("%s: change returns %v", name, err)
		}
		p := q.pass(t)
		info, err := os.Stat(at)
		text, readErr := os.ReadFile(at)
		if p.Summary.Changes() != 1 || err != nil || readErr != nil || string(text) != content(7) || info.Mode() != 0o644 || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("%s: not repaired: %s%v %v %v", name, said(p), info, err, readErr)
		}
		if p := q.pass(t); p.Summary.Changes() != 0 {
			t.Errorf("%s: repaired twice: %s", name, said(p))
		}
	}
	source := q.store + "/c/files/conf.d/00007.conf"
	info, err := os.Stat(source)
	if err != nil {
		t.Fatal(err)
	}
	hostroot.Put(t, q.store, "c/files/conf.d/00007.conf", "!"+content(7)[1:])
	if err := os.Chtimes(source, time.Now(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if p := q.pass(t); p.Summary.Changes() != 1 {
		t.Errorf("the store's change was not seen: %s", said(p))
	}
	if text, err := os.ReadFile(at); err != nil || string(text) != "!"+content(7)[1:] {
		t.Errorf("ReadFile returns %.20q, %v", text, err)
	}
}

// The store is lost after its list was read. The agent repairs a changed file from the node's own
// copy.
func TestRepairWithoutTheStore(t *testing.T) {
	q := newQuiet(t, 3)
	q.pass(t)
	p, d := q.begin(t)
	if d.Snapshot.Files != nil {
		t.Error("the list of the store's files is kept, beside those that the documents name")
	}
	if err := os.RemoveAll(q.store); err != nil {
		t.Fatal(err)
	}
	hostroot.Put(t, q.root, confDir+"/00001.conf", "drift\n")
	plan, err := p.Converge(t.Context(), d)
	text, readErr := os.ReadFile(q.root + confDir + "/00001.conf")
	if err != nil || plan.Summary.Changes() != 1 || readErr != nil || string(text) != content(1) {
		t.Errorf("not repaired: %v, %v, %.20q", err, readErr, text)
	}
}

// BenchmarkQuietPass10000 measures a pass over ten thousand small files that are right, made by a
// process that has just started. One operation is one pass.
func BenchmarkQuietPass10000(b *testing.B) {
	q := newQuiet(b, 10_000)
	q.pass(b)
	q.pass(b)
	b.ReportAllocs()
	for b.Loop() {
		if p := q.pass(b); p.Summary.Changes() != 0 {
			b.Fatal(said(p))
		}
	}
}

// A pass that finds nothing to do allocates at most this much for a file. It does not decode the
// ledger, and reads no content. The lines that keep it: report.go, unfinished and directories;
// pkg/graph/result.go, Key; pkg/graph/deadline.go, now; pkg/statestore/directory/root_owned.go,
// untrustedOwner.
func TestQuietPassAllocates(t *testing.T) {
	const files, mostObjects, mostBytes, passes = 1000, 25, 3900, 3
	q := newQuiet(t, files)
	q.pass(t)
	q.pass(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range passes {
		q.pass(t)
	}
	runtime.ReadMemStats(&after)
	objects, size := float64(after.Mallocs-before.Mallocs)/passes/files, float64(after.TotalAlloc-before.TotalAlloc)/passes/files
	if t.Logf("for each file %.1f objects, %.0f bytes", objects, size); objects > mostObjects || size > mostBytes {
		t.Errorf("want at most %d objects, %d bytes", mostObjects, mostBytes)
	}
}
