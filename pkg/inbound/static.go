package inbound

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/secret"
)

// Static has the peers from the agent's own file. They ask each other by datagrams where no
// Kubernetes API exists.
type Static struct {
	KeyFile string         // has the secret that all of them share; it is read for each question
	Port    int            // UDP port on which peers answer
	Ask     []netip.Addr   // peers that this node asks: a few, because it asks all of them
	Answer  []netip.Prefix // nodes that this node answers
}

// minKey is the minimum length of a key in characters: that of 24 random bytes in base64.
const minKey = 32

// key reads the secret. Only the owner of the file may read it.
func (s Static) key() (secret.Text, error) {
	info, err := os.Stat(s.KeyFile)
	if err != nil {
		return secret.Text{}, fmt.Errorf("read peers.keyFile: %w: write the secret that all peers share into "+
			"that file", err)
	}
	if info.Mode()&(fs.ModeType|0o077) != 0 {
		return secret.Text{}, fmt.Errorf("peers.keyFile %s has the mode %v: expected a file that only its "+
			"owner can read: chmod 600 %[1]s",
			s.KeyFile, info.Mode())
	}
	data, err := blob.ReadFile(s.KeyFile)
	if err != nil {
		return secret.Text{}, fmt.Errorf("read peers.keyFile: %w", err)
	}
	text := strings.TrimSpace(string(data))
	if len(text) < minKey {
		return secret.Text{}, fmt.Errorf("peers.keyFile %s has %s: expected %d or more: write it "+
			"with: head -c 32 /dev/urandom | base64", s.KeyFile, plural.Of(len(text), "character"), minKey)
	}
	return secret.New(text), nil
}

// Knock requests that the stated peers connect to TCP ports of this node, as [Ask] does.
func (s Static) Knock(
	ctx context.Context, ports []uint16, asked []string, done func(said map[string][]string) bool,
) (map[string][]string, error) {
	key, err := s.key()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, peer := range s.Ask {
		if name := peer.String(); asked == nil || slices.Contains(asked, name) {
			all = append(all, name)
		}
	}
	ports = ports[:min(len(ports), MaxPorts)]
	return gather(ctx, all, ports, func(ctx context.Context, peer string) (answer, bool) {
		return s.ask(ctx, key, netip.MustParseAddr(peer), ports)
	}, done)
}

// ask asks one peer until it answers. Each attempt uses the address that this node has at the time.
func (s Static) ask(ctx context.Context, key secret.Text, peer netip.Addr, ports []uint16) (answer, bool) {
	q := datagramQuestion{ports: ports}
	_, _ = rand.Read(q.nonce[:]) // never fails
	for ctx.Err() == nil {
		begun := time.Now()
		a, err := s.exchange(ctx, key, peer, q)
		if err == nil {
			return a, !a.Busy
		}
		wait(ctx, askAgain-time.Since(begun))
	}
	return answer{}, false
}

// exchange sends a question once and waits for its answer.
func (s Static) exchange(
	ctx context.Context, key secret.Text, peer netip.Addr, q datagramQuestion,
) (answer, error) {
	to := netip.AddrPortFrom(peer, uint16(s.Port))
	ctx, stop := context.WithTimeoutCause(ctx, askAgain, errSilent)
	defer stop()
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", to.String())
	if err != nil {
		return answer{}, err
	}
	defer conn.Close() // nothing is buffered
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	own := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr()
	if own.Unmap() == peer {
		return answer{Busy: true}, nil // a node that asks itself proves nothing
	}
	if _, err := conn.Write(q.seal(key, own)); err != nil {
		return answer{}, err
	}
	for buffer := make([]byte, answerSize+1); ; {
		n, err := conn.Read(buffer)
		if err != nil {
			return answer{}, err
		}
		if a, ok := openAnswer(key, own, q, buffer[:n]); ok {
			return a, nil
		}
	}
}
