package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/netns"
)

// watchedHook makes a good change with a hook and more keys. The change is watched for a time, as
// if the process that made it had ended.
func watchedHook(t *testing.T, h *host.Host, s Settings, length time.Duration, more ...graph.Key) *watch {
	t.Helper()
	change := hook(t)
	change.Keys = append(change.Keys, more...)
	c, err := Take(t.Context(), h, change, s)
	if err == nil {
		err = c.Arm(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.journal.watched(t.Context(), h, systemd.ClockUS()+uint64(length/time.Microsecond))
	if err != nil || w == nil {
		t.Fatalf("nothing to watch: %v", err)
	}
	if err := w.begin(t.Context(), h, c.program); !errors.Is(err, host.ErrNoLiveState) { // without a systemd
		t.Fatalf("a watch without a systemd: %v; want %v", err, host.ErrNoLiveState)
	}
	if err := errors.Join(h.Files.RemoveDurably(JournalFile), w.Journal.dropBootUnit(h), undo.Save(t.Context(), h, scaffoldFile, scaffold{Copies: w.Journal.Copies})); err != nil {
		t.Fatal(err)
	}
	return w
}

// A good change is undone if its hook later loses the node its gateway and its store. That holds
// also for a process after one that was killed in the middle. The store alone, or the gateway
// alone, is no reason. The lines that keep it: watch_hooks.go, Watch, lost, undo and end.
func TestWatch(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	const killed, hangs = "both, and killed in the middle", "both, and a pass keeps the lock"
	good, cut := "ip route replace default via 10.0.0.1", "ip route replace default via 10.0.0.66"
	for _, c := range []struct {
		name, does   string
		storeAnswers func() error
		length       time.Duration
		undone       bool
	}{
		{"nothing", "", func() error { return nil }, 2 * time.Second, false},
		{"the gateway alone", cut, func() error { return nil }, 2 * time.Second, false},
		{"the store alone", "", func() error { return errors.New("no store") }, 2 * time.Second, false},
		{"both", cut, func() error { return reaches(t.Context(), netip.Addr{}) }, 6 * time.Second, true},
		{killed, cut, func() error { return reaches(t.Context(), netip.Addr{}) }, 6 * time.Second, true},
		{hangs, cut, func() error { return reaches(t.Context(), netip.Addr{}) }, 6 * time.Second, true},
	} {
		s, broken := settings(), false
		s.Store = probe.StoreProbe("https://store", "c")
		s.Means.Store = func(context.Context, string, string) error {
			if !broken {
				return nil
			}
			return c.storeAnswers()
		}
		w := watchedHook(t, h, s, c.length)
		if c.name == hangs {
			pass := keeper(t)
			w.Journal.Process = pass
			s.Lock = func(context.Context) (func(), error) {
				if alive(pass) {
					return nil, errors.New("another run holds the lock")
				}
				return func() {}, nil
			}
			if err := undo.Save(t.Context(), h, WatchFile, w); err != nil {
				t.Fatal(err)
			}
		}
		if c.does != "" {
			netns.Shell(t, c.does)
		}
		broken = true
		if c.name == killed {
			dies := s
			dies.Record = func(context.Context, *host.Host, json.RawMessage, Verdict) error { return errors.New("killed") }
			if err := Watch(t.Context(), h, dies); err == nil {
				t.Error("not killed")
			}
		}
		if err := Watch(t.Context(), h, s); err != nil {
			t.Errorf("%s: Watch returns %v", c.name, err)
		}
		if v, _ := lastVerdict(h.Live.Files); (v != nil) != c.undone || v != nil && (v.Bad || !strings.Contains(v.Unsure, "may be an outage") || v.Tries != 1) {
			t.Errorf("%s: verdict %+v", c.name, v)
		}
		left := []string{VerdictFile}
		if !c.undone {
			left = nil
			netns.Shell(t, good)
		}
		unchanged(t, was, left...)
		netns.Shell(t, "rm -rf /run/recorded "+Dir)
	}
}

// keeper starts a process that does not end.
func keeper(t *testing.T) host.Process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "infinity")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	started, err := strconv.ParseUint(strings.Fields(string(stat))[21], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return host.Process{PID: cmd.Process.Pid, Started: started}
}

func alive(p host.Process) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	return err == nil && strings.Fields(string(stat))[2] != "Z"
}

// Other passes leave a watch alone. Its end, a boot and a reset end it. The lines that keep it:
// watch_hooks.go, EndWatch, over and Watch (removeStale); disarm.go, removeStale.
func TestWatchEnds(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	for _, c := range []struct {
		name   string
		length time.Duration
		does   func() error
		ends   bool
	}{
		{"the next pass", time.Minute, func() error { _, err := Undo(t.Context(), h, settings()); return err }, false},
		{"a reset", time.Minute, func() error { return EndWatch(t.Context(), h) }, true},
		{"its end", time.Second, func() error { return Watch(t.Context(), h, settings()) }, true},
		{"its end, where a run was killed in it", time.Minute, func() error {
			return errors.Join(os.Remove(WatchFile), Watch(t.Context(), h, settings()))
		}, true},
		{"an agent of an earlier release", time.Minute, func() error { // that release knows no watch
			return errors.Join(remains(h.Live.Files).dropBootUnit(h), os.Remove(scaffoldFile), os.Remove(binaryFile), Watch(t.Context(), h, settings()), EndWatch(t.Context(), h))
		}, true},
		{"a boot", time.Hour, func() error {
			w, err := watching(h.Live.Files)
			w.Journal.Boot = "another"
			return errors.Join(err, undo.Save(t.Context(), h, WatchFile, w), Watch(t.Context(), h, settings()))
		}, true},
	} {
		watchedHook(t, h, settings(), c.length)
		if generation, _, until := Watched(h.Live.Files); c.length > time.Second && (generation != 7 || until.IsZero() || time.Until(until) > c.length+time.Second) {
			t.Errorf("%s: generation %d is watched until %s", c.name, generation, until)
		}
		err := c.does()
		if _, _, until := Watched(h.Live.Files); err != nil || until.IsZero() != c.ends {
			t.Errorf("%s: %v; it is watched until %s", c.name, err, until)
		}
		if err := EndWatch(t.Context(), h); err != nil {
			t.Error(err)
		}
		netns.Shell(t, "rm -rf "+Dir+"/agent")
		unchanged(t, was)
	}
}

