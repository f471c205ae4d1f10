package probe

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/plural"
)

// Late reports a timeout of a socket, which may come just before the context's.
func Late(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// Resolve queries a name server for the IPv4 addresses of a name, over UDP from a network namespace
// ("": the current one), until it answers or 3 s are over. Any answer is a success, also that the
// name does not exist. It returns a text of the answer.
func Resolve(ctx context.Context, netns string, server netip.Addr, name string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, ErrNoAnswer)
	defer cancel()
	var id [2]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	of, err := dnsmessage.NewName(name)
	if err != nil {
		return "", fmt.Errorf("ask %s for %s: %w", server, name, err)
	}
	question := dnsmessage.Message{Header: dnsmessage.Header{ID: binary.BigEndian.Uint16(id[:]),
		RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: of, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	packed, err := question.Pack()
	if err != nil {
		return "", fmt.Errorf("ask %s for %s: %w", server, name, err)
	}
	said := error(ErrNoAnswer)
	for ctx.Err() == nil {
		answer, err := query(ctx, netns, server, packed)
		var m dnsmessage.Message
		switch {
		case err != nil:
			if !errors.Is(err, ErrNoAnswer) {
				said = err
			}
			host.Sleep(ctx, Pause)
		case m.Unpack(answer) != nil || m.ID != question.ID || !m.Response:
			said = errors.New("something else than a name server answers")
			host.Sleep(ctx, Pause)
		default:
			return fmt.Sprintf("%s: %s (%s)", name, plural.Of(len(m.Answers), "address", "addresses"), m.RCode), nil
		}
	}
	return "", fmt.Errorf("ask %s for %s: %w", server, name, said)
}

// query sends one query. For a timeout, also before anything is sent, it returns [ErrNoAnswer]:
// that says nothing about the server, and must not replace the error of an earlier query.
func query(ctx context.Context, netns string, server netip.Addr, packed []byte) (answer []byte, err error) {
	err = rtnl.InNetNS(netns, func() error {
		c, err := (&net.Dialer{}).DialContext(ctx, "udp", netip.AddrPortFrom(server, 53).String())
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Write(packed); err != nil {
			return err
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		answer = make([]byte, 4096)
		n, err := c.Read(answer)
		answer = answer[:n]
		return err
	})
	if Late(err) {
		err = ErrNoAnswer
	}
	return answer, err
}
