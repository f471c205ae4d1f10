package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/checkpoint/undo"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs/head"
	hostsystemd "github.com/netwright/netwright/pkg/host/systemd"
	"github.com/netwright/netwright/systemd"
)

// A hook that came up may break the network a minute later. So a good change that started or
// stopped one is watched for a while, by a process of its own: a transient service, which needs
// neither the agent nor its documents, and ends with the machine. What the undo needs is kept that
// long. The watch ends with its time and with the next boot. A change that comes into it under a
// checkpoint is watched in its place, for what is left of the time: how the node was before the
// last change is what should come back.

// How a change is watched.
const (
	watchEach = 20 * time.Second // at most; a short watch asks more often
	watchPart = 6
	losses    = 3 // in a row, after which the change is undone
)

// watch is a good change that is watched.
type watch struct {
	UntilUS  uint64        `json:"untilUS"`        // CLOCK_MONOTONIC of the journal's boot, microseconds
	Until    time.Time     `json:"until,omitzero"` // the same by the clock on the wall: for people
	Each     time.Duration `json:"each"`
	Gateways []probe.Probe `json:"gateways"`
	Store    probe.Probe   `json:"store,omitempty"` // "": none that says anything of the network
	Journal  *Journal      `json:"journal"`
}

// watchUntil is until when the change is watched if it is good: as long as its documents say from
// now on, or as an earlier one was to be.
func (c *Checkpoint) watchUntil() uint64 {
	until := c.journal.WatchUS
	if c.programs {
		until = max(until, hostsystemd.ClockUS()+uint64(max(c.change.Watch, 0)/time.Microsecond))
	}
	return until
}

// watched is what to watch with the journal's checkpoint until then, nil for nothing.
func (j *Journal) watched(ctx context.Context, h *host.Host, untilUS uint64) (*watch, error) {
	now := hostsystemd.ClockUS()
	if j.Around == nil || untilUS <= now || j.Boot != host.BootID(h.Live.Files) {
		return nil, nil
	}
	left, kept := time.Duration(untilUS-now)*time.Microsecond, *j
	kept.Awaits = nil // whoever keeps it has confirmed it
	w := &watch{UntilUS: untilUS, Until: time.Now().Add(left + time.Second).UTC().Truncate(time.Second),
		Each: min(watchEach, left/watchPart), Journal: &kept}
	var err error
	if w.Gateways, w.Store, err = probe.Watchable(ctx, h, j.Probes); err != nil {
		return nil, err
	}
	if len(w.Gateways) == 0 {
		return nil, nil // nothing answered before
	}
	return w, nil
}

// begin has the change watched: from here on it is not undone by whoever finds a journal. A boot
// ends the watch: its unit goes.
func (w *watch) begin(ctx context.Context, h *host.Host, program string) error {
	if err := endWatch(ctx, h); err != nil {
		return err
	}
	if err := undo.Save(ctx, h, WatchFile, w); err != nil {
		return err
	}
	err := h.Units.StartWatch(ctx, watchName, "Netwright: watch a change that started a hook", systemd.Undo, w.Each,
		scaffoldFile, program, "undo", "--watch")
	if err == nil {
		err = h.Files.RemoveDurably(JournalFile)
	}
	if err == nil {
		err = errors.Join(h.Units.StopTimer(ctx, TimerName), h.Units.StopTimer(ctx, unconfirmedTimer))
	}
	s := w.Journal.scaffold
	if err == nil {
		err = s.dropBootUnit(h)
	}
	if err == nil {
		s.BootUnit, s.BootLink = false, false
		err = undo.Save(ctx, h, scaffoldFile, s)
	}
	return err
}

// remains is what stands of an earlier checkpoint. One that cannot be read names nothing.
func remains(r host.FileReader) (s scaffold) {
	if data, err := r.ReadFile(scaffoldFile); err == nil {
		_ = json.Unmarshal(data, &s)
	}
	return s
}

// watching is the watch that is on, nil if none is. One that somebody damaged is none: its change
// was good. Nor is one whose scaffold is gone: an agent of an earlier release knows no watch, and
// takes away what it finds of a checkpoint without a journal; it may have made other changes since.
// The error is that it cannot be read now, and may be there.
func watching(r host.FileReader) (*watch, error) {
	return readWatch(r, func(w *watch) error { return head.ReadAll(r, WatchFile, w) })
}

// watchHead is watching for who undoes nothing: of the journal it has what comes before its probes.
func watchHead(r head.Reader) (*watch, error) {
	return readWatch(r, func(w *watch) error { return head.Read(r, WatchFile, "probes", "}}", w) })
}

func readWatch(r host.FileReader, read func(*watch) error) (*watch, error) {
	_, err := r.ReadFile(scaffoldFile)
	w := &watch{}
	if err == nil {
		err = read(w)
	}
	switch {
	case host.Unread(err):
		return nil, fmt.Errorf("look whether an earlier change is watched: %w", err)
	case err != nil || w.Journal == nil || w.Journal.Version != journalVersion:
		return nil, nil
	}
	return w, nil
}

// Watched says the change of which configuration is watched, and until when; a time that is zero:
// none is.
func Watched(r head.Reader) (number int64, digest string, until time.Time) {
	w, _ := watchHead(r) // of one that cannot be read nothing can be told
	if w == nil || w.over(r) {
		return 0, "", time.Time{}
	}
	return w.Journal.Generation, w.Journal.Digest, w.Until
}

// over says that its time or its boot is.
func (w *watch) over(r host.FileReader) bool {
	return w.Journal.Boot != host.BootID(r) || hostsystemd.ClockUS() >= w.UntilUS
}

