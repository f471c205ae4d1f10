package firewall

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	netlinkerr "github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// nftTimeout bounds one exchange with nf_tables. The kernel answers at once;
// only a lost acknowledgement is waited for.
const nftTimeout = 10 * time.Second

// nftSocket asks nf_tables. One is opened for each reading, and closed.
type nftSocket struct{ *sys.Netlink }

func newNFTSocket() nftSocket {
	return nftSocket{&sys.Netlink{Protocol: unix.NETLINK_NETFILTER, Timeout: nftTimeout}}
}

// dial opens a socket of netfilter to write.
func dial(ctx context.Context) (*netlink.Conn, error) {
	c, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("open the nft socket: %w", err)
	}
	until := time.Now().Add(nftTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	if err := c.SetDeadline(until); err != nil {
		return nil, errors.Join(fmt.Errorf("bound the nft socket: %w", err), c.Close())
	}
	return c, nil
}

// ask asks nf_tables for a list, or for one object.
func (s nftSocket) ask(what string, kind, flags uint16, family byte, attributes ...[]byte) ([][]byte, error) {
	get := unix.NFNL_SUBSYS_NFTABLES<<8 | kind
	out, err := s.request(get, get-1, flags, family, attributes...) // each NEW has the number before its GET
	if err != nil {
		return nil, fmt.Errorf("ask nft for %s: %w", what, err)
	}
	return out, nil
}

// request sends one request to a part of netfilter, and returns the answers of a kind. flags are
// those of [sys.Netlink.List].
func (s nftSocket) request(kind, answer, flags uint16, family byte, attributes ...[]byte) (out [][]byte, err error) {
	data := slices.Concat(append([][]byte{{family, 0, 0, 0}}, attributes...)...) // struct nfgenmsg
	err = s.List(kind, answer, flags, data, func(body []byte) { out = append(out, bytes.Clone(body)) })
	if errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("root is needed (CAP_NET_ADMIN), for reading too: %w", err)
	}
	return out, err
}

// split takes the family off an answer (struct nfgenmsg).
func split(m []byte) (family byte, body []byte) {
	if len(m) < 4 {
		return 0, nil
	}
	return m[0], m[4:]
}

// number is an attribute in the byte order of nf_tables; 0 where there is none.
func number(body []byte, kind uint16) uint32 {
	b := sys.Attribute(body, kind)
	if len(b) != 4 {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

// generation is the number of the ruleset's state: it grows with each change.
func (s nftSocket) generation() (uint32, error) {
	answers, err := s.ask("its generation", unix.NFT_MSG_GETGEN, unix.NLM_F_ACK, unix.NFPROTO_UNSPEC)
	if err != nil {
		return 0, err
	}
	if len(answers) != 1 {
		return 0, fmt.Errorf("read nft's answer: %d messages for one question", len(answers))
	}
	_, body := split(answers[0])
	return number(body, unix.NFTA_GEN_ID), nil
}

// consistent runs read until the ruleset does not change meanwhile: the parts
// of a ruleset come by several questions.
func consistent[T any](ctx context.Context, s nftSocket, what string, read func() (T, error)) (T, error) {
	return sys.Dump(ctx, what, func() (T, error) {
		var none T
		before, err := s.generation()
		if err != nil {
			return none, err
		}
		out, err := read()
		if err != nil {
			return none, err
		}
		after, err := s.generation()
		if err != nil {
			return none, err
		}
		if before != after {
			return none, netlinkerr.ErrDumpInterrupted
		}
		return out, nil
	})
}
