package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/report"
)

func status(reason string) *report.Status {
	return &report.Status{Version: report.StatusVersion, At: time.Now(), State: report.NodeFailing, Reason: reason, Node: "node-1"}
}

func repaired(n int) []report.Event {
	return []report.Event{{Kind: report.EventRepaired, Key: fmt.Sprintf("sysctl:%d", n)}}
}

func TestLatest(t *testing.T) {
	l := &Latest{}
	if _, some := l.take(); some {
		t.Error("there is news before the first status")
	}
	l.Observe(status("a"), nil)
	l.Observe(status("b"), repaired(1))
	if got, _ := l.Next(t.Context()); got.Status.Reason != "b" || len(got.Events) != 1 {
		t.Errorf("got %+v, want the newest with what happened", got)
	}
	later := status("b")
	later.At, later.Totals.Passes = later.At.Add(time.Hour), 7
	l.Observe(later, nil)
	if got, some := l.take(); some {
		t.Errorf("a look that found nothing is told: %+v", got)
	}
	if l.Now() != later {
		t.Error("the newest status is not the newest")
	}
	for n := range 1000 {
		l.Observe(later, repaired(n))
	}
	got, _ := l.Next(t.Context())
	if len(got.Events) != maxEvents || got.Missed != 1000-maxEvents || got.Events[maxEvents-1].Key != "sysctl:999" {
		t.Errorf("%d events are kept and %d missed, the last is %v", len(got.Events), got.Missed, got.Events[len(got.Events)-1])
	}
}

// A look that finds nothing new costs each consumer one digest of the status. Half a digest is left
// for the race detector, under which the encoder's pool drops objects at random. The line that
// keeps it: latest_status.go, take.
func TestLatestMakesOneDigest(t *testing.T) {
	l, now := &Latest{}, status("a")
	l.Observe(now, nil)
	l.take()
	digest := testing.AllocsPerRun(100, func() { now.Digest() })
	look := testing.AllocsPerRun(100, func() {
		l.Observe(now, nil)
		l.take()
	})
	if look > digest*3/2 {
		t.Errorf("a look allocates %.0f objects, and a digest %.0f", look, digest)
	}
}

// feed runs a daemon's status socket on a root of its own. stop ends it and waits for its end.
func feed(t *testing.T) (f *Feed, opt host.Options, stop func()) {
	t.Helper()
	opt = host.Options{Root: t.TempDir()}
	f, err := ListenFeed(opt, -1, "v1", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx) }()
	stop = func() {
		cancel(errors.New("the test ends"))
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(stop)
	return f, opt, stop
}

