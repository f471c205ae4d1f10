package daemon

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/report"
)

// trickle is a mirror that sends a part every six seconds.
type trickle struct{ *mirror }

func (m trickle) Open(ctx context.Context, url string) (io.ReadCloser, int64, error) {
	body, size, err := m.mirror.Open(ctx, url)
	return drops{body}, size, err
}

type drops struct{ io.ReadCloser }

func (d drops) Read(p []byte) (int, error) {
	time.Sleep(6 * time.Second)
	return d.ReadCloser.Read(p)
}

// During a long start the journal and systemd report from the first seconds what the daemon does:
// what it fetches, from where, and how much it has. When kubelet may start these reports end. The
// lines that keep it: progress.go, begin and fetching; loop.go, at and Run (Observed).
func TestASlowStartIsTold(t *testing.T) {
	b, m := mirrored(t)
	b.daemon.Pass.Assets = trickle{m}
	b.live(t, func(t *testing.T) {
		later(12 * time.Second)
		var told []word
		for _, w := range b.manager.words() {
			if strings.HasPrefix(w.text, "fetching https://mirror.example.com/plugins.tar: ") {
				told = append(told, w)
			}
		}
		if len(told) < 3 || told[1].at.Sub(told[0].at) > progressEvery {
			t.Errorf("told of the download: %+v", told)
		}
		if n := b.logged("working"); n < len(told) {
			t.Errorf("%d lines of the log", n)
		}
		later(time.Hour)
		n := b.logged("working")
		b.loses(t)
		later(time.Hour)
		if again := b.logged("working"); again != n || b.manager.count("ready") != 1 {
			t.Errorf("after READY: %d more lines", again-n)
		}
	})
}

// A pass may hang, for example if a file system does not answer. The daemon reports once what that
// pass is doing. The status has it until the pass ends. A pass that ends in time is not reported.
// The lines that keep it: loop.go, at (hangs); node_status.go, hangs and notify.
func TestAPassThatHangsIsTold(t *testing.T) {
	b := newBox(t)
	told := &listener{}
	b.daemon.Observers = []Observer{told}
	var hangs atomic.Bool
	b.daemon.Pass.Hooks.OnPhase = func(phase string) {
		if phase == "plan" && hangs.Swap(false) {
			time.Sleep(20 * time.Minute)
		}
	}
	const said = "it has not ended: see whether a file system or a service of this host hangs"
	b.live(t, func(t *testing.T) {
		later(time.Hour)
		if n := b.logged(said); n != 0 {
			t.Errorf("told %d times of passes that end", n)
		}
		hangs.Store(true)
		later(17 * time.Minute)
		if n := b.logged(said); n != 1 {
			t.Errorf("told %d times of a pass that hangs", n)
		}
		for _, entry := range b.log.FilterMessage(said).All() {
			if at := entry.ContextMap()["at"]; at != "a pass of its own: plan" {
				t.Errorf("the pass that hangs is reported at %v", at)
			}
		}
		if last := b.manager.last(t); last.what != "status" || !strings.HasPrefix(last.text, said) {
			t.Errorf("systemd heard %+v", last)
		}
		now := told.last()
		if h := now.Hangs; h == nil || h.At != "a pass of its own: plan" || time.Since(h.Since) < 5*time.Minute ||
			now.State != report.NodeFailing || now.Reason != h.String() {
			t.Errorf("the status is %s: %s, and of what hangs %+v", now.State, now.Reason, h)
		}
		later(time.Hour)
		if n := b.logged(said); n != 1 || strings.HasPrefix(b.manager.last(t).text, said) {
			t.Errorf("afterwards: told %d times, systemd has %q", n, b.manager.last(t).text)
		}
		if now := told.last(); now.Hangs != nil || now.State != report.NodeConverged {
			t.Errorf("afterwards the status is %s: %s", now.State, now.Reason)
		}
	})
}
