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

// A hook may break the network a minute after it has started. So a good change that started or
// stopped a hook is watched for a while. A transient service does that, which needs neither the
// agent nor its documents. The files for the undo stay that long. The watch ends after its time, or
// at the next boot. If another change has a checkpoint during the watch, that change is watched
// instead, for the rest of the time: the undo then restores the state before the last change.

// The limits of a watch.
const (
	watchEach = 20 * time.Second // longest pause between two looks; shorter in a short watch
	watchPart = 6
	losses    = 3 // that many failures in a row undo the change
)

// watch is the record of a good change that is watched.
type watch struct {
	UntilUS  uint64        `json:"untilUS"`        // CLOCK_MONOTONIC of the journal's boot, in microseconds
	Until    time.Time     `json:"until,omitzero"` // the same by the wall clock, for people
	Each     time.Duration `json:"each"`
	Gateways []probe.Probe `json:"gateways"`
	Store    probe.Probe   `json:"store,omitempty"` // "" if no store says anything about the network
	Journal  *Journal      `json:"journal"`
}

// watchUntil returns until when the change is watched if it is good: as long as its documents say,
// or until the end of the watch of an earlier change.
func (c *Checkpoint) watchUntil() uint64 {
	until := c.journal.WatchUS
	if c.programs {
		until = max(until, hostsystemd.ClockUS()+uint64(max(c.change.Watch, 0)/time.Microsecond))
	}
	return until
}

// watched returns a watch until untilUS with the journal's checkpoint, or nil if there is nothing
// to watch.
func (j *Journal) watched(ctx context.Context, h *host.Host, untilUS uint64) (*watch, error) {
	now := hostsystemd.ClockUS()
	if j.Around == nil || untilUS <= now || host.IsOtherBoot(h.Live.Files, j.Boot) {
		return nil, nil
	}
	left, kept := time.Duration(untilUS-now)*time.Microsecond, *j
	kept.Awaits = nil // it is confirmed
	w := &watch{UntilUS: untilUS, Until: time.Now().Add(left + time.Second).UTC().Truncate(time.Second),
		Each: min(watchEach, left/watchPart), Journal: &kept}
	var err error
	if w.Gateways, w.Store, err = probe.Watchable(ctx, h, j.Probes); err != nil {
		return nil, err
	}
	if len(w.Gateways) == 0 {
		return nil, nil // nothing answered before the change
	}
	return w, nil
}

// begin starts the watch. From then on no process that looks for a journal undoes the change. A
// boot ends the watch, because begin removes the boot unit.
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

// remains returns the scaffold of an earlier checkpoint; empty if it cannot be read.
func remains(r host.FileReader) (s scaffold) {
	if data, err := r.ReadFile(scaffoldFile); err == nil {
		_ = json.Unmarshal(data, &s)
	}
	return s
}

// watching returns the watch that runs, or nil. A watch file that is damaged counts as none,
// because its change was good. So does one without a scaffold. An agent of an earlier release knows
// no watch and removes what a checkpoint without a journal left, and it may have made other changes
// since. The error means that the file cannot be read now, and may exist.
func watching(r host.FileReader) (*watch, error) {
	return readWatch(r, func(w *watch) error { return head.ReadAll(r, WatchFile, w) })
}

// watchHead does what watching does for callers that do not undo. It only reads the fields before
// the probes.
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
		return nil, fmt.Errorf("check whether an earlier change is watched: %w", err)
	case err != nil || w.Journal == nil || w.Journal.Version != journalVersion:
		return nil, nil
	}
	return w, nil
}

// Watched returns which configuration is watched, and until when; the zero time if none is.
func Watched(r head.Reader) (number int64, digest string, until time.Time) {
	w, _ := watchHead(r) // an unreadable watch counts as none
	if w == nil || w.over(r) {
		return 0, "", time.Time{}
	}
	return w.Journal.Generation, w.Journal.Digest, w.Until
}

// over reports whether the time of the watch or its boot has ended.
func (w *watch) over(r host.FileReader) bool {
	return host.IsOtherBoot(r, w.Journal.Boot) || hostsystemd.ClockUS() >= w.UntilUS
}

// EndWatch ends a watch and removes all its files. Without a watch it only costs one lstat. The
// caller holds the lock.
func EndWatch(ctx context.Context, h *host.Host) error {
	if _, err := h.Live.Files.Lstat(WatchFile); errors.Is(err, host.ErrNotExist) {
		return nil
	}
	s := remains(h.Live.Files)
	s.cachesCopy = true // the next checkpoint may need it
	if err := endWatch(ctx, h); err != nil {
		return err
	}
	return s.dismantle(ctx, h)
}

// endWatch ends a watch for a checkpoint that replaces it.
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

// Watch watches until the watch is over. If the node loses both its gateway and its store, it
// undoes the change. The transient service runs it. It may be killed at any point and run again.
func Watch(ctx context.Context, h *host.Host, s Settings) error {
	if j, err := Pending(h.Live.Files); err == nil && j != nil && j.Watched {
		_, err := Undo(ctx, h, s) // the undo was killed
		return err
	}
	for lost := 0; ; {
		w, err := watching(h.Live.Files)
		if err != nil {
			return err // systemd starts the service again
		}
		if w == nil { // also if end was killed
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

// lost returns the failed probes if the node has lost the gateway and the store. It returns none if
// only one of them fails: a store may have an outage, and a gateway need not always answer.
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

// undo undoes the change, unless the watch was ended meanwhile or the probes pass again.
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
	// the watch ends with the undo; the process that made the change has finished it
	j.Process, j.Watched, j.WatchUS = host.Self(), true, 0
	if err := w.rearm(ctx, h); err != nil {
		return false, err
	}
	s.log().Warn("the node lost its gateway and its store after a hook was started; the change is undone",
		zap.Int64("generation", j.Generation))
	_, err = j.undo(ctx, h, s, failed, failed.String())
	return true, err
}

// rearm writes the journal, so that every process that finds it runs the undo, also at the next
// boot.
func (w *watch) rearm(ctx context.Context, h *host.Host) error {
	j := w.Journal
	was := remains(h.Live.Files) // an earlier call may have been killed
	j.scaffold = was
	j.missing(h)
	j.BootUnit, j.BootLink = j.BootUnit || was.BootUnit, j.BootLink || was.BootLink
	if was.BootLink { // the directory may exist only for this link
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

// end ends the watch and removes the files for its undo.
func (w *watch) end(ctx context.Context, h *host.Host, s Settings) error {
	if s.Lock != nil {
		unlock, err := s.Lock(ctx)
		if err != nil {
			return err
		}
		defer unlock()
	}
	if !w.stands(h) {
		return nil // another watch or change has begun
	}
	// of an earlier attempt, or of another generation
	if v, _ := lastVerdict(h.Live.Files); v != nil && (v.Process != w.Journal.Process || v.Taken != w.Journal.Taken) {
		_ = h.Files.Remove(VerdictFile)
	}
	return remains(h.Live.Files).dismantle(ctx, h)
}

// stands reports whether this watch is still the one that runs, and no other undo is pending.
func (w *watch) stands(h *host.Host) bool {
	now, _ := watchHead(h.Live.Files)
	j, err := Pending(h.Live.Files)
	return now != nil && now.UntilUS == w.UntilUS && now.Journal.Process == w.Journal.Process && j == nil && err == nil
}