func read(t *testing.T, opt host.Options) *FeedReader {
	t.Helper()
	r, err := ReadFeed(t.Context(), opt, "v1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func TestFeed(t *testing.T) {
	f, opt, stop := feed(t)
	f.Observe(status("a"), repaired(1))
	r := read(t, opt)
	if got, err := r.Next(t.Context()); err != nil || got.Status.Reason != "a" || len(got.Events) != 0 || r.Version != "v1" {
		t.Errorf("the first is %+v, %v", got, err)
	}
	f.Observe(status("a"), nil) // only its time is another
	f.Observe(status("b"), repaired(2))
	if got, err := r.Next(t.Context()); err != nil || got.Status.Reason != "b" || len(got.Events) != 1 {
		t.Errorf("a change is told as %+v, %v", got, err)
	}
	stop()
	if _, err := r.Next(t.Context()); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "the daemon stops") {
		t.Errorf("the end is told as %v", err)
	}
	if _, err := ReadFeed(t.Context(), opt, "v1"); !errors.Is(err, ErrNoDaemon) {
		t.Errorf("after the end: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(opt.Root, Dir)); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// Readers that do not read delay neither the daemon, nor other readers, nor the end. The lines that
// keep it: status_socket.go, Observe and send.
func TestReadersThatDoNotRead(t *testing.T) {
	f, opt, stop := feed(t)
	big := status(strings.Repeat("x", 1<<20)) // more than a socket holds
	f.Observe(big, nil)
	for range maxReaders - 1 {
		read(t, opt)
	}
	r := read(t, opt)
	if got, err := r.Next(t.Context()); err != nil || len(got.Status.Reason) != 1<<20 {
		t.Fatalf("a long reason: %d bytes, %v; want %d", len(got.Status.Reason), err, 1<<20)
	}
	for n := range 1000 {
		f.Observe(status(fmt.Sprint(n)), repaired(n))
	}
	for {
		got, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.Status.Reason == "999" {
			break
		}
	}
	if _, err := ReadFeed(t.Context(), opt, "v1"); err == nil || !strings.Contains(err.Error(), StatusFile) {
		t.Errorf("one too many is told %v", err)
	}
	stop()
}

// A reader that closes its connection frees its place.
func TestReadersThatGo(t *testing.T) {
	f, opt, _ := feed(t)
	f.Observe(status("a"), nil)
	for range 10 * maxReaders {
		for {
			r, err := ReadFeed(t.Context(), opt, "v1")
			if err == nil {
				_ = r.Close()
				break
			}
			if !errors.Is(err, ErrEnded) { // all places are taken until the daemon notices the last ends
				t.Fatalf("got %v, want %v", err, ErrEnded)
			}
		}
	}
}

func TestFile(t *testing.T) {
	opt := host.Options{Root: t.TempDir()}
	if _, err := ReadStatusFile(opt); !errors.Is(err, host.ErrNotExist) {
		t.Errorf("none was written: %v", err)
	}
	f := &File{Host: opt, GID: os.Getgid(), Log: zap.NewNop()}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan bool)
	go func() { f.Run(ctx); close(ended) }()
	f.Observe(status("a"), nil)
	for {
		if s, err := ReadStatusFile(opt); err == nil && s.Reason == "a" {
			break
		}
	}
	f.Observe(status("b"), nil)
	cancel(errors.New("the daemon stops"))
	<-ended
	if s, err := ReadStatusFile(opt); err != nil || s.Reason != "b" {
		t.Errorf("the end left %v, %v", s, err)
	}
	if info, err := os.Stat(filepath.Join(opt.Root, StatusFile)); err != nil || info.Mode() != 0o640 {
		t.Errorf("Stat returns %v %v", info, err)
	}
	if err := os.WriteFile(filepath.Join(opt.Root, StatusFile), []byte(`{"version":"netwright.dev/status/v9"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadStatusFile(opt); err == nil || !strings.Contains(err.Error(), "status/v9") {
		t.Errorf("of another form: %v", err)
	}
}

func TestConsole(t *testing.T) {
	prepared := status("c")
	prepared.Prepared = true
	var out strings.Builder
	c := &Console{Out: &out}
	told := make(chan bool)
	go func() { c.Run(t.Context()); close(told) }()
	for _, s := range []*report.Status{status("no store"), status("no store"), prepared} {
		c.Observe(s, nil)
	}
	<-told
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if !strings.HasPrefix(lines[len(lines)-1], "netwright: prepared, kubelet may start; node-1") || len(lines) > 2 {
		t.Errorf("told %q", lines)
	}
}

// The console shows one reason once, also if each attempt has a port of its own. Other reasons are
// shown too, up to a limit.
func TestConsoleTellsAReasonOnce(t *testing.T) {
	var c Console
	failing := func(reason string) *report.Status {
		s := status("c")
		s.State, s.Reason = report.NodeFailing, reason
		return s
	}
	told := 0
	for i := range 20 {
		if line := c.line(failing(fmt.Sprintf("ask 10.0.0.2:53: read udp 10.0.0.1:%d->10.0.0.2:53: connection refused: look at /etc/resolv.conf", 40000+i))); line != "" {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
	for i := range 20 {
		if line := c.line(failing(fmt.Sprintf("reason %d", i))); line != "" {
			told++
		}
	}
	if told != maxReasons {
		t.Errorf("%d reasons told, want %d", told, maxReasons)
	}
}