// A watch that cannot be read now stays: it does not count as damaged, and nobody ends it. A
// journal that cannot be read now does not count as damaged either, and is not moved away. The
// lines that keep it: journal.go, readJournal (Unread); watch_hooks.go, readWatch;
// pkg/host/view.go, Unread.
func TestWhatCannotBeReadNowStands(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, _ := onNode(t)
	unread := func(file string, does func() error) {
		t.Helper()
		netns.Shell(t, "touch "+file+"; mount --bind /proc/self/mem "+file) // the memory of a process that has ended
		err := does()
		netns.Shell(t, "umount "+file)
		if !errors.Is(err, syscall.ESRCH) || strings.Contains(err.Error(), "mv ") {
			t.Errorf("%s cannot be read: %v", file, err)
		}
	}
	watchedHook(t, h, settings(), time.Hour)
	for _, does := range []func() error{
		func() error { _, err := Undo(t.Context(), h, settings()); return err },
		func() error { return Watch(t.Context(), h, settings()) },
		func() error {
			_, err := Take(t.Context(), h, Change{Digest: "d8", Keys: changed}, settings())
			return err
		},
	} {
		unread(WatchFile, does)
		if generation, _, until := Watched(h.Live.Files); generation != 7 || until.IsZero() {
			t.Fatalf("after it generation %d is watched until %s", generation, until)
		}
	}
	unread(JournalFile, func() error { _, err := Pending(h.Live.Files); return err })
}

// Another change comes during a watch. It is watched instead, for the rest of the time, whether it
// stays or is undone: what the hook does later is undone. A change that is not made leaves the
// watch alone. No change is made while the node seems to be lost. The lines that keep it: take.go,
// Take and Drop; arm.go, mayArm; finish.go, leave; watch_hooks.go, watchUntil.
func TestAChangeComesIntoAWatch(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	h, was := onNode(t)
	const length = time.Hour
	first := watchedHook(t, h, settings(), length, tasks.FileKey("/etc/nw/large"))
	standsAlone := func(when string) {
		t.Helper()
		if w, err := watching(h.Live.Files); err != nil || w == nil || w.UntilUS != first.UntilUS || w.Journal.Generation != 7 {
			t.Errorf("%s the watch is %+v", when, w)
		}
		if got := netns.Shell(t, "ls "+Dir); got != "agent\nfile-0\nreserve-files\nreserve-verdict\nscaffold.json\nwatch.json\n" {
			t.Errorf("%s there is\n%s", when, got)
		}
	}
	standsAlone("at first")
	next := Change{Generation: 8, Digest: "d8", Keys: changed}

	c, err := Take(t.Context(), h, next, settings())
	if err == nil {
		err = c.Drop(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	standsAlone("after a change that was not begun,")

	netns.Shell(t, "ip route replace default via 10.0.0.66")
	if c, err = Take(t.Context(), h, next, settings()); err == nil {
		err = c.Arm(t.Context())
	}
	var refusal *RefusedError
	if !errors.As(err, &refusal) || !strings.Contains(err.Error(), "generation 7 started or stopped a hook, and since then these probes fail: ") {
		t.Errorf("while the gateway is lost: %v", err)
	}
	if c != nil {
		if err := c.Drop(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	netns.Shell(t, "ip route replace default via 10.0.0.1")
	standsAlone("after a change that was refused,")

	if c, err = Take(t.Context(), h, next, settings()); err == nil {
		err = c.Arm(t.Context())
	}
	w, unread := watching(h.Live.Files)
	if errors.Join(err, unread) != nil || w != nil || c.journal.Around == nil || !slices.Equal(c.journal.Copies, []string{Dir + "/file-0", Dir + "/file-1", Dir + "/file-2"}) {
		t.Fatalf("a change that is begun: %v, beside %+v, keeps %v", errors.Join(err, unread), w, c.journal.Copies)
	}
	for way, until := range map[string]uint64{"stays": c.watchUntil(), "is undone": c.journal.WatchUS} {
		w, err := c.journal.watched(t.Context(), h, until)
		if err != nil || w == nil || w.UntilUS != first.UntilUS || w.Journal.Generation != 8 {
			t.Errorf("a change that %s is watched: %+v, %v", way, w, err)
		}
	}
	c.change.Watch, c.programs = 2*length, true
	if got := c.watchUntil(); got <= first.UntilUS {
		t.Errorf("a change with a hook is watched until %d, the earlier one until %d", got, first.UntilUS)
	}
	if err := c.Finish(t.Context(), nil); err != nil { // without a systemd that could watch
		t.Fatal(err)
	}
	unchanged(t, was)
}