// EndWatch ends a watch, if one is on, with all that is kept for it. Without one it costs one
// failed open. The caller has the lock.
func EndWatch(ctx context.Context, h *host.Host) error {
	if _, err := h.Live.Files.Lstat(WatchFile); errors.Is(err, host.ErrNotExist) {
		return nil
	}
	s := remains(h.Live.Files)
	s.cachesCopy = true // for the next one
	if err := endWatch(ctx, h); err != nil {
		return err
	}
	return s.dismantle(ctx, h)
}

// endWatch ends a watch for a checkpoint that stands in its place.
func endWatch(ctx context.Context, h *host.Host) error {
	if _, err := h.Live.Files.Lstat(WatchFile); errors.Is(err, host.ErrNotExist) {
		return nil
	}
	err := h.Units.StopTimer(ctx, watchName)
	if err == nil {
		err = h.Units.StopUnit(ctx, watchName+".service", true)
	}
	if err != nil && !errors.Is(err, host.ErrNoLiveState) {
		return fmt.Errorf("end the watch of an earlier change: %w", err)
	}
	return h.Files.RemoveDurably(WatchFile)
}

// Watch watches until the watch is over, or undoes its change when it costs the node its gateway
// and its store. It is what the transient service runs, and may be killed at any point and run
// again.
func Watch(ctx context.Context, h *host.Host, s Settings) error {
	if j, err := Pending(h.Live.Files); err == nil && j != nil && j.Watched {
		_, err := Undo(ctx, h, s) // killed in the middle of it
		return err
	}
	for lost := 0; ; {
		w, err := watching(h.Live.Files)
		if err != nil {
			return err // systemd starts it again
		}
		if w == nil { // or killed in the middle of its end
			return removeStale(ctx, h, s.Lock)
		}
		if w.over(h.Live.Files) {
			return w.end(ctx, h, s)
		}
		failed := w.lost(ctx, s.prober(h))
		if lost++; len(failed) == 0 {
			lost = 0
		}
		if lost >= losses {
			undone, err := w.undo(ctx, h, s)
			if undone || err != nil {
				return err
			}
			lost = 0
		}
		if !host.Sleep(ctx, w.Each) {
			return context.Cause(ctx)
		}
	}
}

// lost are the probes that failed if the gateway and the store are both lost, none else: a store
// alone may have an outage, and a gateway need not answer all the time.
func (w *watch) lost(ctx context.Context, n probe.Prober) probe.Failures {
	gateways := n.Attempt(ctx, w.Gateways)
	if len(gateways) == 0 || w.Store == "" {
		return gateways
	}
	store := n.Attempt(ctx, []probe.Probe{w.Store})
	if len(store) == 0 {
		return nil
	}
	return append(gateways, store...)
}

// undo takes the change back, unless somebody ended the watch meanwhile, or all is well again.
func (w *watch) undo(ctx context.Context, h *host.Host, s Settings) (undone bool, err error) {
	if s.Lock != nil {
		unlock, err := w.Journal.lock(ctx, h, s)
		if err != nil {
			return false, err
		}
		defer unlock()
	}
	if !w.stands(h) {
		return false, nil
	}
	failed := w.lost(ctx, s.prober(h))
	if len(failed) == 0 {
		return false, nil
	}
	j := w.Journal
	// nothing is watched then; the process that made the change did so to its end
	j.Process, j.Watched, j.WatchUS = host.Self(), true, 0
	if err := w.rearm(ctx, h); err != nil {
		return false, err
	}
	s.log().Warn("the node lost its gateway and its store after a hook was started; the change is undone",
		zap.Int64("generation", j.Generation))
	_, err = j.undo(ctx, h, s, failed, failed.String())
	return true, err
}

// rearm makes the journal one that is undone by whoever finds it, the next boot too.
func (w *watch) rearm(ctx context.Context, h *host.Host) error {
	j := w.Journal
	was := remains(h.Live.Files) // what was begun and killed in the middle stands still
	j.scaffold = was
	j.missing(h)
	j.BootUnit, j.BootLink = j.BootUnit || was.BootUnit, j.BootLink || was.BootLink
	if was.BootLink { // the directory may be there for it alone
		j.HadWants = was.HadWants
	}
	if err := undo.Save(ctx, h, scaffoldFile, j.scaffold); err != nil {
		return err
	}
	if err := j.wantBootUnit(ctx, h); err != nil {
		return err
	}
	if err := j.write(ctx, h); err != nil {
		return err
	}
	return h.Files.RemoveDurably(WatchFile)
}

// end takes away what was kept for an undo.
func (w *watch) end(ctx context.Context, h *host.Host, s Settings) error {
	if s.Lock != nil {
		unlock, err := s.Lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
	}
	if !w.stands(h) {
		return nil // another one by now
	}
	// of an earlier try, or of another generation
	if v, _ := lastVerdict(h.Live.Files); v != nil && (v.Process != w.Journal.Process || v.Taken != w.Journal.Taken) {
		_ = h.Files.Remove(VerdictFile)
	}
	return remains(h.Live.Files).dismantle(ctx, h)
}

// stands says that the watch is still the one that is on, and that nothing else is due to be
// undone.
func (w *watch) stands(h *host.Host) bool {
	now, _ := watchHead(h.Live.Files)
	j, err := Pending(h.Live.Files)
	return now != nil && now.UntilUS == w.UntilUS && now.Journal.Process == w.Journal.Process && j == nil && err == nil
}
