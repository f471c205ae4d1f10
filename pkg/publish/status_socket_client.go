package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/ipc"
)

var (
	// ErrNoDaemon says that no daemon publishes a status: none runs, or a killed daemon left its
	// socket.
	ErrNoDaemon = errors.New("no daemon runs here")
	// ErrNotYours says that this user may not read the status.
	ErrNotYours = errors.New("the status is not for this user")
	// ErrEnded says that the daemon stopped or died.
	ErrEnded = errors.New("the daemon ended")
)

// helloLimit is how long a daemon may take to send its hello and the first status. It sends them at
// once, whatever work it does, so a daemon that needs longer hangs.
const helloLimit = 10 * time.Second

// FeedReader is the reader's end of the status socket.
type FeedReader struct {
	conn    *net.UnixConn
	in      *json.Decoder
	peer    ipc.Peer
	first   bool
	Version string // of the daemon
}

// ReadFeed connects to the daemon that works on a root.
func ReadFeed(ctx context.Context, opt host.Options, version string) (*FeedReader, error) {
	conn, peer, err := ipc.DialTrusted(ctx, opt.Files(), FeedSocket)
	switch {
	case errors.Is(err, host.ErrNotExist), errors.Is(err, ipc.ErrNoListener):
		return nil, ErrNoDaemon
	case errors.Is(err, fs.ErrPermission):
		return nil, ErrNotYours
	case err != nil:
		return nil, fmt.Errorf("reach the daemon: %w", err)
	}
	r := &FeedReader{conn: conn, peer: peer, in: json.NewDecoder(conn), first: true}
	if err := r.greet(version); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return r, nil
}

func (r *FeedReader) greet(version string) error {
	_ = r.conn.SetReadDeadline(time.Now().Add(helloLimit))
	hello, err := r.read()
	switch {
	case errors.Is(err, ErrEnded) && hello.Text == "":
		return ErrNoDaemon // the daemon ended just now
	case err != nil:
		return err
	case hello.Event != "hello" || hello.Protocol != FeedProtocol:
		return fmt.Errorf("the daemon is netwright %s and speaks %s; this command is of netwright %s and speaks %s: "+
			"restart the daemon, so that both are of "+
			"one version (systemctl restart netwright-agent)", hello.Version, hello.Protocol, version, FeedProtocol)
	}
	r.Version = hello.Version
	return nil
}

// read reads one line. For an end it returns [ErrEnded] with the daemon's text.
func (r *FeedReader) read() (l line, err error) {
	err = r.in.Decode(&l)
	var network net.Error
	switch {
	case errors.As(err, &network) && network.Timeout():
		return l, fmt.Errorf("the daemon (pid %d) does not answer: see `systemctl status netwright-agent`, and "+
			"restart it if it hangs", r.peer.PID)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return l, ErrEnded
	case err != nil:
		return l, fmt.Errorf("read from the daemon (pid %d): %w", r.peer.PID, err)
	case l.Event == "end":
		return l, fmt.Errorf("%w: %s", ErrEnded, l.Text)
	}
	return l, nil
}

// Next waits for the next status; the first call returns the present one. It returns [ErrEnded]
// where the daemon stopped or died.
func (r *FeedReader) Next(ctx context.Context) (News, error) {
	stop := context.AfterFunc(ctx, func() { _ = r.conn.Close() })
	defer stop()
	for {
		l, err := r.read()
		switch {
		case ctx.Err() != nil:
			return News{}, context.Cause(ctx)
		case err != nil:
			return News{}, err
		case l.Event != "status" || l.Status == nil:
			continue // a line of a later version
		}
		if r.first {
			r.first = false
			_ = r.conn.SetReadDeadline(time.Time{})
		}
		return News{Status: l.Status, Events: l.Events, Missed: l.Missed}, nil
	}
}

// Close closes the connection.
func (r *FeedReader) Close() error { return r.conn.Close() }
