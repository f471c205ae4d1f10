package torture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/test/disk"
	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/pki"
)

// The power fails while the agent writes, at every write of the disk in turn, with and without the
// disk's cache. Each time the file system is mounted again, as in a boot. Every file is completely
// old or completely new. After the agent has reported its end, every file is new. This also holds
// while it repairs what somebody changed, of which the ledger has one record, written after the
// repair. No part of the ledger is damaged.
//
// What keeps it: pkg/host/hostfs/batch.go Commit: syncFiles before publish, and syncDirs after it
// (that one shows in TestCommittedIsDurable: in a whole run later syncs cover for it). The control
// is the same agent with its syncs compiled out (pkg/host/hostfs/batch_flush_off.go): it must lose
// files here, or the test sees nothing.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	needs.Tool(t, "mkfs.ext4", "mkfs.xfs")
	if _, err := os.Stat("/dev/fuse"); err != nil {
		needs.Missing(t, "needs FUSE: "+err.Error())
	}
	agent(t)
	agent(t, "nofsync")
	if !inOwnMounts(t) {
		return
	}
	for _, c := range []struct {
		kind    string
		repairs bool
		tags    []string
	}{{"ext4", false, nil}, {"xfs", false, nil}, {"ext4", true, nil}, {"xfs", true, nil}, {"xfs", false, []string{"nofsync"}}} {
		name := strings.Join(append([]string{c.kind}, c.tags...), " ")
		if c.repairs {
			name += " repairs"
		}
		t.Run(name, func(t *testing.T) {
			p := newPowerTest(t, c.kind, agent(t, c.tags...))
			p.repairs = c.repairs
			tried, lost := p.cut(t, either(220, 24), c.tags == nil)
			note := fmt.Sprintf("when the power went: %s", p.histogram())
			if c.tags != nil {
				if lost == 0 {
					t.Error("without syncs nothing is lost: the harness does not see what they prevent")
				}
				report(t, "power cut: "+c.kind+", control", tried, 0, "no syncs: lost files in %d, as it must; %s", lost, note)
				return
			}
			report(t, "power cut: "+name, tried, lost, "%s", note)
		})
	}
}

// powerTest is an image of a node. The agent changes it from one state to another, again and again.
type powerTest struct {
	kind, dir, at string
	agent         string
	stores        [2]string
	repairs       bool // the change is a repair, and not one from store to store
	r             *disk.Recorder
	buckets       [6]int // of the moments, fifths of the agent's time; the last: at its end
}

func newPowerTest(t *testing.T, kind, agent string) *powerTest {
	t.Helper()
	p := &powerTest{kind: kind, dir: tmpfs(t, "size=2g"), agent: agent}
	p.at = filepath.Join(p.dir, "root")
	ca := pki.New(t, "etcd")
	for i, release := range []string{"v1", "v2"} {
		d := calicoDocuments(t, release, ca.PEM, ca.Client("calico-client"))
		d["cluster.yaml"] = strings.Replace(d["cluster.yaml"], "  networking:", extras(release, "128")+"  networking:", 1)
		p.stores[i] = filepath.Join(p.dir, release)
		d.write(t, p.stores[i])
	}
	image := filepath.Join(p.dir, "image")
	if err := disk.Make(image, kind, map[string]int64{"ext4": 96 << 20, "xfs": 320 << 20}[kind]); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.at, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.r, err = disk.New(p.dir, image); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.r.Close(); err != nil {
			t.Error(err)
		}
	})
	p.mount(t, p.r.Path())
	return p
}

func (p *powerTest) mount(t testing.TB, file string) {
	t.Helper()
	options := map[string]string{"ext4": "", "xfs": "nouuid"}[p.kind]
	if err := disk.Mount(file, p.at, p.kind, options); err != nil {
		t.Fatal(err)
	}
}

func (p *powerTest) unmount(t testing.TB) {
	t.Helper()
	if err := unix.Unmount(p.at, 0); err != nil {
		t.Fatal(err)
	}
}

