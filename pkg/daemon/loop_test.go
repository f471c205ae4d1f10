package daemon

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/assets"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/needs"
)

// manager is a service manager that records what it was told, and when.
type manager struct {
	mu    sync.Mutex
	said  []word
	alive []bool // the signs of life of the watchdog, a minute apart

	extended int // how often the daemon asked for more time
}

type word struct {
	what string // ready, status, stopping
	text string
	at   time.Time
}

func (m *manager) say(what, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said = append(m.said, word{what, text, time.Now()})
	return nil
}

func (m *manager) Ready(status string) error  { return m.say("ready", status) }
func (m *manager) Status(status string) error { return m.say("status", status) }
func (m *manager) Stopping() error            { return m.say("stopping", "") }
func (m *manager) Reloading() error           { return m.say("reloading", "") }

func (m *manager) Extend(time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.extended++
	return nil
}

func (m *manager) Watchdog(ctx context.Context, alive func() bool) error {
	for host.Sleep(ctx, time.Minute) {
		now := alive()
		m.mu.Lock()
		m.alive = append(m.alive, now)
		m.mu.Unlock()
	}
	return nil
}

// asked returns how often the daemon asked for more time.
func (m *manager) asked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.extended
}

// words returns what the daemon has reported so far.
func (m *manager) words() []word {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]word(nil), m.said...)
}

func (m *manager) last(t *testing.T) word {
	t.Helper()
	all := m.words()
	if len(all) == 0 {
		t.Fatal("nothing was said")
	}
	return all[len(all)-1]
}

// count returns how often the daemon reported one kind of word.
func (m *manager) count(what string) (n int) {
	for _, w := range m.words() {
		if w.what == what {
			n++
		}
	}
	return n
}

// box is a daemon with a root and a store of its own.
type box struct {
	root, store string
	manager     *manager
	log         *observer.ObservedLogs
	notes       []string // that commands heard
	daemon      Daemon
}

const conflist = "/etc/cni/net.d/05-netwright-bridge.conflist"

func newBox(t *testing.T) *box {
	t.Helper()
	needs.Root(t) // files belong to root
	b := &box{root: t.TempDir(), store: filepath.Join(t.TempDir(), "store"), manager: &manager{}}
	b.document(t, b.plugins(t, "plugins.tar", ""))
	b.write(t, "nodes/n.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Node\nmetadata: {name: n}\nspec: {address: 10.0.0.1, podCIDRs: [100.96.1.0/24]}\n")
	store, err := stores.Open(b.store, "demo", stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var core zapcore.Core
	core, b.log = observer.New(zapcore.InfoLevel)
	b.daemon = Daemon{
		Pass:  reconcile.Pass{Host: host.Options{Root: b.root}, Assets: assets.New(store), Log: zap.New(core)},
		Store: store, Select: config.Select{Node: "n"}, Interval: 10 * time.Minute, Manager: b.manager,
	}
	return b
}

// plugins puts an archive into the store and returns the lines of the document that name it. Each
// plugin contains its name and the text more.
func (b *box) plugins(t *testing.T, name, more string) string {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, member := range []string{"bandwidth", "bridge", "host-local", "loopback", "portmap"} {
		content := member + more
		if err := w.WriteHeader(&tar.Header{Name: member, Mode: 0o755, Size: int64(len(content))}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(content))
	}
	_ = w.Close()
	b.write(t, name, archive.String())
	return fmt.Sprintf("  assets:\n  - name: cni-plugins\n    arch:\n      %s: {sha256: %x, urls: [%s]}\n", runtime.GOARCH, sha256.Sum256(archive.Bytes()), name)
}

// document writes the cluster's document with more lines at its end.
func (b *box) document(t *testing.T, more string) {
	t.Helper()
	b.write(t, "cluster.yaml", "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  kubernetesVersion: 1.36.0\n  networking: {bridge: {}}\n"+more)
}

func (b *box) write(t *testing.T, name, content string) {
	t.Helper()
	path := filepath.Join(b.store, "demo", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (b *box) has(path string) bool {
	_, err := os.Lstat(filepath.Join(b.root, path))
	return err == nil
}

// logged returns how often a message was logged.
func (b *box) logged(message string) int { return b.log.FilterMessage(message).Len() }

// live runs the daemon in a time that passes at once. It calls body and then stops the daemon.
func (b *box) live(t *testing.T, body func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.daemon.Run(ctx) }()
		synctest.Wait()
		body(t)
		stop(errors.New("the test is over"))
		if err := <-ended; err != nil {
			t.Errorf("a stop is no error: %v", err)
		}
		if last := b.manager.last(t); last.what != "stopping" || b.manager.count("stopping") != 1 {
			t.Errorf("the last word was %+v, want stopping, once", last)
		}
	})
}

