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

// Reader reads links, addresses, routes, rules and neighbours of the network namespace that the
// calling thread is in when it is used first. Nothing is cached: what a method returns is what the
// kernel said during the call.
type Reader struct {
	live bool // a kernel stands behind the root

	mu     sync.Mutex
	handle *netlink.Handle // one socket for all of rtnetlink, opened when first needed
	lists  sys.Netlink     // another one for what is read at each pass

	addressMu sync.Mutex // one address is taken off at a time
}

// Open opens nothing yet; not live, its answer is [sys.ErrNoLiveState].
func Open(live bool) *Reader { return &Reader{live: live} }

// Writer changes what [Reader] reads.
type Writer struct {
	net   *Reader
	files *hostfs.Reader
	log   *zap.Logger
}

// NewWriter changes the network that net reads. files is where the files of named namespaces
// are; log may be nil.
func NewWriter(net *Reader, files *hostfs.Reader, log *zap.Logger) *Writer {
	return &Writer{net: net, files: files, log: log}
}

// Close releases the sockets.
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

// rt returns the handle for rtnetlink, and opens what lists are read by: both are of the namespace
// of the first call. [sys.ErrNoLiveState] without a kernel, the context's cause when it is over: a
// netlink call itself cannot be cancelled.
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

// opened is the handle, for who has just read something: that opened it.
func (n *Reader) opened() *netlink.Handle {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.handle
}

func (n *Reader) ready(ctx context.Context) error { return sys.Ready(ctx, n.live, "the network") }

// Passing says that an error of reading or writing the network may not be met
// again: a list that kept changing, a busy kernel, an answer that was lost.
func Passing(err error) bool {
	for _, kind := range []error{netlink.ErrDumpInterrupted, unix.EAGAIN, unix.EBUSY, unix.ENOBUFS, unix.ENOMEM,
		os.ErrDeadlineExceeded} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// sorted is a list as compare orders it, and what is equal as it stood. The numbers of its objects
// are sorted, for which the program has the code: for a type of struct that is 7 kB more.
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

// Overview is how a host's network looks.
type Overview struct {
	Links     []Link    // by index
	Addresses []Address // on all of them
	Routes    []Route   // of the main table: see [Reader.Routes]
	Defaults  []Route   // see [Reader.DefaultRoutes]
}

// Overview lists all of it, by one list of each: to whom a link's number belongs is not asked for
// each of them. Facts and probes are made of it. It may be retried.
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
