package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/reconcile/fetch"
	"github.com/netwright/netwright/pkg/report"
)

// TestDisplay: a terminal shows what takes long and which try it is, and is left clean.
func TestDisplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errOut bytes.Buffer
		d := NewDisplay(&Flags{Output: Output{Form: FormText, Out: &out, Err: &errOut}})
		d.live = true // as on a terminal
		h := d.Hooks()
		d.begin()
		plan := &report.Plan{Steps: []report.Step{{Key: "file:/a", State: report.Planned, Items: []report.Item{{Key: "file:/a", Op: "+"}}}}}
		plan.Notes = []report.Note{{Level: "info", Text: "known before"}}
		plan.Finish(1)
		h.OnPlan(plan)
		h.OnStart("file:/quick")
		h.OnDone("file:/quick", graph.Done)
		h.OnStart("file:/slow")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		h.OnRetry("file:/slow", errors.New("connection refused"), 200*time.Millisecond)
		d.End()
		if got := errOut.String(); !strings.Contains(got, "… file:/slow (1.5s)") || !strings.HasSuffix(got, "\r\x1b[K  … file:/slow: connection refused; trying again in 200ms\n") || strings.Contains(got, "quick") {
			t.Errorf("String returns %q", got)
		}
		plan.Notes = append(plan.Notes, report.Note{Level: "warning", Text: "it awaits its confirmation"})
		if err := d.Result(plan); err != nil {
			t.Error(err)
		}
		if got := out.String(); strings.Count(got, "known before") != 1 || strings.Count(got, "warning: it awaits its confirmation") != 1 {
			t.Errorf("a note is to be told once, also one that came with the end: %q", got)
		}
		if got := out.String(); strings.Count(got, "file:/a") != 1 || strings.Contains(got, "\x1b") {
			t.Errorf("the plan is to be told once, and without colour where there is no terminal: %q", got)
		}
	})
}

// For a download a terminal shows the URL, the bytes and the rate. Without one it shows the part of
// the run. It also shows how long the run waits. The lines that keep it: progress_display.go, draw
// and Waiting.
func TestDisplayOfWhatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errOut bytes.Buffer
		d := NewDisplay(&Flags{Output: Output{Form: FormText, Out: &errOut, Err: &errOut}})
		d.live = true // as on a terminal
		h := d.Hooks()
		d.begin()
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		h.OnPhase("apply")
		time.Sleep(time.Second)
		synctest.Wait()
		h.OnFetch(fetch.Transfer{URL: "https://mirror.example.com/a.tgz", Got: 5e6, Size: 40e6, Took: 2 * time.Second})
		time.Sleep(time.Second)
		synctest.Wait()
		d.End()
		waits := &report.Plan{Steps: []report.Step{{State: report.Waits, Message: "waiting for a range"}}}
		d.Waiting(waits)
		time.Sleep(3 * time.Second)
		d.Waiting(waits)
		d.End()
		for _, want := range []string{"… working (1s)", "… apply (2s)", "… https://mirror.example.com/a.tgz: 5.0 of 40.0 MB, 2.5 MB/s (3s)",
			"… waiting for a range\n", "… still waiting (3s)\r\x1b[K"} {
			if !strings.Contains(errOut.String(), want) {
				t.Errorf("%q has no %q", errOut.String(), want)
			}
		}
	})
}

// A file system may not answer, and then no signal but SIGKILL ends the run. The display says once
// what does not end, also without a terminal. A download and the probes of a change are not
// reported. The line that keeps it: progress_display.go, draw (hangs).
func TestDisplayOfWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errOut bytes.Buffer
		d := NewDisplay(&Flags{Output: Output{Form: FormText, Out: &errOut, Err: &errOut}})
		h := d.Hooks()
		h.OnPhase("plan")
		time.Sleep(3 * time.Minute)
		h.OnPhase("apply")
		time.Sleep(3 * time.Minute)
		h.OnStart("file:/a")
		h.OnFetch(fetch.Transfer{URL: "https://mirror.example.com/a.tgz"})
		time.Sleep(3 * time.Minute)
		h.OnFetch(fetch.Transfer{URL: "https://mirror.example.com/a.tgz", Over: true})
		h.OnDone("file:/a", graph.Done)
		h.OnStart("file:/b")
		time.Sleep(3 * time.Minute)
		h.OnDone("file:/b", graph.Done)
		h.OnPhase("settle")
		time.Sleep(3 * time.Minute)
		d.End()
		want := "  … plan, for 1m0s: " + report.NotEnded + "\n  … file:/b, for 1m0s: " + report.NotEnded + "\n"
		if got := errOut.String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

func TestDisplayIsQuietWithoutATerminal(t *testing.T) {
	var errOut bytes.Buffer
	d := NewDisplay(&Flags{Output: Output{Form: FormText, Out: &errOut, Err: &errOut}})
	d.Hooks().OnStart("file:/slow")
	d.begin()
	d.End()
	if errOut.Len() > 0 {
		t.Errorf("errOut.String() is %q", errOut.String())
	}
}