func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestReadyIsSaidOnceWhenPrepared(t *testing.T) {
	b := newBox(t)
	b.live(t, func(t *testing.T) {
		if first := b.manager.last(t); first.what != "ready" || !strings.Contains(first.text, "bridge: ") || !b.has(conflist) {
			t.Fatalf("%+v, conf there: %v", first, b.has(conflist))
		}
		later(time.Hour)
		if n := b.manager.count("ready"); n != 1 {
			t.Errorf("READY was said %d times", n)
		}
		all := b.manager.words()
		if len(all) < 6 || len(all) > 8 {
			t.Errorf("%d passes in an hour of 10 min intervals", len(all))
		}
		for i := 1; i < len(all); i++ {
			between(t, all[i].at.Sub(all[i-1].at), 10*time.Minute, 10)
		}
	})
}

// between checks that a pause differs from the wanted one by at most so many percent.
func between(t *testing.T, got, want, percent time.Duration) {
	t.Helper()
	if got < want*(100-percent)/100 || got > want*(100+percent)/100 {
		t.Errorf("a pause of %s, want %s give or take %d %%", got, want, percent)
	}
}

func TestNotReadyBeforeTheCauseIsGone(t *testing.T) {
	b := newBox(t)
	inTheWay := filepath.Join(b.root, "etc/sysctl.d/99-netwright.conf")
	if err := os.MkdirAll(inTheWay, 0o755); err != nil {
		t.Fatal(err)
	}
	b.live(t, func(t *testing.T) {
		later(readyWithin - 2*time.Minute) // the longest pause is 90 s, so a pass comes before kubelet may start anyway
		all := b.manager.words()
		if n := b.manager.count("ready"); n != 0 {
			t.Fatalf("READY although the sysctls' file is not there: %+v", all)
		}
		if !strings.Contains(all[0].text, "1 failed") || !strings.Contains(all[0].text, "file:/etc/sysctl.d/99-netwright.conf") {
			t.Errorf("the status does not say what failed: %q", all[0].text)
		}
		if !b.has("/opt/cni/bin/bridge") {
			t.Error("the other branches were not done")
		}
		jitter := map[time.Duration]bool{}
		for i := 1; i < len(all); i++ {
			want := min(time.Second<<(i-1), time.Minute)
			got := all[i].at.Sub(all[i-1].at)
			between(t, got, want, 50) // a fleet must not come back to a store all at once
			jitter[got*1000/want] = true
		}
		if len(all) < 7 || len(jitter) < 2 {
			t.Errorf("%d passes, jitter %v: want a back-off to a minute, never in step", len(all), jitter)
		}
		if err := os.Remove(inTheWay); err != nil {
			t.Fatal(err)
		}
		later(2 * time.Minute)
		if n := b.manager.count("ready"); n != 1 || !b.has("/etc/sysctl.d/99-netwright.conf") {
			t.Errorf("READY was said %d times after the cause was gone", n)
		}
		if failed, again := b.logged("failed"), b.logged("right again"); failed != 1 || again != 1 {
			t.Errorf("logged as failed %d times, as right again %d times; want once each:\n%v", failed, again, b.log.All())
		}
		failed := len(b.manager.words())
		later(time.Hour)
		if passes := len(b.manager.words()) - failed; passes > 8 {
			t.Errorf("%d passes in an hour after all was right: the back-off stayed", passes)
		}
	})
}

