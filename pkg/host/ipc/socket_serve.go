package ipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Clients are those of a [Socket].
type Clients struct {
	// Places are how many are served at once.
	Places int
	// Serve sees one client out, in a goroutine of its own; the connection is its to close.
	Serve func(*net.UnixConn)
	// Full tells one that there is no place; the connection is its to close, and it does not wait.
	Full func(*net.UnixConn)
	// Refused hears why a client could not be accepted: no descriptors, mostly. It is tried again
	// each second, and heard of once until one is accepted.
	Refused func(error)
}

// Serve serves clients until ctx ends; then it waits for them to be gone and takes the socket away.
func (s *Socket) Serve(ctx context.Context, c Clients) error {
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) }) // it ends the accept below
	defer stop()
	var served sync.WaitGroup
	places := make(chan struct{}, c.Places)
	refused := false
	for {
		conn, err := s.AcceptUnix()
		if ctx.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			break
		}
		if err != nil { // a client less, and not a daemon less
			if !refused {
				c.Refused(err)
			}
			refused = true
			sys.Sleep(ctx, time.Second)
			continue
		}
		refused = false
		select {
		case places <- struct{}{}:
			served.Go(func() {
				defer func() { <-places }()
				c.Serve(conn)
			})
		default:
			c.Full(conn)
		}
	}
	served.Wait()
	return s.Close()
}

// DialTrusted is [Dial] to a process of root's, or of the user's whom this one belongs to. Another
// that listens there is an error that names it.
func DialTrusted(ctx context.Context, opt hostfs.Options, name string) (*net.UnixConn, Peer, error) {
	conn, err := Dial(ctx, opt, name)
	if err != nil {
		return nil, Peer{}, err
	}
	peer, err := PeerOf(conn)
	if err == nil && !peer.Trusted() {
		err = fmt.Errorf("user %d listens on %s, and not root: look at who that is (ps -fp %d) and remove the socket",
			peer.UID, name, peer.PID)
	}
	if err != nil {
		return nil, peer, errors.Join(err, conn.Close())
	}
	return conn, peer, nil
}
