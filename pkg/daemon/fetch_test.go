package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// mirror serves one asset. It sends half of it, and the rest when the test allows that.
type mirror struct {
	mu      sync.Mutex
	content []byte
	hold    chan struct{} // nil: nothing is held
	fails   error
	asked   int
}

func (m *mirror) Open(ctx context.Context, _ string) (io.ReadCloser, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.asked++; m.fails != nil {
		return nil, 0, m.fails
	}
	half := len(m.content) / 2
	return io.NopCloser(io.MultiReader(bytes.NewReader(m.content[:half]), &rest{ctx, m.hold, bytes.NewReader(m.content[half:])})), -1, nil
}

// rest is the second half of the asset.
type rest struct {
	ctx  context.Context
	hold chan struct{}
	of   io.Reader
}

func (l *rest) Read(p []byte) (int, error) {
	if l.hold != nil {
		select {
		case <-l.hold:
		case <-l.ctx.Done():
			return 0, context.Cause(l.ctx)
		}
	}
	return l.of.Read(p)
}

func (m *mirror) set(hold chan struct{}, fails error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold, m.fails = hold, fails
}

func (m *mirror) times() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked
}

// mirrored returns a box whose plugins come from a mirror.
func mirrored(t *testing.T) (*box, *mirror) {
	t.Helper()
	b := newBox(t)
	spec := b.plugins(t, "plugins.tar", "")
	content, err := os.ReadFile(filepath.Join(b.store, "demo", "plugins.tar"))
	if err != nil {
		t.Fatal(err)
	}
	b.document(t, strings.Replace(spec, "[plugins.tar]", `["https://mirror.example.com/plugins.tar"]`, 1))
	m := &mirror{content: content}
	b.daemon.Pass.Assets = m
	return b, m
}

// loses removes plugins with their kept copies, and one other file.
func (b *box) loses(t *testing.T) {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(b.root, "var/lib/netwright/assets/members/*"))
	if err != nil || len(kept) == 0 {
		t.Fatalf("%d members are kept: %v", len(kept), err)
	}
	for _, path := range append(kept, filepath.Join(b.root, "opt/cni/bin/bridge"), filepath.Join(b.root, "etc/sysctl.d/99-netwright.conf")) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// While a mirror is slow, everything else is repaired. The key of the archive waits, and is right
// as soon as the whole archive is there.
func TestADownloadHoldsNoPass(t *testing.T) {
	b, m := mirrored(t)
	b.live(t, func(t *testing.T) {
		later(21 * time.Minute) // a pass after READY keeps copies of installed plugins
		hold := make(chan struct{})
		m.set(hold, nil)
		b.loses(t)
		later(12 * time.Minute)
		if last := b.manager.last(t); b.has("/opt/cni/bin/bridge") || !b.has("/etc/sysctl.d/99-netwright.conf") || !strings.Contains(last.text, " waiting") {
			t.Errorf("beside a mirror that is slow: repaired %t, %+v", b.has("/etc/sysctl.d/99-netwright.conf"), last)
		}
		if err := os.Remove(filepath.Join(b.root, "etc/sysctl.d/99-netwright.conf")); err != nil {
			t.Fatal(err)
		}
		close(hold)
		synctest.Wait()
		if !b.has("/opt/cni/bin/bridge") || !b.has("/etc/sysctl.d/99-netwright.conf") {
			t.Error("no pass followed when all of it was there")
		}
		if n, failed := b.logged("waiting"), b.logged("failed"); n != 1 || failed != 0 {
			t.Errorf("the wait is logged %d times, as a failure %d times", n, failed)
		}
		if m.times() != 2 {
			t.Errorf("the mirror was asked %d times, want once for each loss", m.times())
		}
	})
}

// If a mirror fails, only its key fails, and not every pass asks the mirror.
func TestAMirrorThatFails(t *testing.T) {
	b, m := mirrored(t)
	b.live(t, func(t *testing.T) {
		later(21 * time.Minute)
		m.set(nil, errors.New("the mirror is gone"))
		b.loses(t)
		later(20 * time.Minute)
		if last := b.manager.last(t); !strings.Contains(last.text, "the mirror is gone") || !b.has("/etc/sysctl.d/99-netwright.conf") {
			t.Errorf("%+v\n%v", last, b.log.All()[len(b.log.All())-6:])
		}
		if n := m.times(); n > 25 {
			t.Errorf("the mirror was asked %d times in 20 minutes", n)
		}
		m.set(nil, nil)
		later(3 * time.Minute)
		if !b.has("/opt/cni/bin/bridge") {
			t.Error("the mirror is back, and the plugin is not")
		}
	})
}

// kubelet does not start before the plugins are there.
func TestNotReadyBeforeThePlugins(t *testing.T) {
	b, m := mirrored(t)
	b.live(t, func(t *testing.T) {
		if b.manager.count("ready") != 1 {
			t.Fatalf("b.manager.words() is %+v", b.manager.words())
		}
	})
	b2, m2 := mirrored(t)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		hold := make(chan struct{})
		m2.set(hold, nil)
		ended := make(chan error, 1)
		go func() { ended <- b2.daemon.Run(ctx) }()
		later(time.Minute)
		if b2.manager.count("ready") != 0 || !b2.has("/etc/sysctl.d/99-netwright.conf") {
			t.Errorf("READY without plugins: %+v", b2.manager.words())
		}
		close(hold)
		synctest.Wait()
		if b2.manager.count("ready") != 1 || !b2.has("/opt/cni/bin/bridge") {
			t.Errorf("no READY with plugins: %+v", b2.manager.words())
		}
		stop(errors.New("enough"))
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if m.times() != 1 {
		t.Errorf("a mirror that is quick was asked %d times", m.times())
	}
}
