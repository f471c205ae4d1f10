package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/report"
)

// Paths of a daemon's status, below the root that it works on.
const (
	Dir        = "/run/netwright"
	FeedSocket = Dir + "/status.sock"
	StatusFile = Dir + "/status.json"
)

// FeedProtocol names the form of the messages on [FeedSocket]. New fields and events may be added;
// a reader ignores those that it does not know.
const FeedProtocol = "netwright.dev/feed/v1"

// Limits for readers.
const (
	maxReaders = 16
	// stalled is how long a reader may fail to take a line. Meanwhile it costs a goroutine and one
	// status; the daemon does not wait for it.
	stalled = time.Minute
	// parting is the time limit for the last line, so that the daemon can end.
	parting = time.Second
)

// line is one line of JSON from the daemon to a reader. The daemon sends a hello, then the present
// status, then the status again whenever more than times changed, and an end when it stops. A
// daemon that is killed sends no end. The reader sends nothing.
//
//	{"event":"hello","protocol":"netwright.dev/feed/v1","version":"v1.2.3","pid":7}
//	{"event":"status","status":{…},"events":[…]}
//	{"event":"end","text":"the daemon stops"}
type line struct {
	Event    string         `json:"event"` // hello, status, end
	Protocol string         `json:"protocol,omitempty"`
	Version  string         `json:"version,omitempty"`
	PID      int            `json:"pid,omitempty"`
	Text     string         `json:"text,omitempty"`
	Status   *report.Status `json:"status,omitempty"`
	Events   []report.Event `json:"events,omitempty"`
	Missed   int            `json:"missed,omitempty"`
}

// Feed is the status socket: each user that its mode allows can read the node's status. Commands go
// through the socket of package control.
type Feed struct {
	socket  *ipc.Socket
	version string
	log     *zap.Logger

	mu      sync.Mutex
	now     *report.Status
	readers map[*Latest]bool
}

// ListenFeed opens the status socket for root and the members of a group; with a gid below 0, only
// for root. The caller holds the daemon's lock: so a socket that exists belongs to a dead daemon.
func ListenFeed(opt host.Options, gid int, version string, log *zap.Logger) (*Feed, error) {
	socket, err := ipc.ListenFor(opt.Files(), FeedSocket, gid)
	if err != nil {
		return nil, err
	}
	return &Feed{socket: socket, version: version, log: log, readers: map[*Latest]bool{}}, nil
}

// Observe gives the status to all readers. It does not wait for them.
func (f *Feed) Observe(now *report.Status, happened []report.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
	for r := range f.readers {
		r.Observe(now, happened)
	}
}

// Serve serves readers until ctx ends, then sends them an end, and removes the socket.
func (f *Feed) Serve(ctx context.Context) error {
	return f.socket.Serve(ctx, ipc.Clients{
		Places: maxReaders,
		Serve:  func(conn *net.UnixConn) { f.reader(ctx, conn) },
		Full: func(conn *net.UnixConn) {
			_ = send(ctx, conn, parting, line{Event: "end",
				Text: fmt.Sprintf("%d others read the status already: end one of them, or read %s", maxReaders,
					StatusFile)})
			_ = conn.Close()
		},
		Refused: func(err error) { f.log.Warn("a reader of the status was not accepted", zap.Error(err)) },
	})
}

// reader writes to one reader until the reader goes, hangs for too long, or the daemon ends.
func (f *Feed) reader(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	ctx, gone := context.WithCancelCause(ctx)
	defer gone(nil)
	defer context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Now().Add(parting)) })()
	go func() { // it ends with the connection
		_, err := conn.Read(make([]byte, 1)) // a reader sends nothing: Read returns when it goes
		gone(errors.Join(errors.New("the reader went"), err))
	}()
	if send(ctx, conn, stalled,
		line{Event: "hello", Protocol: FeedProtocol, Version: f.version, PID: os.Getpid()}) != nil {
		return
	}
	place := f.enter()
	defer f.leave(place)
	for {
		news, ok := place.Next(ctx)
		if !ok {
			// nobody reads this where the reader has gone
			_ = send(ctx, conn, parting, line{Event: "end", Text: "the daemon stops"})
			return
		}
		if send(ctx, conn, stalled,
			line{Event: "status", Status: news.Status.ByClock(), Events: news.Events, Missed: news.Missed}) != nil {
			return
		}
	}
}

// enter adds a reader, with the present status.
func (f *Feed) enter() *Latest {
	f.mu.Lock()
	defer f.mu.Unlock()
	place := &Latest{}
	if f.now != nil {
		place.Observe(f.now, nil)
	}
	f.readers[place] = true
	return place
}

func (f *Feed) leave(place *Latest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.readers, place)
}

func send(ctx context.Context, conn *net.UnixConn, limit time.Duration, l line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a status: %w", err)
	}
	_ = conn.SetWriteDeadline(time.Now().Add(limit))
	if ctx.Err() != nil { // ctx may have ended after AfterFunc set its deadline
		_ = conn.SetWriteDeadline(time.Now().Add(parting))
	}
	if _, err := conn.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("tell a status: %w", err)
	}
	return nil
}
