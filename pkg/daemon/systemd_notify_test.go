package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// If a node is not prepared in time, the daemon lets kubelet start once, and says why. When the
// node is prepared later, the daemon says that, too.
func TestReadyComesAfterABound(t *testing.T) {
	b := newBox(t)
	b.document(t, b.plugins(t, "plugins.tar", "")+"  nonsense: true\n")
	began := time.Time{}
	b.live(t, func(t *testing.T) {
		began = time.Now()
		later(readyWithin - time.Minute)
		if n := b.manager.count("ready"); n != 0 {
			t.Fatalf("READY %s too soon", time.Minute)
		}
		if n := b.manager.asked(); n < 10 {
			t.Errorf("asked for more time %d times", n)
		}
		later(2 * time.Minute)
		asked := b.manager.asked()
		later(time.Hour)
		var ready []word
		for _, w := range b.manager.words() {
			if w.what == "ready" {
				ready = append(ready, w)
			}
		}
		if len(ready) != 1 || ready[0].at.Sub(began) != readyWithin || !strings.HasPrefix(ready[0].text, "not prepared after 5m0s, kubelet may start anyway: not converged: ") || !strings.Contains(ready[0].text, "nonsense") {
			t.Errorf("READY: %+v", ready)
		}
		if n := b.manager.asked(); n != asked {
			t.Errorf("asked for more time %d times more once it was ready", n-asked)
		}
		if b.logged("not prepared in time: kubelet may start anyway") != 1 || b.logged("prepared: kubelet may start") != 0 {
			t.Errorf("the log: %v", b.log.All())
		}
		b.document(t, b.plugins(t, "plugins.tar", ""))
		later(time.Hour)
		if b.logged("prepared: kubelet may start") != 1 || b.manager.count("ready") != 2 {
			t.Errorf("prepared at last: READY %d times, %v", b.manager.count("ready"), b.log.All())
		}
	})
}

// A changed configuration is applied between RELOADING and READY. The start and a repair send
// neither.
func TestReloadingFramesAChange(t *testing.T) {
	b := newBox(t)
	b.live(t, func(t *testing.T) {
		if b.manager.count("reloading") != 0 {
			t.Error("the start was a reload")
		}
		b.document(t, b.plugins(t, "plugins.tar", "")+"  sysctlParameters: [net.ipv4.ip_forward=1]\n")
		later(time.Hour)
		var said []string
		for _, w := range b.manager.words() {
			if w.what != "status" {
				said = append(said, w.what)
			}
		}
		if got := strings.Join(said, " "); got != "ready reloading ready" {
			t.Errorf("said: %s", got)
		}
	})
}

// A daemon that is told to stop after a long time without work asks systemd for the time that it
// needs. The line that keeps it: systemd_notify.go, extendTimeout.
func TestTimeIsAskedForToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &manager{}
		n := &notifier{manager: m, log: zap.NewNop()}
		n.ready.Store(true)
		ctx, stop := context.WithCancelCause(t.Context())
		ended, done := make(chan struct{}), make(chan struct{})
		go func() { defer close(done); n.extendTimeout(ctx, ended, func() bool { return true }) }()
		time.Sleep(time.Hour)
		if got := m.asked(); got != 0 {
			t.Errorf("it asked %d times for more without need", got)
		}
		stop(errors.New("the node shuts down"))
		time.Sleep(4*extendEvery + time.Second)
		if got := m.asked(); got != 4 {
			t.Errorf("it asked %d times for more, want four", got)
		}
		close(ended)
		<-done
	})
}