// converge runs the agent on the image.
func (p *powerTest) converge(t testing.TB, store int) {
	t.Helper()
	if problem := p.run(t, "--store", p.stores[store], "--cluster", cluster, "--node", "node-1", "--once"); problem != "" {
		t.Fatal(problem)
	}
}

// run runs the agent on the image, and returns what went wrong.
func (p *powerTest) run(t testing.TB, args ...string) (problem string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), p.agent, append(args, "--root", p.at)...).CombinedOutput(); err != nil {
		return fmt.Sprintf("%v: %v\n%s", args, err, out)
	}
	return ""
}

// boots does what a boot does with the disk after the cut: first recover, without a store, and then
// a converge.
func (p *powerTest) boots(t testing.TB, store int, before, after tree) (broken []string) {
	t.Helper()
	p.mount(t, p.image())
	defer p.unmount(t)
	if lost := p.damage(t); lost != "" {
		broken = append(broken, "of the ledger: "+lost)
	}
	if problem := p.run(t, "recover"); problem != "" {
		return append(broken, problem)
	}
	for _, half := range mixed(before, p.tree(t), after, certificates) {
		broken = append(broken, "after recover: "+half)
	}
	if problem := p.run(t, "--store", p.stores[store], "--cluster", cluster, "--node", "node-1", "--once"); problem != "" {
		return append(broken, "after the boot: "+problem)
	}
	for _, d := range differs(p.tree(t), after) {
		broken = append(broken, "after the boot: "+d)
	}
	return broken
}

// image is the disk as it was when the power failed.
func (p *powerTest) image() string { return filepath.Join(p.dir, "cut") }

func (p *powerTest) tree(t testing.TB) tree {
	return readTree(t, p.at, "/run", "/lost+found", "/other")
}

// cut runs the agent back and forth until there were enough cuts. It returns how many lost
// something.
func (p *powerTest) cut(t *testing.T, enough int, strict bool) (tried, lost int) {
	t.Helper()
	before, state := tree{}, 0
	for round := 0; tried < enough; round++ {
		if p.repairs && round > 0 {
			p.spoil(t, round)
			before = p.tree(t)
		}
		unix.Sync() // the last round is on the disk
		if err := p.r.Record(); err != nil {
			t.Fatal(err)
		}
		p.converge(t, state)
		done := p.r.Len()
		p.foreignSync(t)
		after := p.tree(t)
		p.r.Stop()
		end := p.r.Len()
		p.unmount(t)
		if len(differs(before, after)) == 0 || done < 5 && strict {
			t.Fatalf("the agent wrote nothing: %d writes", done)
		}
		for _, moment := range moments(done, end, min(either(end, 12), enough-tried)) {
			cache := (*rand.Rand)(nil)
			if tried%2 == 1 {
				cache = rand.New(rand.NewPCG(uint64(round), uint64(moment)))
			}
			tried++
			p.buckets[min(5, moment*5/max(done, 1))]++
			want := before
			if moment >= done && strict {
				want = after // in the control only damaged files count, and not late ones
			}
			broken := p.judge(t, moment, cache, want, after, moment >= done && strict)
			if strict {
				broken = append(broken, p.boots(t, state, before, after)...)
			}
			if len(broken) > 0 {
				lost++
				if strict {
					t.Errorf("power cut at write %d of %d (the agent was done at %d):\n%s", moment, end, done, strings.Join(broken, "\n"))
				}
			}
		}
		p.mount(t, p.r.Path())
		if before = after; !p.repairs {
			state = 1 - state
		}
	}
	p.unmount(t)
	return tried, lost
}

