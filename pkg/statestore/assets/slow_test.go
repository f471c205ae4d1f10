package assets

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/netwright/netwright/pkg/archive"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/statestore/transfer"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/test/needs"
)

// pipes is a listener in memory, so a wait for it passes by the clock of package synctest.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { close(p); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// line sends one part after another, and waits before each.
type line struct {
	part  int
	wait  time.Duration
	first int // bytes of each answer that come at once
}

// over returns a Fetcher that reaches each path of any host by a line, and a function that returns
// the requests.
func over(t *testing.T, content []byte, lines map[string]line) (f *Fetcher, asked func() string) {
	t.Helper()
	listener := make(pipes)
	var paths []string
	var mu sync.Mutex
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		w.Header().Set("ETag", `"same"`)
		http.ServeContent(&slow{w, r.Context().Done(), lines[r.URL.Path]}, r, "", time.Time{}, bytes.NewReader(content))
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	f = fetcher(t)
	f.client.HTTP.Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case listener <- theirs:
			return ours, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	t.Cleanup(func() {
		f.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
	return f, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(paths, " ")
	}
}

type slow struct {
	http.ResponseWriter
	gone <-chan struct{} // closed when the client is gone
	line line
}

func (s *slow) Write(p []byte) (written int, err error) {
	written, err = s.send(p[:min(len(p), s.line.first)])
	s.line.first -= written
	p = p[written:]
	for len(p) > 0 && err == nil {
		select {
		case <-s.gone:
			return written, net.ErrClosed
		case <-time.After(s.line.wait):
		}
		var n int
		n, err = s.send(p[:min(len(p), s.line.part)])
		written, p = written+n, p[n:]
	}
	return written, err
}

func (s *slow) send(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.ResponseWriter.(http.Flusher).Flush()
	return n, err
}

// A server that sends a very little at a time is given up. The error says how much came and what to
// do. A slow line that is fast enough is not given up, nor a line with a pause.
func TestSlow(t *testing.T) {
	const size = 1 << 20
	for name, c := range map[string]struct {
		line line
		want string // in the error; "": the whole asset comes
	}{
		"a byte a second":         {line{1, time.Second, 0}, " bytes in 30s, expected at least 30720: too slow: look at the server"},
		"a kilobyte in 2 seconds": {line{1 << 10, 2 * time.Second, 0}, " bytes in 30s, "},
		"nothing more":            {line{1, time.Hour, 1}, ": 1 bytes in 30s, "},
		"50 KiB/s":                {line{5 << 10, 100 * time.Millisecond, 0}, ""},
		"2 KiB/s":                 {line{2 << 10, time.Second, 0}, ""},
		"pauses of 25 s":          {line{64 << 10, 25 * time.Second, 0}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, asked := over(t, make([]byte, size), map[string]line{"/a": c.line})
				got, _, err := read(f, "http://mirror.example.com/a?token=secret")
				switch {
				case c.want == "" && (err != nil || len(got) != size):
					t.Errorf("%d bytes of %d, %v", len(got), size, err)
				case c.want == "":
				case !errors.Is(err, transfer.ErrStalled) || !graph.IsTransient(err):
					t.Errorf("%v (transient %v); want a transient %v", err, graph.IsTransient(err), transfer.ErrStalled)
				case !strings.HasPrefix(err.Error(), "get asset http://mirror.example.com/a?…: ") || !strings.Contains(err.Error(), c.want):
					t.Errorf("%v; want %q in it", err, c.want)
				}
				if asked() != "/a" {
					t.Errorf("asked for %s", asked())
				}
			})
		})
	}
}

// If a line becomes slow after much has come, the rest is requested again. If little has come, the
// download is given up.
func TestSlowLater(t *testing.T) {
	for first, requests := range map[int]string{2 << 20: "/a /a /a", 512 << 10: "/a"} {
		synctest.Test(t, func(t *testing.T) {
			f, asked := over(t, make([]byte, 5<<20), map[string]line{"/a": {1, time.Second, first}})
			got, _, err := read(f, "http://mirror.example.com/a")
			if asked() != requests || (requests != "/a") != (err == nil && len(got) == 5<<20) {
				t.Errorf("%d bytes at once: %d bytes came, asked for %s, %v", first, len(got), asked(), err)
			}
		})
	}
}

// An archive comes from the second mirror if the first sends very slowly.
func TestSlowMirror(t *testing.T) {
	needs.Root(t)
	var packed bytes.Buffer
	plugin := make([]byte, 256<<10)
	_, _ = rand.Read(plugin)
	w := tar.NewWriter(&packed)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "bridge", Typeflag: tar.TypeReg, Size: int64(len(plugin)), Mode: 0o600}), second(w.Write(plugin)), w.Close()); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		f, asked := over(t, packed.Bytes(), map[string]line{"/trickle": {1, time.Second, 0}, "/honest": {50 << 10, time.Second, 0}})
		root := t.TempDir()
		h, err := host.Open(t.Context(), host.Options{Root: root})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		archive := tasks.Archive{
			Name: "cni-plugins", URLs: []string{"http://a.example.com/trickle", "http://b.example.com/honest"}, Sum: archive.ChecksumOf(packed.Bytes()),
			Dir: "/opt/cni/bin", Members: []string{"bridge"}, Mode: 0o755, Fetch: f,
		}
		change, err := archive.Plan(t.Context(), h.Live.View())
		if err == nil {
			err = archive.Apply(t.Context(), h, change)
		}
		if got, _ := os.ReadFile(filepath.Join(root, "opt/cni/bin/bridge")); err != nil || !bytes.Equal(got, plugin) {
			t.Errorf("%d bytes of %d, %v", len(got), len(plugin), err)
		}
		if got := asked(); got != "/trickle /honest" {
			t.Errorf("asked for %s", got)
		}
	})
}

func second(_ int, err error) error { return err }
