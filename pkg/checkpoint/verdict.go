package checkpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/generation"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/problem"
)

// Verdict is what is known of a generation whose change was undone.
type Verdict struct {
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest"`
	Bad        bool      `json:"bad"`              // the probes passed again after the undo; else inconclusive
	Why        string    `json:"why"`              // what failed
	Unsure     string    `json:"unsure,omitempty"` // why it is not known whether it was the change; "" of a bad one
	Tries      int       `json:"tries"`            // how often it was applied and undone
	At         time.Time `json:"at"`
	Left       []string  `json:"left,omitempty"` // what a program had done and could not be taken back
	// Machine is the one that made the change; "": an earlier release did not say.
	Machine string `json:"machine,omitempty"`
	// Process made the change, and Taken is when: an undo that was killed and is done again is the
	// same try. A daemon makes many.
	Process host.Process  `json:"process"`
	Taken   time.Duration `json:"taken,omitempty"`
	// Unconfirmed says that nothing failed, and that nobody confirmed it: it is bad as long as
	// nobody asks for it again.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
	// Awaits is what it awaited then; for who keeps the books.
	Awaits *Awaits `json:"-"`
}

// Text is why it was undone, and what is left of it.
func (v Verdict) Text() string { return v.Why + v.remains() }

func (v Verdict) remains() string {
	if len(v.Left) == 0 {
		return ""
	}
	return ". Not brought back: " + strings.Join(v.Left, ", ")
}

// agentEnded is why a change was undone whose agent ended before it had looked, and after which
// nothing is amiss.
const agentEnded = "the agent ended before the change was confirmed"

// Back-off of a generation of which nothing is known: doubled at each try.
const (
	firstPause = 30 * time.Second
	maxPause   = time.Hour
)

// retry is when a generation of which nothing is known is tried again: at once if only the agent
// ended, and nothing failed. A kill says nothing of the change, and whoever starts the agent again
// does not wait for it; the second time it may have been the change.
func (v Verdict) retry() time.Time {
	if v.Why == agentEnded && v.Tries <= 1 {
		return v.At
	}
	return v.At.Add(min(firstPause<<min(max(v.Tries-1, 0), 10), maxPause))
}

// name is that of the configuration.
func (v Verdict) name() string { return generation.Name(v.Generation, v.Digest) }

// SuppressedError says that a generation is not applied, and what to do. It says the same as long
// as the same verdict holds: who logs news only, logs it once.
type SuppressedError struct {
	Verdict
	Unread error // of the verdict, of which nothing is known then
}

func (e *SuppressedError) Error() string {
	if e.Unread != nil {
		return fmt.Sprintf("whether %s was undone is not known: %v: look at this machine's disk", e.name(), e.Unread)
	}
	text := fmt.Sprintf("%s was undone: %s; whether it was the change is not known: %s. It is tried again "+
		"after %s",
		e.name(), e.Why, e.Unsure, e.retry().UTC().Format(time.RFC3339))
	switch {
	case e.Unconfirmed:
		text = fmt.Sprintf("%s was undone: %s. `agent --once --confirm 2m` applies it again", e.name(),
			e.Why)
	case e.Bad:
		text = fmt.Sprintf("%s is bad: probe %s failed after the change; undone. Change the documents; or, "+
			"if it was something else, remove %s and it is tried again",
			e.name(), e.Why, VerdictFile)
	}
	return text + e.remains()
}

// Kind implements [problem.KindOf].
func (e *SuppressedError) Kind() problem.ID { return problem.ChangeUndone }

// Suppressed says why a snapshot is not to be applied now; nil: it may be. A damaged verdict holds
// nothing back: the next apply is under a checkpoint too. One that cannot be read now holds all
// back, or a bad change would be made again in each pass. Who may not read it changes nothing
// anyway.
func Suppressed(r host.FileReader, digest string, now time.Time) *SuppressedError {
	v, err := lastVerdict(r)
	if host.Unread(err) && !errors.Is(err, fs.ErrPermission) {
		return &SuppressedError{Verdict{Digest: digest}, err}
	}
	if v == nil || v.Digest != digest {
		return nil
	}
	// A clock that was set back must not hold it for years.
	if !v.Bad && (now.Before(v.At) || !now.Before(v.retry())) {
		return nil
	}
	return &SuppressedError{Verdict: *v}
}

// lastVerdict is nil where there is none of this machine that can be read.
func lastVerdict(r host.FileReader) (*Verdict, error) {
	data, err := r.ReadFile(VerdictFile)
	if err != nil {
		return nil, err
	}
	v := &Verdict{}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("decode %s: %w", VerdictFile, err)
	}
	if host.IsOtherMachine(r, v.Machine) {
		return nil, nil
	}
	return v, nil
}

// judge writes the verdict of an undone change. failed are the probes that failed after the change,
// nil if none did or nobody looked; recovered says that they pass after the undo.
//
// A store that failed alone may have had its own outage and come back just then, and so may the
// network some time after the change: that bans a generation only the second time. A node to which
// only a route of the change leads may be off for days, and bans none.
func (j *Journal) judge(
	ctx context.Context, h *host.Host, failed probe.Failures, recovered bool, why string,
) (Verdict, error) {
	v := Verdict{Generation: j.Generation, Digest: j.Digest, Why: why, Tries: 1, At: time.Now(), Left: j.left,
		Process: j.Process, Taken: j.Taken, Machine: cmp.Or(j.Machine, host.MachineID(h.Live.Files))}
	if last, _ := lastVerdict(h.Live.Files); last != nil && last.Digest == v.Digest && v.Digest != "" {
		switch same := last.Process == j.Process && last.Taken == j.Taken; {
		case same && (last.Bad || len(failed) == 0): // who was killed had seen what failed
			last.Awaits = j.Awaits
			return *last, nil
		case same:
			v.Tries = last.Tries
		default:
			v.Tries = last.Tries + 1
		}
	}
	switch {
	case j.Awaits != nil:
		v.Bad, v.Unconfirmed, v.Awaits = true, true, j.Awaits
	case len(failed) == 0 && why == agentEnded:
		v.Unsure = "nobody looked what still answered"
	case len(failed) == 0:
		v.Unsure = "no probe failed"
	case !recovered:
		v.Unsure = "the probes do not pass without it either"
	case j.Watched && v.Tries == 1:
		v.Unsure = "they were lost some time after it, which may have been an outage that ended just then"
	case failed.Only(probe.NextHop):
		v.Unsure = "only the next hop of a route does not answer, which may be away itself"
	case !failed.Only(probe.Store) || v.Tries > 1:
		v.Bad = true
	default:
		v.Unsure = "only the store failed, which may have had an outage of its own"
	}
	if j.Digest == "" {
		return v, nil // there is no generation to be held back
	}
	data, err := json.Marshal(v)
	if err != nil {
		return v, fmt.Errorf("encode the verdict: %w", err)
	}
	if err := h.Files.WriteFile(ctx, VerdictFile, data, hostfs.FileSpec{Mode: 0o600}); err != nil {
		return v, fmt.Errorf("write the verdict: %w", err)
	}
	return v, nil
}
