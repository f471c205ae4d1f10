package firewall

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/google/nftables"
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

// openNFT opens the socket, or says [fs.ErrNotExist] where nf_tables is not
// loaded: a read never makes the kernel load it.
func (n *Reader) openNFT(ctx context.Context) (nftSocket, error) {
	if err := n.ready(ctx); err != nil {
		return nftSocket{}, err
	}
	if !Loaded("/") {
		return nftSocket{}, fmt.Errorf("read nft tables: nf_tables is not loaded: %w", fs.ErrNotExist)
	}
	return newNFTSocket(), nil
}

// dial opens a socket of netfilter.
func dial(ctx context.Context) (*netlink.Conn, error) {
	c, err := netlink.Dial(unix.NETLINK_NETFILTER, nil)
	if err != nil {
		return nil, fmt.Errorf("open the nft socket: %w", nftHint(err))
	}
	if err := nftDeadline(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func nftDeadline(ctx context.Context, c *netlink.Conn) error {
	until := time.Now().Add(nftTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(until) {
		until = d
	}
	if err := c.SetDeadline(until); err != nil {
		return fmt.Errorf("bound the nft socket: %w", err)
	}
	return nil
}

// ask sends one request and returns the answers' attributes.
func (s nftSocket) ask(
	what string, kind uint16, flags netlink.HeaderFlags, family nftables.TableFamily, attrs ...netlink.Attribute,
) ([]netlink.Message, error) {
	data, err := netlink.MarshalAttributes(attrs)
	if err != nil {
		return nil, fmt.Errorf("ask nft for %s: %w", what, err)
	}
	if flags&netlink.Dump == 0 {
		flags |= netlink.Acknowledge // it ends the answer
	}
	get := unix.NFNL_SUBSYS_NFTABLES<<8 | kind
	var out []netlink.Message
	// struct nfgenmsg: family, version 0, resource id 0. Each NEW has the number before its GET.
	err = s.List(get, get-1, uint16(flags), append([]byte{byte(family), 0, 0, 0}, data...), func(body []byte) {
		out = append(out, netlink.Message{Data: bytes.Clone(body)})
	})
	if errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("ask nft for %s: root is needed (CAP_NET_ADMIN), for reading too: %w", what, err)
	}
	if err != nil {
		return nil, fmt.Errorf("ask nft for %s: %w", what, err)
	}
	return out, nil
}

// split takes the family off an answer (struct nfgenmsg).
func split(m netlink.Message) (family byte, body []byte) {
	if len(m.Data) < 4 {
		return 0, nil
	}
	return m.Data[0], m.Data[4:]
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
	answers, err := s.ask("its generation", unix.NFT_MSG_GETGEN, 0, nftables.TableFamilyUnspecified)
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
