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

// Clients says how a [Socket] serves its clients.
type Clients struct {
	// Places is how many clients are served at once.
	Places int
	// Serve serves one client, in its own goroutine. It must close the connection.
	Serve func(*net.UnixConn)
	// Full tells a client that all places are taken. It must close the connection and must not
	// block.
	Full func(*net.UnixConn)
	// Refused gets the error if a client cannot be accepted, mostly because no file descriptor is
	// free. Serve tries again each second, and calls Refused only once until it accepts a client.
	Refused func(error)
}

// Serve serves clients until ctx ends. Then it waits until they have gone, and closes the socket.
func (s *Socket) Serve(ctx context.Context, c Clients) error {
	stop := context.AfterFunc(ctx, func() { _ = s.SetDeadline(time.Unix(1, 0)) }) // ends the accept
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
		if err != nil { // this client fails, but the daemon goes on
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

// DialTrusted is [Dial] to a process of root or of this process' user. If the listener belongs to
// another user, it returns an error that names the user.
func DialTrusted(ctx context.Context, opt hostfs.Options, name string) (*net.UnixConn, Peer, error) {
	conn, err := Dial(ctx, opt, name)
	if err != nil {
		return nil, Peer{}, err
	}
	peer, err := PeerOf(conn)
	if err == nil && !peer.Trusted() {
		err = fmt.Errorf("%[2]s: expected root to listen, found user %[1]d: look at that process (ps -fp "+
			"%[3]d) and remove the socket",
			peer.UID, name, peer.PID)
	}
	if err != nil {
		return nil, peer, errors.Join(err, conn.Close())
	}
	return conn, peer, nil
}
