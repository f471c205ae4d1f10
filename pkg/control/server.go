package control

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
)

// Limits for one client.
const (
	maxClients = 16
	maxRequest = 64 << 10
	readLimit  = 10 * time.Second // for a client to send its request
	writeLimit = 2 * time.Second  // for a client to take a line: a client that hangs must not delay a pass
)

// Server is the daemon's end of the socket. A nil server has no clients.
type Server struct {
	socket  *ipc.Socket
	version string
	log     *zap.Logger
	jobs    chan *Job
	at      atomic.Pointer[activity]
}

// activity is the work that the daemon is doing.
type activity struct {
	name  string
	since time.Time
}

// Listen opens the socket. The caller holds [Lock]: so a socket that exists belongs to a dead
// daemon.
func Listen(opt host.Options, version string, log *zap.Logger) (*Server, error) {
	socket, err := ipc.Listen(opt.Files(), Socket)
	if err != nil {
		return nil, err
	}
	return &Server{socket: socket, version: version, log: log, jobs: make(chan *Job)}, nil
}

// Jobs returns the channel of requests. The receiver of a job must call its End.
func (s *Server) Jobs() <-chan *Job {
	if s == nil {
		return nil
	}
	return s.jobs
}

// Working records the daemon's work until the caller calls done, for clients that wait.
func (s *Server) Working(what string) (done func()) {
	if s == nil {
		return func() {}
	}
	s.at.Store(&activity{what, time.Now()})
	return func() { s.at.Store(nil) }
}

// Serve serves clients until ctx ends, and then until the last of them has gone. A client whose
// work has begun receives the result; a client that still waits is told that nothing was done. Then
// Serve removes the socket.
func (s *Server) Serve(ctx context.Context) error {
	return s.socket.Serve(ctx, ipc.Clients{
		Places: maxClients,
		Serve:  func(conn *net.UnixConn) { s.client(ctx, conn) },
		Full: func(conn *net.UnixConn) {
			(&line{conn: conn}).end("too many clients ask the daemon at once: wait for them and try again")
		},
		Refused: func(err error) { s.log.Warn("a client was not accepted", zap.Error(err)) },
	})
}

// client reads the request of one client and waits for the end of its job.
func (s *Server) client(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	out := &line{conn: conn}
	peer, err := ipc.PeerOf(conn)
	if err != nil {
		out.end(err.Error())
		return
	}
	out.send(Event{Event: Hello, Protocol: Protocol, Version: s.version, PID: os.Getpid()})
	if !peer.Trusted() { // the mode of the socket may have been changed
		s.log.Warn("a client was refused", zap.Int("uid", peer.UID), zap.Int("pid", peer.PID))
		out.end(fmt.Sprintf("user %d may not tell the daemon what to do: run it as root", peer.UID))
		return
	}
	in := bufio.NewReader(io.LimitReader(conn, maxRequest))
	_ = conn.SetReadDeadline(time.Now().Add(readLimit))
	req, err := read(in)
	if err != nil {
		out.end(err.Error())
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	if req.Protocol != Protocol {
		out.end(otherVersion(s.version, Protocol, req.Version, req.Protocol))
		return
	}
	gone := make(chan struct{})
	go func() { // it ends with the connection
		defer close(gone)
		_, _ = io.Copy(io.Discard, in) // a client sends nothing more: this only notices when it goes
	}()
	s.queue(ctx, &Job{Request: req, Peer: peer, line: out, gone: gone, at: &s.at, ended: make(chan struct{})}, gone)
}

// queue waits until the daemon takes the job, and then until the job ends.
func (s *Server) queue(ctx context.Context, job *Job, gone <-chan struct{}) {
	if at := s.at.Load(); at != nil {
		job.Send(Event{Event: Queued, Text: fmt.Sprintf("%s, since %s", at.name, at.since.UTC().Format(time.RFC3339))})
	}
	select {
	case s.jobs <- job:
		<-job.ended
	case <-gone: // the client has gone, and its work was not begun
	case <-ctx.Done():
		job.line.end("the daemon stops, and this command was not begun: run it again")
	}
}

// read reads a request. Unknown fields are an error, except in a request of another protocol.
func read(in *bufio.Reader) (Request, error) {
	text, err := in.ReadBytes('\n')
	if err != nil {
		return Request{}, fmt.Errorf("read the request: %w: a client says what it wants in one line of JSON", err)
	}
	var req Request
	if err := json.Unmarshal(text, &req); err != nil {
		return Request{}, fmt.Errorf("read the request: %w: a client says what it wants in one line of JSON", err)
	}
	if req.Protocol != Protocol {
		return req, nil
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&req); err != nil {
		return Request{}, fmt.Errorf("read the request: %w: the daemon is older than this command: restart it "+
			"(systemctl restart netwright-agent)", err)
	}
	return req, nil
}

// otherVersion returns the message for a client and a daemon whose protocols differ.
func otherVersion(daemon, daemonSpeaks, client, clientSpeaks string) string {
	return fmt.Sprintf("the daemon is netwright %s and speaks %s; this command is of netwright %s and speaks %s: "+
		"restart the daemon, so that both are of "+
		"one version (systemctl restart netwright-agent)", daemon, daemonSpeaks, client, clientSpeaks)
}
