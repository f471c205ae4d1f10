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

// nftTimeout limits one exchange with nf_tables. The kernel answers at once, so only a lost answer
// takes this long.
const nftTimeout = 10 * time.Second

// nftSocket is a socket to nf_tables. Each read opens and closes its own.
type nftSocket struct{ *sys.Netlink }

func newNFTSocket() nftSocket {
	return nftSocket{&sys.Netlink{Protocol: unix.NETLINK_NETFILTER, Timeout: nftTimeout}}
}

// dial opens a netfilter socket for writing.
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

// ask requests a list or one object from nf_tables.
func (s nftSocket) ask(what string, kind, flags uint16, family byte, attributes ...[]byte) ([]answer, error) {
	get := unix.NFNL_SUBSYS_NFTABLES<<8 | kind
	out, err := s.request(get, get-1, flags, family, attributes...) // each NEW is one below its GET
	if err != nil {
		return nil, fmt.Errorf("ask nft for %s: %w", what, err)
	}
	return out, nil
}

// answer is a message of netfilter: its family and attributes.
type answer struct {
	family byte
	body   []byte
}

// request sends one request to a subsystem of netfilter, and returns the answers of type of. flags
// are those of [sys.Netlink.List].
func (s nftSocket) request(kind, of, flags uint16, family byte, attributes ...[]byte) (out []answer, err error) {
	data := slices.Concat(append([][]byte{{family, 0, 0, 0}}, attributes...)...) // struct nfgenmsg
	err = s.List(kind, of, flags, data, func(m []byte) {
		if len(m) >= 4 {
			out = append(out, answer{m[0], bytes.Clone(m[4:])})
		}
	})
	if errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("root is needed (CAP_NET_ADMIN), for reading too: %w", err)
	}
	return out, err
}

// number returns an attribute in the byte order of nf_tables, or 0 if there is none.
func number(body []byte, kind uint16) uint32 {
	b := sys.Attribute(body, kind)
	if len(b) != 4 {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}

// generation returns the generation of the rule set; it grows with each change.
func (s nftSocket) generation() (id uint32, err error) {
	answers, err := s.ask("its generation", unix.NFT_MSG_GETGEN, unix.NLM_F_ACK, unix.NFPROTO_UNSPEC)
	for _, m := range answers {
		id = number(m.body, unix.NFTA_GEN_ID)
	}
	return id, err
}

// readNFT calls read until the rule set does not change meanwhile, because read makes several
// requests. It returns nothing if nf_tables is not loaded: a read never makes the kernel load it.
func readNFT[T any](ctx context.Context, n *Reader, what string, read func(nftSocket) ([]T, error)) ([]T, error) {
	if err := n.ready(ctx); err != nil || !Loaded("/") {
		return nil, err
	}
	s := newNFTSocket()
	defer s.Close()
	return sys.Dump(ctx, what, func() ([]T, error) {
		before, err := s.generation()
		if err != nil {
			return nil, err
		}
		out, err := read(s)
		if err != nil {
			return nil, err
		}
		after, err := s.generation()
		if err == nil && before != after {
			err = netlinkerr.ErrDumpInterrupted
		}
		return out, err
	})
}
