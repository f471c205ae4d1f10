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

// ErrNoDaemon says that no daemon can be reached: there is no socket, its daemon is dead, or the
// caller may not open it. The caller then does the work itself.
var ErrNoDaemon = errors.New("no daemon runs here")

// ErrDied says that the connection ended before the daemon sent its result.
var ErrDied = errors.New("the connection ended")

// helloLimit is how long a daemon may take to send its Hello. It sends it at once, whatever work it
// does, so a daemon that needs longer hangs.
const helloLimit = 10 * time.Second

// Client is the client's end of a connection to the daemon.
type Client struct {
	conn    *net.UnixConn
	in      *json.Decoder
	peer    ipc.Peer
	Version string // of the daemon
}

// Dial connects to the daemon that works on a root. An error that is not [ErrNoDaemon] means that a
// daemon runs: the caller must not do the work beside it.
func Dial(ctx context.Context, opt host.Options, version string) (*Client, error) {
	conn, peer, err := ipc.DialTrusted(ctx, opt.Files(), Socket)
	switch {
	case errors.Is(err, host.ErrNotExist), errors.Is(err, ipc.ErrNoListener):
		return nil, ErrNoDaemon
	case errors.Is(err, fs.ErrPermission):
		return nil, ErrNoDaemon // a command that needs root reports that itself
	case err != nil:
		return nil, fmt.Errorf("reach the daemon: %w", err)
	}
	c := &Client{conn: conn, peer: peer, in: json.NewDecoder(conn)}
	if err := c.greet(version); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// greet reads the daemon's Hello and checks the protocol.
func (c *Client) greet(version string) error {
	_ = c.conn.SetReadDeadline(time.Now().Add(helloLimit))
	var hello Event
	switch err := c.in.Decode(&hello); {
	case broken(err):
		return ErrNoDaemon // the daemon ended just now
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

// Close closes the connection. The daemon goes on with work that it has begun.
func (c *Client) Close() error { return c.conn.Close() }

// Do sends a request to the daemon. It calls hear for each event except the last, which it returns.
// Where the last event has an Error, Do returns that. Any other error is one of the connection, and
// its text says what the user should do.
func (c *Client) Do(ctx context.Context, req Request, hear func(Event)) (Event, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.Close() })
	defer stop()
	req.Protocol = Protocol
	data, err := json.Marshal(req)
	if err != nil {
		return Event{}, fmt.Errorf("encode the request: %w", err)
	}
	begun := false
	if _, err := c.conn.Write(append(data, '\n')); err != nil && !broken(err) { // the reason may have come before
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

// lost returns the error for a connection that ended: its text says what that means for the
// request.
func (c *Client) lost(ctx context.Context, req Request, begun bool, err error) error {
	switch {
	case ctx.Err() != nil && begun:
		return fmt.Errorf("interrupted; the daemon (pid %d) goes on with the command: see `journalctl -u "+
			"netwright-agent`",
			c.peer.PID)
	case ctx.Err() != nil:
		return errors.New("interrupted; the daemon had not begun the command, and will not")
	case !broken(err):
		return fmt.Errorf("read the answer of the daemon (pid %d): %w: see `journalctl -u netwright-agent` "+
			"for what it did",
			c.peer.PID, err)
	case begun:
		return fmt.Errorf("the daemon (pid %d) died before %s was done: every file is as it was or as wanted; see "+
			"`journalctl -u netwright-agent`, then run it again to go on: %w",
			c.peer.PID, req.Command, ErrDied)
	}
	return fmt.Errorf("the daemon (pid %d) died before it began %s: see `journalctl -u netwright-agent`, "+
		"then run it again: %w", c.peer.PID, req.Command, ErrDied)
}

// broken reports that the other end closed the connection.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
