package rtnl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/vishvananda/netlink"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Reader reads links, addresses, routes, rules and neighbours. It reads the network namespace of
// the thread that uses it first. It caches nothing: each method returns what the kernel answered
// during the call.
type Reader struct {
	live bool // the root has a running kernel

	mu     sync.Mutex
	handle *netlink.Handle // one rtnetlink socket, opened at first use
	lists  sys.Netlink     // another socket, for the lists that each pass reads

	addressMu sync.Mutex // one address is removed at a time
}

// Open opens no socket yet. If live is false, all methods return [sys.ErrNoLiveState].
func Open(live bool) *Reader { return &Reader{live: live} }

// Writer changes the network that a [Reader] reads.
type Writer struct {
	net   *Reader
	files *hostfs.Reader
	log   *zap.Logger
}

// NewWriter returns a Writer for the network that net reads. files opens the directory of named
// namespaces. log may be nil.
func NewWriter(net *Reader, files *hostfs.Reader, log *zap.Logger) *Writer {
	return &Writer{net: net, files: files, log: log}
}

// Close closes the sockets.
func (n *Reader) Close() error {
	n.lists.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.handle != nil {
		n.handle.Close()
		n.handle = nil
	}
	return nil
}

// rt opens both sockets at the first call, in the namespace of the calling thread, and returns the
// rtnetlink handle. It returns [sys.ErrNoLiveState] without a kernel, and the cause of a cancelled
// context: a netlink call itself cannot be cancelled.
func (n *Reader) rt(ctx context.Context) (*netlink.Handle, error) {
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
		if err := n.lists.Connect(); err != nil {
			h.Close()
			return nil, err
		}
		n.handle = h
	}
	return n.handle, nil
}

// opened returns the handle. The caller must have read something before, which opened it.
func (n *Reader) opened() *netlink.Handle {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.handle
}

func (n *Reader) ready(ctx context.Context) error { return sys.Ready(ctx, n.live, "the network") }

// IsTransient reports whether an error of reading or writing the network may be temporary: a list
// that kept changing, a busy kernel, a lost answer.
func IsTransient(err error) bool {
	return slices.ContainsFunc([]error{netlink.ErrDumpInterrupted, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS, unix.ENOMEM,
		os.ErrDeadlineExceeded}, func(kind error) bool { return errors.Is(err, kind) })
}

// sorted returns the list in the order of compare; the sort is stable. It sorts the indexes,
// because the program contains that code already: sorting a type of struct adds 7 kB.
func sorted[T any](list []T, compare func(a, b T) int) []T {
	numbers := make([]int, len(list))
	for i := range numbers {
		numbers[i] = i
	}
	slices.SortStableFunc(numbers, func(i, j int) int { return compare(list[i], list[j]) })
	out := slices.Clone(list)
	for i, number := range numbers {
		out[i] = list[number]
	}
	return out
}

// Overview has the links, addresses and routes of a host.
type Overview struct {
	Links     []Link    // by index
	Addresses []Address // of all links
	Routes    []Route   // of the main table: see [Reader.Routes]
	Defaults  []Route   // see [Reader.DefaultRoutes]
}

// Overview reads everything with one list of each kind, so it asks for no single link's name. Facts
// and probes use it. It may be retried.
func (n *Reader) Overview(ctx context.Context) (o Overview, err error) {
	if o.Links, err = n.Links(ctx); err != nil {
		return o, err
	}
	names := NamesOf(o.Links)
	if o.Addresses, err = n.addresses(ctx, names); err != nil {
		return o, err
	}
	list, err := n.listed(ctx, MainTable)
	o.Routes, o.Defaults = supported(list, names), defaults(list, names)
	return o, err
}
