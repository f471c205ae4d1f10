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

// Bounds of what one client may cost.
const (
	maxClients = 16
	maxRequest = 64 << 10
	readLimit  = 10 * time.Second // for a client to say what it wants
	writeLimit = 2 * time.Second  // for a client to take a line: one that stands still must not hold up a pass
)

// Server is the daemon's end. A nil server has no clients.
type Server struct {
	socket  *ipc.Socket
	version string
	log     *zap.Logger
	jobs    chan *Job
	at      atomic.Pointer[activity]
}

// activity is what the daemon is at.
type activity struct {
	name  string
	since time.Time
}

// Listen opens the socket. The caller holds [Lock]: a socket that is there is a dead daemon's.
func Listen(opt host.Options, version string, log *zap.Logger) (*Server, error) {
	socket, err := ipc.Listen(opt.Files(), Socket)
	if err != nil {
		return nil, err
	}
	return &Server{socket: socket, version: version, log: log, jobs: make(chan *Job)}, nil
}

// Jobs is what clients ask for, one after the other. Who takes a job ends it.
func (s *Server) Jobs() <-chan *Job {
	if s == nil {
		return nil
	}
	return s.jobs
}

// Working notes what the daemon is at, for clients that wait, until done is called.
func (s *Server) Working(what string) (done func()) {
	if s == nil {
		return func() {}
	}
	s.at.Store(&activity{what, time.Now()})
	return func() { s.at.Store(nil) }
}

// Serve answers until ctx ends, and then until its clients are gone: a client whose request was
// begun is told its end, one that still waits is told that nothing was done. Then it removes the
// socket.
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

// client hears one client out and sees its job through.
func (s *Server) client(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	out := &line{conn: conn}
	peer, err := ipc.PeerOf(conn)
	if err != nil {
		out.end(err.Error())
		return
	}
	out.send(Event{Event: Hello, Protocol: Protocol, Version: s.version, PID: os.Getpid()})
	if !peer.Trusted() { // whatever the socket's mode has become
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
	go func() { // ends with the connection
		defer close(gone)
		_, _ = io.Copy(io.Discard, in) // nothing more is said: it is only there to see the end
	}()
	s.queue(ctx, &Job{Request: req, Peer: peer, line: out, gone: gone, at: &s.at, ended: make(chan struct{})}, gone)
}

// queue waits until the daemon takes the job, and then for its end.
func (s *Server) queue(ctx context.Context, job *Job, gone <-chan struct{}) {
	if at := s.at.Load(); at != nil {
		job.Send(Event{Event: Queued, Text: fmt.Sprintf("%s, since %s", at.name, at.since.UTC().Format(time.RFC3339))})
	}
	select {
	case s.jobs <- job:
		<-job.ended
	case <-gone: // nobody wants it any more, and nothing of it was begun
	case <-ctx.Done():
		job.line.end("the daemon stops, and nothing of this was begun: run it again")
	}
}

// read takes in a request. Of another protocol only who asks is read.
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

// otherVersion says what two versions do that do not understand each other.
func otherVersion(daemon, daemonSpeaks, client, clientSpeaks string) string {
	return fmt.Sprintf("the daemon is netwright %s and speaks %s; this command is of netwright %s and speaks %s: "+
		"restart the daemon, so that both are of "+
		"one version (systemctl restart netwright-agent)", daemon, daemonSpeaks, client, clientSpeaks)
}