// spoil changes two of the agent's files, other ones in each round, since a file that is changed
// again and again must wait.
func (p *powerTest) spoil(t testing.TB, round int) {
	t.Helper()
	var ours []string
	for path, is := range p.tree(t) {
		if !memory(path) && strings.HasPrefix(is, "10") && path != "/other" {
			ours = append(ours, path)
		}
	}
	slices.Sort(ours)
	for i := range 2 {
		path := ours[(2*round+i)%len(ours)]
		if err := os.WriteFile(filepath.Join(p.at, path), []byte("theirs\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// damage returns the part of its ledger that the agent cannot read.
func (p *powerTest) damage(t testing.TB) string {
	t.Helper()
	h, err := host.Open(t.Context(), host.Options{Root: p.at})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	return strings.Join(ledger.Load(h.Live.Files).Damage(), "; ")
}

// moments returns the moment of the agent's end, the end of the recording, and n moments evenly
// between.
func moments(done, end, n int) []int {
	out := []int{done, end}
	for i := 1; i < n; i++ {
		out = append(out, i*end/n)
	}
	return out
}

// foreignSync is another program that syncs its own file. The file system's journal that it writes
// contains our renames, too.
func (p *powerTest) foreignSync(t testing.TB) {
	t.Helper()
	f, err := os.Create(filepath.Join(p.at, "other"))
	if err == nil {
		_, err = f.WriteString("x")
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// judge mounts the disk as it was at a moment, and compares.
func (p *powerTest) judge(t testing.TB, moment int, cache *rand.Rand, before, after tree, done bool) []string {
	t.Helper()
	image := p.image()
	if err := p.r.Image(image, moment, cache); err != nil {
		t.Fatal(err)
	}
	p.mount(t, image)
	defer p.unmount(t)
	now := p.tree(t)
	broken := torn(before, now, after)
	for path, is := range after {
		if done && memory(path) && now[path] != is {
			broken = append(broken, fmt.Sprintf("%s is %q, not %q, when the agent was done", path, now[path], is))
		}
	}
	for path, is := range now {
		if memory(path) && !isDir(is) && strings.Contains(is, " 0 ") && !staged.MatchString(path) && !intent.MatchString(path) {
			broken = append(broken, path+" is empty")
		}
	}
	return broken
}

func (p *powerTest) histogram() string {
	var out []string
	for i, n := range p.buckets[:5] {
		out = append(out, fmt.Sprintf("%d-%d%% %d", 20*i, 20*i+20, n))
	}
	return strings.Join(out, ", ") + fmt.Sprintf(" of the agent's time, %d when it was done", p.buckets[5])
}

// The power fails just after a batch was committed, and after a file of another program was kept
// that had not been synced. Both are complete. What keeps it: pkg/host/hostfs/batch.go Commit:
// syncDirs; pkg/host/hostfs/backup.go linkFile: syncAll of the file.
func TestCommittedIsDurable(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	needs.Tool(t, "mkfs.ext4", "mkfs.xfs")
	if _, err := os.Stat("/dev/fuse"); err != nil {
		needs.Missing(t, "needs FUSE: "+err.Error())
	}
	if !inOwnMounts(t) {
		return
	}
	tried, lost := 0, 0
	for _, kind := range []string{"ext4", "xfs"} {
		p := newPowerTest(t, kind, "")
		h, err := host.Open(t.Context(), host.Options{Root: p.at})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Files.Mkdir("/etc", 0o755, 0, 0); err != nil {
			t.Fatal(err)
		}
		for i := range either(50, 10) {
			unix.Sync()
			if err := p.r.Record(); err != nil {
				t.Fatal(err)
			}
			b := h.Files.Batch()
			for _, name := range []string{"/etc/same", fmt.Sprintf("/etc/new-%d", i)} {
				if err := b.Put(name, fmt.Append(nil, i), hostfs.FileSpec{Mode: 0o600}); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(p.at, fmt.Sprintf("etc/theirs-%d", i)), bytes.Repeat([]byte("theirs"), 10_000), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Files.Retain(t.Context(), fmt.Sprintf("/etc/theirs-%d", i), fmt.Sprintf("/etc/kept-%d", i)); err != nil {
				t.Fatal(err)
			}
			done, after := p.r.Len(), p.tree(t)
			tried++
			p.at += "-cut"
			if err := os.MkdirAll(p.at, 0o755); err != nil {
				t.Fatal(err)
			}
			if broken := p.judge(t, done, nil, after, after, true); len(broken) > 0 {
				lost++
				t.Errorf("%s: committed, and then:\n%s", kind, strings.Join(broken, "\n"))
			}
			p.at = strings.TrimSuffix(p.at, "-cut")
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		p.unmount(t)
	}
	report(t, "power cut: right after a commit", tried, lost, "ext4 and XFS")
}