func TestDriftIsRepairedWithoutTheStore(t *testing.T) {
	b := newBox(t)
	b.live(t, func(t *testing.T) {
		if err := errors.Join(os.Rename(b.store, b.store+".away"), os.Remove(filepath.Join(b.root, conflist))); err != nil {
			t.Fatal(err)
		}
		later(12 * time.Minute)
		if !b.has(conflist) {
			t.Error("drift was not repaired while the store was away")
		}
		if last := b.manager.last(t); !strings.Contains(last.text, "there is no directory") || !strings.Contains(last.text, "going on with sha256 ") {
			t.Errorf("the status does not say that the store is away: %q", last.text)
		}
		if err := os.Rename(b.store+".away", b.store); err != nil {
			t.Fatal(err)
		}
		later(2 * time.Minute)
		if failed, again := b.logged("the configuration could not be loaded"), b.logged("right again"); failed != 1 || again != 1 {
			t.Errorf("the store's absence was logged %d times, its return %d times; want once each", failed, again)
		}
		if last := b.manager.last(t); strings.Contains(last.text, "going on with sha256 ") {
			t.Errorf("the status still complains: %q", last.text)
		}
	})
}

func TestWithoutAStoreThereIsNothingToBeReadyFor(t *testing.T) {
	b := newBox(t)
	if err := os.Rename(b.store, b.store+".away"); err != nil {
		t.Fatal(err)
	}
	b.live(t, func(t *testing.T) {
		later(2 * time.Minute)
		if n := b.manager.count("ready"); n != 0 || !strings.Contains(b.manager.last(t).text, "there is no directory") {
			t.Fatalf("b.manager.words() is %+v", b.manager.words())
		}
		if err := os.Rename(b.store+".away", b.store); err != nil {
			t.Fatal(err)
		}
		later(2 * time.Minute)
		if n := b.manager.count("ready"); n != 1 {
			t.Errorf("READY was said %d times after the store came back", n)
		}
	})
}

func TestDocumentsAreAppliedAsTheyChange(t *testing.T) {
	b := newBox(t)
	cluster, err := os.ReadFile(filepath.Join(b.store, "demo/cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b.live(t, func(t *testing.T) {
		b.write(t, "cluster.yaml", string(cluster)+"  fileAssets:\n  - {name: hello, path: /etc/hello, content: one}\n")
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/hello"); got != "one" {
			t.Fatalf("a new document was not applied: %q", got)
		}
		// A bad document changes nothing. The daemon reports it and goes on repairing by the last
		// good one.
		b.write(t, "cluster.yaml", string(cluster)+"  fileAssets:\n  - {name: hello, path: /etc/hello, contnet: two}\n")
		if err := os.Remove(filepath.Join(b.root, "etc/hello")); err != nil {
			t.Fatal(err)
		}
		later(11 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/hello"); got != "one" {
			t.Errorf("the last good configuration was not repaired: %q", got)
		}
		if last := b.manager.last(t); !strings.Contains(last.text, "cluster.yaml:12:5: spec.fileAssets[0].content is missing (and 1 more)") || !strings.Contains(last.text, "going on with") {
			t.Errorf("the status does not tell of the bad documents: %q", last.text)
		}
		if got, all := b.logged("cluster.yaml:12:5: spec.fileAssets[0].content is missing"), b.logged("the documents have errors and are not used"); got != 1 || all != 1 {
			t.Errorf("the bad documents were logged %d times, the first error %d times; want once:\n%v", all, got, b.log.All())
		}
		b.write(t, "cluster.yaml", string(cluster)+"  fileAssets:\n  - {name: hello, path: /etc/hello, content: two}\n")
		later(2 * time.Minute)
		if got := hostroot.Read(t, b.root, "/etc/hello"); got != "two" {
			t.Errorf("a mended document was not applied: %q", got)
		}
	})
}

// slowStore takes long for each fetch.
type slowStore struct {
	statestore.Store
	takes time.Duration
}

func (s slowStore) Fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	if !host.Sleep(ctx, s.takes) {
		return nil, fmt.Errorf("fetch: %w", context.Cause(ctx))
	}
	return s.Store.Fetch(ctx, last)
}

