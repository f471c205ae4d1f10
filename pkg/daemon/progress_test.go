package daemon

import (
	"strings"
	"testing"
	"time"
)

// Of a start that takes long the journal and systemd hear what the daemon is at, from the first
// seconds on: what it fetches, from where, and how far that is. Once kubelet may start they do not.
// The lines that keep it: progress.go, begin and fetching; daemon.go, at and Run (Observed).
func TestASlowStartIsTold(t *testing.T) {
	b, m := mirrored(t)
	hold := make(chan struct{})
	m.set(hold, nil)
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
		close(hold)
		later(time.Hour)
		n := b.logged("working")
		b.loses(t)
		m.set(make(chan struct{}), nil)
		later(time.Hour)
		if again := b.logged("working"); again != n || b.manager.count("ready") != 1 {
			t.Errorf("after READY: %d more lines", again-n)
		}
	})
}
