// Package netstate writes down how the network of a namespace is, and brings it back: an undo's
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

// State is the network of a namespace as it was. Addresses, routes and rules are rtnetlink's own
// messages, as `ip route save` keeps them: so each comes back with all its attributes, unknown ones
// too. It is of use until the next boot: links are named by their index.
type State struct {
	Links []rtnl.Link `json:"links"`
	// Own are patterns of links that the node's network makes, as its documents declare them.
	Own       []string `json:"own,omitempty"`
	Addresses [][]byte `json:"addresses"`
	Routes    [][]byte `json:"routes"`
	Rules     [][]byte `json:"rules"`
	// Settings are what else can be set of links; nil: an earlier release did not look.
	Settings [][]byte `json:"settings,omitzero"`
	// VLANs are those of bridges and their ports; nil: an earlier release did not look.
	VLANs [][]byte `json:"vlans,omitzero"`
	// Neighbours are those that somebody wrote down; nil: an earlier release did not look.
	Neighbours [][]byte `json:"neighbours,omitzero"`
	// Entries are neighbours that the host answers for, and addresses that somebody wrote down for
	// a bridge or a VXLAN; nil: an earlier release did not look.
	Entries [][]byte `json:"entries,omitzero"`
	// Nexthops are the objects that routes name; nil: an earlier release did not look.
	Nexthops [][]byte `json:"nexthops,omitzero"`
	// Qdiscs are how links queue; nil: an earlier release did not look.
	Qdiscs [][]byte `json:"qdiscs,omitzero"`
	// Tables are entries of lists without a field of their own, by the command that shows them; of
	// a list that is not there an earlier release did not look.
	Tables map[string][][]byte `json:"tables,omitzero"`
	// Expires has the seconds that the route at each index had still to live; 0: for ever.
	Expires []uint32 `json:"expires"`
}

// hasWriter says that a program which runs on the node makes a link: see [sys.HasWriter]. Those of
// the node's network are among them.
func (s State) hasWriter(link string) bool {
	return sys.HasWriter(link) ||
		slices.ContainsFunc(s.Own, func(p string) bool { is, _ := path.Match(p, link); return is })
}

// hasWriters is [State.hasWriter] by the numbers of links.
func (s State) hasWriters() func(link int) bool {
	names := rtnl.NamesOf(s.Links)
	return func(link int) bool { return s.hasWriter(names[link]) }
}

// Writer brings the network back that a [State] tells of.
type Writer struct {
	net   *rtnl.Reader
	links *rtnl.Writer
	log   *zap.Logger
}

// NewWriter changes the network that net reads. log may be nil.
func NewWriter(net *rtnl.Reader, links *rtnl.Writer, log *zap.Logger) *Writer {
	return &Writer{net: net, links: links, log: log}
}

// ruleHead is the size of the fixed head of a rule's message (linux/fib_rules.h, fib_rule_hdr).
const ruleHead = 12

// rawList lists objects as take makes them of what the kernel says, but for those of which it makes
// nil. ask is the question, zeros if it is shorter than the head.
func rawList(
	ctx context.Context, what string, get, head int, take func(m []byte) []byte, ask ...byte,
) ([][]byte, error) {
	ask = append(ask, make([]byte, max(0, head-len(ask)))...)
	list, err := sys.Dump(ctx, what, func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(get, unix.NLM_F_DUMP)
		req.AddRawData(ask)
		return req.Execute(unix.NETLINK_ROUTE, 0)
	})
	if errors.Is(err, unix.EOPNOTSUPP) { // Linux before 5.3 has no nexthop objects, and some no queueing disciplines
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

// asItIs takes a message whole.
func asItIs(m []byte) []byte { return m }

// setOf are messages to be looked up.
func setOf(list [][]byte) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, m := range list {
		out[string(m)] = true
	}
	return out
}

// missing are the messages of a that b has not.
func missing(a, b [][]byte) [][]byte {
	have := setOf(b)
	return slices.DeleteFunc(slices.Clone(a), func(m []byte) bool { return have[string(m)] })
}

// octet is the value of an attribute of one byte, 0 where there is none.
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

// send sends a message that was read. Errors among fine say that it is so already.
func send(what string, kind, flags int, m []byte, fine ...unix.Errno) error {
	req := nl.NewNetlinkRequest(kind, flags|unix.NLM_F_ACK)
	req.AddRawData(m)
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	if err == nil || slices.ContainsFunc(fine, func(e unix.Errno) bool { return errors.Is(err, e) }) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Read reads the state of the network that net reads. Routes and addresses that the kernel makes by
// itself are left out where it also brings them back by itself. own is [State.Own].
func Read(ctx context.Context, net *rtnl.Reader, own ...string) (out State, err error) {
	out.Own = own
	if out.Links, err = net.Links(ctx); err != nil {
		return out, err
	}
	for _, l := range []struct {
		to   *[][]byte
		list func(context.Context) ([][]byte, error)
	}{
		{&out.Settings, listSettings}, {&out.VLANs, listVLANs}, {&out.Addresses, listAddresses},
		{&out.Nexthops, listNexthops}, {&out.Qdiscs, listQdiscs}, {&out.Rules, listRules},
		{&out.Neighbours, out.writtenDown}, {&out.Entries, out.listEntries},
	} {
		if *l.to, err = l.list(ctx); err != nil {
			return out, err
		}
	}
	if out.Routes, out.Expires, err = listRoutes(ctx); err != nil {
		return out, err
	}
	out.Tables, err = readTables(ctx, out)
	return out, err
}