// The daemon takes an edit of a store on this machine long before the interval is over: as soon as
// nobody has changed it for a while, and if the whole store is good.
func TestAnEditIsTakenSoon(t *testing.T) {
	b := newBox(t)
	assets := b.plugins(t, "plugins.tar", "")
	sysctl := func(value string) { b.document(t, assets+"  sysctlParameters: [net.core.somaxconn="+value+"]\n") }
	conf := func() string {
		text, err := os.ReadFile(filepath.Join(b.root, "etc/sysctl.d/99-netwright.conf"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	b.live(t, func(t *testing.T) {
		for value := 5000; value < 5005; value++ { // somebody goes on editing
			sysctl(strconv.Itoa(value))
			later(editLook * 4 / 5)
		}
		if strings.Contains(conf(), "somaxconn = 500") {
			t.Errorf("an edit was taken while it went on:\n%s", conf())
		}
		later(2*editLook + time.Second)
		if !strings.Contains(conf(), "somaxconn = 5004") {
			t.Errorf("the edit was not taken:\n%s", conf())
		}
		b.write(t, "cluster.yaml", "kind: [")
		later(3 * editLook)
		if !strings.Contains(conf(), "somaxconn = 5004") || !b.has(conflist) {
			t.Errorf("a document that is none was taken:\n%s", conf())
		}
		sysctl("6000")
		later(2*editLook + time.Second)
		if !strings.Contains(conf(), "somaxconn = 6000") {
			t.Errorf("the edit after it was not taken:\n%s", conf())
		}
	})
}

func TestAPassThatHangsIsNotAlive(t *testing.T) {
	b := newBox(t)
	begun := false
	b.daemon.Pass.Hooks.OnPlan = func(*report.Plan) {
		if !begun {
			begun = true
			host.Sleep(context.Background(), 50*time.Minute)
		}
	}
	b.live(t, func(t *testing.T) {
		later(55 * time.Minute)
		b.manager.mu.Lock()
		defer b.manager.mu.Unlock()
		for i, alive := range b.manager.alive {
			minute := i + 1
			if want := minute < 30 || minute >= 50; alive != want && minute != 30 && minute != 50 {
				t.Errorf("minute %d: alive = %v, want %v", minute, alive, want)
			}
		}
	})
}

// heldStore answers when the test allows it.
type heldStore struct {
	statestore.Store
	mu    sync.Mutex
	held  bool
	asked int
}

func (s *heldStore) hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

func (s *heldStore) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *heldStore) Fetch(ctx context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	s.mu.Lock()
	s.asked++
	held := s.held
	s.mu.Unlock()
	if held {
		<-ctx.Done()
		return nil, fmt.Errorf("the store is held: %w", context.Cause(ctx))
	}
	return s.Store.Fetch(ctx, last)
}

// While the store holds a look, the daemon repairs drift. The look ends at its limit, once, and the
// watchdog gets its signs of life.
func TestALookThatIsHeldHoldsNoPass(t *testing.T) {
	b := newBox(t)
	s := &heldStore{Store: b.daemon.Store}
	b.daemon.Store = s
	b.live(t, func(t *testing.T) {
		s.hold(true)
		if err := os.Remove(filepath.Join(b.root, conflist)); err != nil {
			t.Fatal(err)
		}
		before := s.times()
		for range 20 {
			if b.has(conflist) {
				break
			}
			later(time.Minute)
		}
		if !b.has(conflist) || s.times() == before {
			t.Fatalf("repaired: %t, after %d looks: want it repaired beside the first that is held", b.has(conflist), s.times()-before)
		}
		if b.logged("the configuration could not be loaded") != 0 {
			t.Error("the repair came after the look had ended, and not beside it")
		}
		later(3 * time.Minute)
		if last := b.manager.last(t); !strings.Contains(last.text, "it took longer than its limit of 1m40s") {
			t.Errorf("the status does not say that the look was ended: %q", last.text)
		}
		s.hold(false)
		later(5 * time.Minute)
		if last := b.manager.last(t); strings.Contains(last.text, "going on with") {
			t.Errorf("the status still complains: %q", last.text)
		}
		for _, alive := range b.manager.alive {
			if !alive {
				t.Error("the watchdog was kept waiting by a look")
			}
		}
	})
}

// deafStore ignores the end of its context, as a network file system that hangs.
type deafStore struct {
	statestore.Store
	takes, asked, atOnce, most *int64
	mu                         *sync.Mutex
}

func (s deafStore) take(long time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.takes = int64(long)
}

func (s deafStore) Fetch(_ context.Context, last statestore.Revision) (*statestore.Snapshot, error) {
	s.mu.Lock()
	*s.asked++
	*s.atOnce++
	*s.most = max(*s.most, *s.atOnce)
	takes := time.Duration(*s.takes)
	s.mu.Unlock()
	host.Sleep(context.Background(), takes)
	s.mu.Lock()
	*s.atOnce--
	s.mu.Unlock()
	return s.Store.Fetch(context.Background(), last)
}

// A look that does not end is given up. No second look asks the store beside it, and the node goes
// on. When the look has ended, the store is asked at once.
func TestALookThatIsLost(t *testing.T) {
	b := newBox(t)
	s := deafStore{b.daemon.Store, new(int64), new(int64), new(int64), new(int64), new(sync.Mutex)}
	b.daemon.Store = s
	b.live(t, func(t *testing.T) {
		s.take(time.Hour)
		if err := os.Remove(filepath.Join(b.root, conflist)); err != nil {
			t.Fatal(err)
		}
		later(30 * time.Minute)
		last := b.manager.last(t)
		if !b.has(conflist) || *s.asked != 2 || !strings.Contains(last.text, "has not ended") {
			t.Errorf("repaired: %t, the store was asked %d times, %q", b.has(conflist), *s.asked, last.text)
		}
		s.take(0)
		later(45 * time.Minute)
		if last := b.manager.last(t); strings.Contains(last.text, "going on") || *s.most != 1 {
			t.Errorf("the store answers again: %q; it was asked %d times at a time", last.text, *s.most)
		}
	})
}

// At a start with a slow store, the last good configuration is in force at once. The store's
// configuration follows.
func TestAStartBesideASlowStore(t *testing.T) {
	b := newBox(t)
	b.live(t, func(*testing.T) {})
	if err := os.Remove(filepath.Join(b.root, conflist)); err != nil {
		t.Fatal(err)
	}
	b.daemon.Store = slowStore{b.daemon.Store, time.Minute}
	b.manager = &manager{}
	b.daemon.Manager = b.manager
	b.live(t, func(t *testing.T) {
		later(2 * time.Second)
		if first := b.manager.last(t); first.what != "ready" || !b.has(conflist) {
			t.Fatalf("%+v, repaired: %t", first, b.has(conflist))
		}
		later(2 * time.Minute)
		if n := b.manager.count("ready"); n != 1 {
			t.Errorf("READY was said %d times", n)
		}
		if all := b.manager.words(); len(all) != 2 || strings.Contains(all[1].text, "going on") {
			t.Errorf("want one pass by what is known and one by the store: %+v", all)
		}
	})
}

func TestAStopEndsAPass(t *testing.T) {
	b := newBox(t)
	b.daemon.Store = slowStore{b.daemon.Store, time.Hour}
	b.live(t, func(t *testing.T) {
		if n := len(b.manager.words()); n != 0 {
			t.Errorf("%d words before the first pass is over", n)
		}
	})
}

// A pass may wait for a moment of the wall clock. The next look is at a moment of the monotonic
// clock, which nobody can set. The line that keeps it: pkg/daemon/loop.go, nextLook.
func TestTheNextLookIsByAClockThatNobodySets(t *testing.T) {
	const soon = 20 * time.Second
	for name, awaited := range map[string]time.Time{"of the wall": time.Now().Add(soon).Round(0), "of this process": time.Now().Add(soon)} {
		next := nextLook(time.Now().Add(time.Hour), awaited)
		if left := time.Until(next); left < soon/2 || left > soon || next == next.Round(0) { // of the wall clock alone
			t.Errorf("a moment %s: in %s, as %s", name, left, next)
		}
	}
	if next := nextLook(time.Now().Add(time.Hour), time.Now().Add(2*time.Hour).Round(0)); time.Until(next) > time.Hour {
		t.Errorf("it does not look before %s", next)
	}
}
