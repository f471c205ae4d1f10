package checkpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/netwright/netwright/pkg/host"
)

// Verdict is what is known of a generation whose change was undone.
type Verdict struct {
	Generation int64     `json:"generation"`
	Digest     string    `json:"digest"`
	Bad        bool      `json:"bad"`   // the probes passed again after the undo; else inconclusive
	Why        string    `json:"why"`   // what failed
	Tries      int       `json:"tries"` // how often it was applied and undone
	At         time.Time `json:"at"`
	// Process made the change: an undo that was killed and is done again is the same try.
	Process host.Process `json:"process"`
}

// Back-off of a generation of which nothing is known: doubled at each try.
const (
	firstPause = 30 * time.Second
	maxPause   = time.Hour
)

// HeldError says that a generation is not applied, and what to do.
type HeldError struct {
	Verdict
	Wait time.Duration // until it is tried again; 0: not before it changes
}

func (e *HeldError) Error() string {
	if e.Bad {
		return fmt.Sprintf("generation %d is bad: probe %s failed after the change; undone. Change the documents; or, if it was something else, remove %s and it is tried again",
			e.Generation, e.Why, VerdictFile)
	}
	return fmt.Sprintf("generation %d was undone: %s; whether it was the change is not known, for the probes did not tell after the undo. It is tried again in %s",
		e.Generation, e.Why, e.Wait.Round(time.Second))
}

// Held says why a snapshot is not to be applied now; nil: it may be. A verdict
// that cannot be read holds nothing back: the next apply is under a checkpoint too.
func Held(r Reader, digest string, now time.Time) *HeldError {
	v := lastVerdict(r)
	if v == nil || v.Digest != digest {
		return nil
	}
	if v.Bad {
		return &HeldError{Verdict: *v}
	}
	pause := min(firstPause<<min(max(v.Tries-1, 0), 10), maxPause)
	since := now.Sub(v.At)
	if since < 0 || since >= pause { // a clock that was set back must not hold it for years
		return nil
	}
	return &HeldError{Verdict: *v, Wait: pause - since}
}

func lastVerdict(r Reader) *Verdict {
	data, err := r.ReadFile(VerdictFile)
	if err != nil {
		return nil
	}
	v := &Verdict{}
	if json.Unmarshal(data, v) != nil {
		return nil
	}
	return v
}

// judge writes the verdict of an undone change. failed are the probes that
// failed after the change, nil if nobody looked; recovered says that they pass after the undo.
//
// A store that failed alone may have had its own outage and come back just
// then: that bans a generation only the second time.
func (j *Journal) judge(ctx context.Context, h *host.Host, failed failures, recovered bool, why string) (Verdict, error) {
	v := Verdict{Generation: j.Generation, Digest: j.Digest, Why: why, Tries: 1, At: time.Now(), Process: j.Process}
	if last := lastVerdict(h); last != nil && last.Digest == v.Digest {
		switch same := last.Process == j.Process; {
		case same && last.Bad:
			return *last, nil
		case same:
			v.Tries = last.Tries
		default:
			v.Tries = last.Tries + 1
		}
	}
	v.Bad = recovered && len(failed) > 0 && (failed.beyondStore() || v.Tries > 1)
	data, err := json.Marshal(v)
	if err != nil {
		return v, fmt.Errorf("encode the verdict: %w", err)
	}
	if err := h.WriteFile(ctx, VerdictFile, data, private); err != nil {
		return v, fmt.Errorf("write the verdict: %w", err)
	}
	return v, nil
}
