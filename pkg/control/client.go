package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
)

// ErrNoDaemon says that no daemon runs: there is no socket, it is a dead daemon's, or it is not for
// us. The caller does the work itself.
var ErrNoDaemon = errors.New("no daemon runs here")

// ErrDied says that the daemon went away without saying how it ended.
var ErrDied = errors.New("the connection ended")

// helloLimit is how long a daemon may take to say who it is. It does so whatever it is at, so one
// that does not stands still.
const helloLimit = 10 * time.Second

// Client is a command's end.
type Client struct {
	conn    *net.UnixConn
	in      *json.Decoder
	peer    ipc.Peer
	Version string // of the daemon
}

// Dial finds the daemon that works on a root. An error that is not [ErrNoDaemon] is one of a daemon
// that is there: doing the work beside it would be wrong.
func Dial(ctx context.Context, opt host.Options, version string) (*Client, error) {
	conn, peer, err := ipc.DialTrusted(ctx, opt.Files(), Socket)
	switch {
	case errors.Is(err, host.ErrNotExist), errors.Is(err, ipc.ErrNoListener):
		return nil, ErrNoDaemon
	case errors.Is(err, fs.ErrPermission):
		return nil, ErrNoDaemon // what needs root says so itself
	case err != nil:
		return nil, fmt.Errorf("reach the daemon: %w", err)
	}
	c := &Client{conn: conn, peer: peer, in: json.NewDecoder(conn)}
	if err := c.greet(version); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// greet hears who the daemon is.
func (c *Client) greet(version string) error {
	_ = c.conn.SetReadDeadline(time.Now().Add(helloLimit))
	var hello Event
	switch err := c.in.Decode(&hello); {
	case broken(err):
		return ErrNoDaemon // it ended as we came
	case err != nil:
		return fmt.Errorf("the daemon (pid %d) does not answer: %w: see `systemctl status netwright-agent`, and "+
			"restart it if it hangs", c.peer.PID, err)
	case hello.Event == End && hello.Error != nil:
		return hello.Error
	case hello.Event != Hello || hello.Protocol != Protocol:
		return errors.New(otherVersion(hello.Version, hello.Protocol, version, Protocol))
	}
	_ = c.conn.SetReadDeadline(time.Time{})
	c.Version = hello.Version
	return nil
}

// Close leaves the daemon. What it has begun it brings to its end.
func (c *Client) Close() error { return c.conn.Close() }

// Do has the daemon do something, and tells hear of each event but the last, which is returned: its
// Error, if set, is the returned error. Any other error is of the way to the daemon, and says what
// to do.
func (c *Client) Do(ctx context.Context, req Request, hear func(Event)) (Event, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	defer stop()
	req.Protocol = Protocol
	data, err := json.Marshal(req)
	if err != nil {
		return Event{}, fmt.Errorf("encode the request: %w", err)
	}
	begun := false
	if _, err := c.conn.Write(append(data, '\n')); err != nil && !broken(err) { // broken: it may have said why
		return Event{}, c.lost(ctx, req, begun, err)
	}
	for {
		var e Event
		if err := c.in.Decode(&e); err != nil {
			return Event{}, c.lost(ctx, req, begun, err)
		}
		switch e.Event {
		case End:
			if e.Error != nil {
				return e, e.Error
			}
			return e, nil
		case Begin:
			begun = true
		}
		hear(e)
	}
}

// lost says what it means that the daemon is heard no more.
func (c *Client) lost(ctx context.Context, req Request, begun bool, err error) error {
	switch {
	case ctx.Err() != nil && begun:
		return fmt.Errorf("interrupted; the daemon (pid %d) goes on with it: see `journalctl -u netwright-agent`",
			c.peer.PID)
	case ctx.Err() != nil:
		return errors.New("interrupted; the daemon had not begun it, and does not")
	case !broken(err):
		return fmt.Errorf("hear the daemon (pid %d): %w: see `journalctl -u netwright-agent` for what it did",
			c.peer.PID, err)
	case begun:
		return fmt.Errorf("the daemon (pid %d) died before %s was done: every file is as it was or as wanted; see "+
			"`journalctl -u netwright-agent`, then run it again to go on: %w",
			c.peer.PID, req.Command, ErrDied)
	}
	return fmt.Errorf("the daemon (pid %d) died, and nothing of %s was begun: see `journalctl -u netwright-agent`, "+
		"then run it again: %w", c.peer.PID, req.Command, ErrDied)
}

// broken says that the other end is gone.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
