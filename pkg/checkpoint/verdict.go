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

// Verdict is the result for a generation whose change was undone.
type Verdict struct {
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest"`
	Bad        bool      `json:"bad"`              // the probes passed again after the undo; false if inconclusive
	Why        string    `json:"why"`              // what failed
	Unsure     string    `json:"unsure,omitempty"` // why the result is inconclusive; "" if Bad
	Tries      int       `json:"tries"`            // how often it was applied and undone
	At         time.Time `json:"at"`
	Left       []string  `json:"left,omitempty"` // effects of a program that could not be undone
	// Machine is the machine-id of the machine that made the change; "" from an earlier release.
	Machine string `json:"machine,omitempty"`
	// Process is the process that made the change, and Taken the time of its checkpoint. By both,
	// an undo that was killed and repeated counts as one try. One daemon makes many changes.
	Process host.Process  `json:"process"`
	Taken   time.Duration `json:"taken,omitempty"`
	// Unconfirmed means that no probe failed and nobody confirmed the change. The generation counts
	// as bad until a user requests it again.
	Unconfirmed bool `json:"unconfirmed,omitempty"`
	// Awaits is the confirmation that the change awaited, for the caller that writes the ledger.
	Awaits *Awaits `json:"-"`
}

// Text returns why the change was undone, and what could not be restored.
func (v Verdict) Text() string { return v.Why + v.remains() }

func (v Verdict) remains() string {
	if len(v.Left) == 0 {
		return ""
	}
	return ". Not restored: " + strings.Join(v.Left, ", ")
}

// agentEnded is the reason of an undo after the agent ended before it had probed, if no probe fails
// now.
const agentEnded = "the agent ended before the change was confirmed"

// The back-off after an inconclusive result; it doubles with each try.
const (
	firstPause = 30 * time.Second
	maxPause   = time.Hour
)

// retry returns when a generation with an inconclusive result is tried again. If the agent only
// ended and no probe failed, that is at once: a kill says nothing about the change, and whoever
// starts the agent again must not wait. After the second time the change may have been the cause.
func (v Verdict) retry() time.Time {
	if v.Why == agentEnded && v.Tries <= 1 {
		return v.At
	}
	return v.At.Add(min(firstPause<<min(max(v.Tries-1, 0), 10), maxPause))
}

// name returns the name of the configuration.
func (v Verdict) name() string { return generation.Name(v.Generation, v.Digest) }

// SuppressedError is the error for a generation that is not applied, with what to do. Its text
// stays the same for the same verdict, so that a caller that only logs new texts logs it once.
type SuppressedError struct {
	Verdict
	Unread error // why the verdict could not be read
}

func (e *SuppressedError) Error() string {
	if e.Unread != nil {
		return fmt.Sprintf("it is not known whether %s was undone: %v: check this machine's disk", e.name(), e.Unread)
	}
	text := fmt.Sprintf("%s was undone: %s; it is not known whether the change was the cause: %s. The agent "+
		"tries it again after %s",
		e.name(), e.Why, e.Unsure, e.retry().UTC().Format(time.RFC3339))
	switch {
	case e.Unconfirmed:
		text = fmt.Sprintf("%s was undone: %s. `agent --once --confirm 2m` applies it again", e.name(),
			e.Why)
	case e.Bad:
		text = fmt.Sprintf("%s is bad: probe %s failed after the change, and the change was undone. Change "+
			"the documents; or, if the cause was something else, remove %s, and the agent tries it again",
			e.name(), e.Why, VerdictFile)
	}
	return text + e.remains()
}

// Kind implements [problem.KindOf].
func (e *SuppressedError) Kind() problem.ID { return problem.ChangeUndone }

// Suppressed returns the error if a snapshot must not be applied now, or nil. It ignores a damaged
// verdict, because the next change has a checkpoint too. If the verdict cannot be read now, it
// suppresses every snapshot: otherwise each pass could make a bad change again. It returns nil if
// this user may not read the verdict, because this user cannot change the host.
func Suppressed(r host.FileReader, digest string, now time.Time) *SuppressedError {
	v, err := lastVerdict(r)
	if host.Unread(err) && !errors.Is(err, fs.ErrPermission) {
		return &SuppressedError{Verdict{Digest: digest}, err}
	}
	if v == nil || v.Digest != digest {
		return nil
	}
	// A clock that was set back must not suppress it for years.
	if !v.Bad && (now.Before(v.At) || !now.Before(v.retry())) {
		return nil
	}
	return &SuppressedError{Verdict: *v}
}

// lastVerdict returns the last verdict, or nil if there is none of this machine.
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

// judge writes the verdict on an undone change. failed are the probes that failed after the change,
// or nil if none failed or none were made. recovered reports whether they pass after the undo.
//
// If only the store failed, it may have had an outage that ended at that moment. The same is true
// if the network was lost some time after the change. Then the generation is bad only after the
// second time. If only the next hop of a route fails, that node may be down for days, and the
// generation is never bad for it.
func (j *Journal) judge(
	ctx context.Context, h *host.Host, failed probe.Failures, recovered bool, why string,
) (Verdict, error) {
	v := Verdict{Generation: j.Generation, Digest: j.Digest, Why: why, Tries: 1, At: time.Now(), Left: j.left,
		Process: j.Process, Taken: j.Taken, Machine: cmp.Or(j.Machine, host.MachineID(h.Live.Files))}
	if last, _ := lastVerdict(h.Live.Files); last != nil && last.Digest == v.Digest && v.Digest != "" {
		switch same := last.Process == j.Process && last.Taken == j.Taken; {
		case same && (last.Bad || len(failed) == 0): // the undo was killed after it had judged
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
		v.Unsure = "no probe ran after the change"
	case len(failed) == 0:
		v.Unsure = "no probe failed"
	case !recovered:
		v.Unsure = "the probes fail without the change too"
	case j.Watched && v.Tries == 1:
		v.Unsure = "the probes began to fail some time after the change, so the cause may be an outage that " +
			"ended just then"
	case failed.Only(probe.NextHop):
		v.Unsure = "only the next hop of a route does not answer, and that machine may be down"
	case !failed.Only(probe.Store) || v.Tries > 1:
		v.Bad = true
	default:
		v.Unsure = "only the store does not answer, and the store may have an outage"
	}
	if j.Digest == "" {
		return v, nil // there is no generation to suppress
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
