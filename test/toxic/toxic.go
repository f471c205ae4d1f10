// Package toxic is a TLS server that misbehaves when a test asks for it. It stands for a faulty
// server or network between a node and its configuration.
package toxic

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/test/storetest"
)

// Fault answers a request in place of the honest handler.
type Fault func(w http.ResponseWriter, r *http.Request, honest http.Handler)

// Server counts its requests, and answers them as its honest handler does, unless a fault is set.
type Server struct {
	*httptest.Server

	honest http.Handler
	turn   sync.RWMutex // of answers, and of who wants none meanwhile

	mu       sync.Mutex
	idle     *sync.Cond // no answer is under way; a WaitGroup may not begin again while somebody waits for it
	running  int        // answers
	fault    Fault
	requests []string
	sent     int64 // bytes of bodies
}

// New starts a server in front of a handler, with these TLS settings. nil means the settings of
// package httptest.
func New(t testing.TB, honest http.Handler, settings *tls.Config) *Server {
	t.Helper()
	s := &Server{honest: honest}
	s.idle = sync.NewCond(&s.mu)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that fail as they should
	s.TLS = settings
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// Fail sets the fault from now on; nil removes it.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Aside calls do while the server answers no request. Requests in that time wait for its end.
func (s *Server) Aside(do func()) {
	s.turn.Lock()
	defer s.turn.Unlock()
	do()
}

// Taken returns the requests since the last call, as "GET manifest 304", and the number of bytes in
// the bodies of the answers. No client may send a request meanwhile.
func (s *Server) Taken() (requests []string, sent int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.running > 0 {
		s.idle.Wait()
	}
	requests, sent = s.requests, s.sent
	s.requests, s.sent = nil, 0
	return requests, sent
}

// Asked returns the number of requests since [Server.Taken].
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	s.turn.RLock()
	defer s.turn.RUnlock()
	s.mu.Lock()
	s.running++
	fault := s.fault
	s.mu.Unlock()
	c := &counting{ResponseWriter: w}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.Method+" "+path.Base(r.URL.Path)+" "+c.said())
		s.sent += c.sent
		s.running--
		s.idle.Broadcast()
	}()
	if fault == nil {
		s.honest.ServeHTTP(c, r)
		return
	}
	fault(c, r, s.honest)
}

// Files serves the objects of a cluster with their ETags, conditions and ranges.
func Files(m *storetest.MapStore) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/"+storetest.Cluster+"/")
		object, err := m.Get(r.Context(), name, "", 1<<40)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", object.ETag)
		w.Header().Set("Content-Type", "application/octet-stream")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(object.Body))
	})
}

// Bucket serves the objects to everybody, as S3 serves a bucket by path.
func Bucket(name string, m *storetest.MapStore) http.Handler {
	return http.StripPrefix("/"+name, Files(m))
}

// counting sees what is answered.
type counting struct {
	http.ResponseWriter
	status int
	sent   int64
}

func (c *counting) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counting) Write(p []byte) (int, error) {
	if c.status == 0 {
		c.status = http.StatusOK
	}
	n, err := c.ResponseWriter.Write(p)
	c.sent += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (c *counting) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counting) said() string {
	if c.status == 0 {
		return "-"
	}
	return strconv.Itoa(c.status)
}

// reset ends a request's connection without a word.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) //nolint:house noexit HTTP/2 has one connection for all requests; package net/http wants to be told so that this one is given up
	}
	if t, ok := conn.(*tls.Conn); ok {
		if raw, ok := t.NetConn().(*net.TCPConn); ok {
			_ = raw.SetLinger(0)
			raw.Close()
			return
		}
	}
	conn.Close()
}
