package assets

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore/transfer"
)

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// trust makes f accept the certificate of a test's server.
func trust(f *Fetcher, server *httptest.Server) {
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	f.client.HTTP.Transport.(*http.Transport).TLSClientConfig.RootCAs = pool
}

func TestGet(t *testing.T) {
	content := bytes.Repeat([]byte("asset"), 1<<20)
	handler := func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Accept-Encoding"); got != "" && got != "identity" {
			t.Errorf("asked for encoding %q: the hash is of what is stored", got)
		}
		_, _ = w.Write(content)
	}
	plain, secure := serve(t, handler), httptest.NewTLSServer(http.HandlerFunc(handler))
	defer secure.Close()
	f := fetcher(t)
	trust(f, secure)
	for _, url := range []string{plain.URL, secure.URL} {
		if got, _, err := read(f, url+"/a"); err != nil || got != string(content) {
			t.Errorf("got %d bytes of %d: %v", len(got), len(content), err)
		}
	}
}

func TestGetSize(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/known" {
			w.Header().Set("Content-Length", "2")
		} else {
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "ab")
	})
	for path, want := range map[string]int64{"/known": 2, "/unknown": -1} {
		if got, size, err := read(fetcher(t), server.URL+path); err != nil || got != "ab" || size != want {
			t.Errorf("%s: %q of size %d, %v; want size %d", path, got, size, err, want)
		}
	}
}

func TestGetUsesOneConnection(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/none" {
			http.NotFound(w, r)
		}
		fmt.Fprint(w, "a")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	f := fetcher(t)
	for _, path := range []string{"/a", "/none", "/b"} {
		_, _, _ = read(f, server.URL+path)
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections for three requests", n)
	}
}

// Each answer is transient or final. No error shows the password or the query of its URL, and each
// says what to do.
func TestGetRefused(t *testing.T) {
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var code int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &code)
		w.WriteHeader(code)
	})
	base := strings.Replace(server.URL, "http://", "http://user:secret@", 1)
	f := fetcher(t)
	for code, transient := range map[int]bool{
		204: false, 206: false, 400: false, 401: false, 403: false, 404: false, 407: false, 410: false, 501: false,
		408: true, 425: true, 429: true, 500: true, 502: true, 503: true, 504: true,
	} {
		_, _, err := read(f, fmt.Sprintf("%s/%d?signature=secret", base, code))
		if err == nil || graph.IsTransient(err) != transient || !strings.Contains(err.Error(), fmt.Sprint("says ", code)) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%d: %v (transient %v)", code, err, graph.IsTransient(err))
		}
	}
}

func TestGetRedirects(t *testing.T) {
	plain := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/there":
			fmt.Fprint(w, "there")
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			http.Redirect(w, r, "/there", http.StatusFound)
		}
	})
	secure := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/there", http.StatusFound))
	defer secure.Close()
	f := fetcher(t)
	trust(f, secure)
	if got, _, err := read(f, plain.URL+"/here"); err != nil || got != "there" {
		t.Errorf("redirect: %q, %v", got, err)
	}
	for url, want := range map[string]error{plain.URL + "/loop": errRedirects, secure.URL: errDowngrade} {
		if _, _, err := read(f, url); !errors.Is(err, want) || graph.IsTransient(err) {
			t.Errorf("%s: %v; want %v, permanent", url, err, want)
		}
	}
}

// refusing returns the URL of a port at which no server listens, and which no other program can
// take meanwhile.
func refusing(t *testing.T) string {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	err = unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	name, nameErr := unix.Getsockname(socket)
	if err := errors.Join(err, nameErr); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
}

func TestGetBrokenNetwork(t *testing.T) {
	reset := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half of it")
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	})
	short := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half of it")
	})
	for name, url := range map[string]string{
		"refused": refusing(t), "reset": reset.URL, "short": short.URL,
	} {
		_, _, err := read(fetcher(t), url+"?token=secret")
		if err == nil || !graph.IsTransient(err) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v (transient %v); want a transient error without the query", name, err, graph.IsTransient(err))
		}
	}
}

func TestGetCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of intended handshake failures
	server.StartTLS()
	defer server.Close()
	f := fetcher(t)
	if _, _, err := read(f, server.URL); err == nil || graph.IsTransient(err) || !strings.Contains(err.Error(), "install the server's CA on this machine (ca-certificates) and restart the agent") {
		t.Errorf("unknown CA: %v; want permanent", err)
	}
	f = fetcher(t)
	trust(f, server)
	if _, _, err := read(f, strings.Replace(server.URL, "127.0.0.1", "localhost", 1)); err == nil || graph.IsTransient(err) || !strings.Contains(err.Error(), "name") {
		t.Errorf("other name: %v; want permanent", err)
	}
	f = fetcher(t)
	trust(f, server)
	f.client.HTTP.Transport.(*http.Transport).TLSClientConfig.Time = func() time.Time { return time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC) }
	if _, _, err := read(f, server.URL); err == nil || !graph.IsTransient(err) || !strings.Contains(err.Error(), "clock") {
		t.Errorf("clock not set yet: %v; want transient", err)
	}
}

func TestGetOldTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{MaxVersion: tls.VersionTLS11}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	f := fetcher(t)
	trust(f, server)
	if _, _, err := read(f, server.URL); err == nil || strings.Contains(err.Error(), "404 Not Found") {
		t.Errorf("a server with TLS 1.1 was accepted: %v", err)
	}
}

// A server that sends a little and then nothing is given up. A slow reader is not.
func TestGetStalls(t *testing.T) {
	stop := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "a")
		w.(http.Flusher).Flush()
		<-stop
	})
	defer close(stop)
	f := fetcher(t)
	f.client.Stall = time.Second
	body, _, err := f.Open(context.Background(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if n, err := body.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := body.Read(make([]byte, 1)); !errors.Is(err, transfer.ErrStalled) || !graph.IsTransient(err) {
		t.Errorf("stalled: %v; want transient", err)
	}

	whole := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ab") })
	slow, _, err := f.Open(context.Background(), whole.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	for range 2 {
		time.Sleep(f.client.Stall * 5 / 4)
		if n, err := slow.Read(make([]byte, 1)); n != 1 || err != nil && err != io.EOF {
			t.Errorf("slow reader: %d, %v", n, err)
		}
	}
}

func TestGetCancelled(t *testing.T) {
	stop := make(chan struct{})
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.(http.Flusher).Flush()
		}
		<-stop
	})
	defer close(stop)
	cause := errors.New("the pass was given up")
	for _, path := range []string{"/header", "/body"} {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
		body, _, err := fetcher(t).Open(ctx, server.URL+path)
		if err == nil {
			_, err = io.ReadAll(body)
			body.Close()
		}
		if !errors.Is(err, cause) || graph.IsTransient(err) {
			t.Errorf("%s: %v; want the cause, not transient", path, err)
		}
	}
}

// Requests use the proxy of the environment. net/http reads it once in a process, so a process of
// its own makes the request.
func TestGetThroughProxy(t *testing.T) {
	const asked, url = "NETWRIGHT_TEST_PROXY", "http://assets.invalid/cni.tgz"
	if os.Getenv(asked) != "" {
		got, _, err := read(fetcher(t), url)
		if err != nil || got != "through the proxy" {
			t.Errorf("read returns %q, %v, want %q", got, err, "through the proxy")
		}
		return
	}
	var seen atomic.Value
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.URL.String())
		fmt.Fprint(w, "through the proxy")
	})
	cmd := exec.Command(os.Args[0], "-test.run", "^TestGetThroughProxy$", "-test.v")
	cmd.Env = append(os.Environ(), asked+"=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=", "no_proxy=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if seen.Load() != url {
		t.Errorf("the proxy was asked for %v, want %s", seen.Load(), url)
	}
}
