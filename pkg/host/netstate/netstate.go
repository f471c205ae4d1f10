// Package netstate records the state of a network namespace and restores it. The undo uses it for
// addresses, routes, rules, neighbours and settings of links.
package netstate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host/internal/sys"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// State is the recorded network of a namespace. Addresses, routes and rules are unchanged rtnetlink
// messages, as in `ip route save`: so they are restored with all attributes, also unknown ones. A
// State is valid until the next boot, because it names links by index.
type State struct {
	Links []rtnl.Link `json:"links"`
	// Own are patterns for the links that the node's network creates, as the documents declare
	// them.
	Own       []string `json:"own,omitempty"`
	Addresses [][]byte `json:"addresses"`
	Routes    [][]byte `json:"routes"`
	Rules     [][]byte `json:"rules"`
	// Settings are the other settings of links; nil: an earlier release did not read them.
	Settings [][]byte `json:"settings,omitzero"`
	// VLANs are the VLANs of bridges and their ports; nil: an earlier release did not read them.
	VLANs [][]byte `json:"vlans,omitzero"`
	// Neighbours are the permanent neighbours; nil: an earlier release did not read them.
	Neighbours [][]byte `json:"neighbours,omitzero"`
	// Entries are proxied neighbours and the static forwarding entries of bridges and VXLANs; nil:
	// an earlier release did not read them.
	Entries [][]byte `json:"entries,omitzero"`
	// Nexthops are the nexthop objects of routes; nil: an earlier release did not read them.
	Nexthops [][]byte `json:"nexthops,omitzero"`
	// Qdiscs are the queueing disciplines of links; nil: an earlier release did not read them.
	Qdiscs [][]byte `json:"qdiscs,omitzero"`
	// Tables are the entries of other lists, by the command that shows the list. If a list is
	// missing, an earlier release did not read it.
	Tables map[string][][]byte `json:"tables,omitzero"`
	// Expires has the remaining lifetime in seconds of the route at the same index; 0: no limit.
	Expires []uint32 `json:"expires"`
}

// hasWriter reports whether a program that runs on the node creates and changes a link: see
// [sys.HasWriter]. The links of the node's own network count, too.
func (s State) hasWriter(link string) bool {
	return sys.HasWriter(link) ||
		slices.ContainsFunc(s.Own, func(p string) bool { is, _ := path.Match(p, link); return is })
}

// hasWriters returns [State.hasWriter] as a function of the link's index.
func (s State) hasWriters() func(link int) bool {
	names := rtnl.NamesOf(s.Links)
	return func(link int) bool { return s.hasWriter(names[link]) }
}

// Writer restores the network of a [State].
type Writer struct {
	net   *rtnl.Reader
	links *rtnl.Writer
	log   *zap.Logger
}

// NewWriter returns a Writer for the network that net reads. log may be nil.
func NewWriter(net *rtnl.Reader, links *rtnl.Writer, log *zap.Logger) *Writer {
	return &Writer{net: net, links: links, log: log}
}

// ruleHead is the size of the header of a rule's message (linux/fib_rules.h, fib_rule_hdr).
const ruleHead = 12

// rawList lists objects as rtnetlink messages. take converts each message, or returns nil to leave
// it out. ask is the request; if it is shorter than the header, zeros follow.
func rawList(
	ctx context.Context, what string, get, head int, take func(m []byte) []byte, ask ...byte,
) ([][]byte, error) {
	ask = append(ask, make([]byte, max(0, head-len(ask)))...)
	list, err := sys.Dump(ctx, what, func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(get, unix.NLM_F_DUMP)
		req.AddRawData(ask)
		return req.Execute(unix.NETLINK_ROUTE, 0)
	})
	if errors.Is(err, unix.EOPNOTSUPP) { // before Linux 5.3 no nexthop objects; qdiscs are optional
		err = nil
	}
	out := [][]byte{}
	for _, m := range list {
		if len(m) < head {
			continue
		}
		if m = take(m); m != nil {
			out = append(out, m)
		}
	}
	return out, err
}

// asItIs returns a message unchanged.
func asItIs(m []byte) []byte { return m }

// setOf returns the messages as a set.
func setOf(list [][]byte) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, m := range list {
		out[string(m)] = true
	}
	return out
}

// missing returns the messages of a that are not in b.
func missing(a, b [][]byte) [][]byte {
	have := setOf(b)
	return slices.DeleteFunc(slices.Clone(a), func(m []byte) bool { return have[string(m)] })
}

// octet returns the value of an attribute of one byte, or 0 if there is none.
func octet(value []byte) byte {
	if len(value) == 1 {
		return value[0]
	}
	return 0
}

// sendAll sends messages one after the other.
func sendAll(list [][]byte, what string, kind, flags int, fine ...unix.Errno) error {
	var errs []error
	for _, m := range list {
		errs = append(errs, send(what, kind, flags, m, fine...))
	}
	return errors.Join(errs...)
}

// send sends a message that was listed before. The errors in fine count as success: they mean that
// the state is already as wanted.
func send(what string, kind, flags int, m []byte, fine ...unix.Errno) error {
	req := nl.NewNetlinkRequest(kind, flags|unix.NLM_F_ACK)
	req.AddRawData(m)
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	if err == nil || slices.ContainsFunc(fine, func(e unix.Errno) bool { return errors.Is(err, e) }) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
