package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// network reads links, addresses, routes, rules and nft tables of the network
// namespace that the calling thread is in when it is used first. Nothing is
// cached: what a method returns is what the kernel said during the call.
type network struct {
	live bool // a kernel stands behind the root

	mu     sync.Mutex
	handle *netlink.Handle // one socket for all of rtnetlink, opened when first needed

	leaving sync.Mutex // one address is taken off at a time
}

func openNetwork(opt Options) *network { return &network{live: opt.live()} }

func (n *network) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.handle != nil {
		n.handle.Close()
		n.handle = nil
	}
	return nil
}

// rt returns the handle for rtnetlink. [ErrNotHere] without a kernel, the
// context's cause when it is over: a netlink call itself cannot be cancelled.
func (n *network) rt(ctx context.Context) (*netlink.Handle, error) {
	if err := n.ready(ctx); err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.handle == nil {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return nil, fmt.Errorf("open rtnetlink: %w", err)
		}
		n.handle = h
	}
	return n.handle, nil
}

func (n *network) ready(ctx context.Context) error {
	if !n.live {
		return fmt.Errorf("read the network: %w", sys.ErrNotHere)
	}
	return context.Cause(ctx)
}

// dumpTries bounds how often a list is read anew. A list is torn only when
// something changed within the milliseconds of reading it.
const dumpTries = 10

// dump reads a list from the kernel until it comes whole. When something
// changes while the kernel sends a list, it marks the answer with
// NLM_F_DUMP_INTR: entries may be missing or double. Such an answer is never
// used; reading again is the only remedy (linux/netlink.h, NLM_F_DUMP_INTR).
func dump[T any](ctx context.Context, what string, list func() (T, error)) (T, error) {
	var none T
	for try := range dumpTries {
		if err := context.Cause(ctx); err != nil {
			return none, err
		}
		if try > 0 {
			time.Sleep(time.Millisecond << min(try, 6)) // 2 ms to 64 ms: let it finish what it does
		}
		out, err := list()
		switch {
		case err == nil:
			return out, nil
		case !errors.Is(err, netlink.ErrDumpInterrupted):
			return none, fmt.Errorf("list %s: %w", what, err)
		}
	}
	return none, fmt.Errorf("list %s: changed during each of %d readings, something alters the network without pause: %w",
		what, dumpTries, netlink.ErrDumpInterrupted)
}

// Passing says that an error of reading or writing the network may not be met
// again: a list that kept changing, a busy kernel, an answer that was lost.
func Passing(err error) bool {
	for _, kind := range []error{netlink.ErrDumpInterrupted, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS, unix.ENOMEM, os.ErrDeadlineExceeded} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
