package daemon

import (
	"errors"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/report"
)

// A problem that goes on is logged once, although each of its messages has another port, address or
// time. Another problem is logged.
func TestOneComplaintOfWhatGoesOn(t *testing.T) {
	core, log := observer.New(zap.InfoLevel)
	h := health{log: zap.New(core), said: map[string]string{}}
	for _, c := range []struct {
		text string
		told int
	}{
		{"get manifest: read tcp 10.0.0.1:34822->52.1.2.3:443: read: connection reset by peer", 1},
		{"get manifest: read tcp 10.0.0.1:34831->52.9.9.9:443: read: connection reset by peer", 1},
		{"get manifest: read tcp [2001:db8::1]:34831->[2001:db8::2]:443: read: connection reset by peer", 1},
		{"get manifest: dial tcp 52.1.2.3:443: i/o timeout", 2},
		{"certificate has expired or is not yet valid: current time 2026-11-22T05:18:23Z is after 2026-11-22T04:48:17Z", 3},
		{"certificate has expired or is not yet valid: current time 2026-11-22T05:19:23Z is after 2026-11-22T04:48:17Z", 3},
		{"the certificate own HAS EXPIRED, set the clock if it is wrong (now 2026-11-22 05:18:23 UTC)", 4},
		{"the certificate own HAS EXPIRED, set the clock if it is wrong (now 2026-11-23 05:28:23 UTC)", 4},
		{"manifest is of generation 5", 5},
		{"manifest is of generation 6", 6},
	} {
		h.store(errors.New(c.text), nil)
		if n := log.FilterMessage("the configuration could not be loaded").Len(); n != c.told {
			t.Errorf("%d messages after %q, want %d", n, c.text, c.told)
		}
	}
}

// A note of a plan is logged once, although each plan has it with the present time.
func TestANoteIsToldOnce(t *testing.T) {
	core, log := observer.New(zap.InfoLevel)
	h := health{log: zap.New(core), said: map[string]string{}}
	for i, c := range []struct {
		text string
		told int
	}{
		{"the certificate own HAS EXPIRED, set the clock if it is wrong (now 2026-11-22 05:18:23 UTC)", 1},
		{"the certificate own HAS EXPIRED, set the clock if it is wrong (now 2026-11-23 05:28:23 UTC)", 1},
		{"the certificate other HAS EXPIRED, set the clock if it is wrong (now 2026-11-23 05:28:23 UTC)", 2},
	} {
		h.plan(&report.Plan{Notes: []report.Note{{Level: "error", Origin: "cluster.yaml:11:5", Text: c.text}}})
		if log.Len() != c.told {
			t.Errorf("%d messages after note %d, want %d", log.Len(), i, c.told)
		}
	}
}

// A store that does not answer fails in several ways by turns. Each way is logged once, until the
// store answers. The line that keeps it: pkg/daemon/log_troubles.go, store (away).
func TestAnOutageIsToldOnce(t *testing.T) {
	core, log := observer.New(zap.InfoLevel)
	h := health{log: zap.New(core), said: map[string]string{}}
	reset, ended := graph.Transient(errors.New("read tcp 10.0.0.1:34822->52.1.2.3:443: read: connection reset by peer")), graph.Transient(errors.New("EOF"))
	for i, c := range []struct {
		err  error
		told int
	}{{reset, 1}, {ended, 2}, {reset, 2}, {ended, 2}, {errors.New("it is not signed"), 3}, {reset, 4}, {ended, 5}, {reset, 5}, {nil, 5}, {ended, 6}} {
		h.store(c.err, nil)
		if n := log.FilterMessage("the configuration could not be loaded").Len(); n != c.told {
			t.Errorf("%d messages after %d, want %d", n, i, c.told)
		}
	}
}
