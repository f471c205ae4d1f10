package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Reach records how others reach a node on its own links, without the store, the API server and
// hosts behind a gateway. A boot is judged by it.
type Reach struct {
	// Addresses are the first address of each family on each link that outgoing packets use. An
	// address from a server may change with a boot.
	Addresses []ReachAddress `json:"addresses,omitempty"`
	// Hops are the next hops of default routes that answered, and Local the other neighbours that
	// did. If a gateway does not answer and one of Local does, the gateway has an outage.
	Hops  []Probe `json:"hops,omitempty"`
	Local []Probe `json:"local,omitempty"`
	// Echo are the echo probes that passed for some of these, and Managed the probes of the link
	// managers that had set up the node's links.
	Echo    []Probe `json:"echo,omitempty"`
	Managed []Probe `json:"managed,omitempty"`
	// TCP reports whether a TCP connection of the node to itself carried bytes. Sysctls in files
	// may prevent that after a boot (net.ipv4.tcp_rmem). No other host is needed for this test.
	TCP bool `json:"tcp,omitempty"`
}

// ReachAddress is an address by which others reach the node.
type ReachAddress struct {
	rtnl.LinkAddress
	Dynamic bool `json:"dynamic,omitempty"`
}

// maxLocal is the maximum number of neighbours in Local.
const maxLocal = 4

// Reach records how others reach the node now: on the links of its default routes, or if there are
// none, on the links with a neighbour that answers. passed are the probes that pass.
func (n Prober) Reach(ctx context.Context, passed []Probe) (r Reach, err error) {
	o, err := n.Host.Live.Net.Overview(ctx)
	if err != nil {
		return r, fmt.Errorf("find the addresses at which the node is reached: %w", err)
	}
	routes, addresses := o.Defaults, o.Addresses
	r.Hops = hopProbes(routes)
	links := map[string]bool{}
	for _, route := range routes {
		links[route.Link] = true
	}
	for _, p := range passed {
		if p.kind() == managedProbe {
			r.Managed = append(r.Managed, p)
		}
		for _, one := range p.each() {
			to := one.target()
			on := slices.IndexFunc(addresses, func(a rtnl.Address) bool {
				reached := len(routes) == 0 || links[a.Link]
				return reached && a.Scope == "global" && a.Prefix.Contains(to) && a.Prefix.Addr() != to
			})
			if on < 0 {
				continue
			}
			links[addresses[on].Link] = true
			near := neighbour(neighbourProbe, addresses[on].Link, to)
			if !slices.Contains(r.near(), near) && len(r.Local) < maxLocal {
				r.Local = append(r.Local, near)
			}
			if one.kind() == pingProbe || one.kind() == fullProbe {
				r.Echo = append(r.Echo, one)
			}
		}
	}
	for _, a := range addresses {
		known := func(o ReachAddress) bool {
			return o.Link == a.Link && o.Prefix.Addr().BitLen() == a.Prefix.Addr().BitLen()
		}
		if a.Scope == "global" && links[a.Link] && !slices.ContainsFunc(r.Addresses, known) {
			on := rtnl.LinkAddress{Link: a.Link, Prefix: a.Prefix}
			r.Addresses = append(r.Addresses, ReachAddress{on, a.Dynamic})
		}
	}
	all := slices.Concat(r.Hops, r.Local, r.Echo) // all at the same time
	heard, err := n.passing(ctx, all)
	if err != nil {
		return r, fmt.Errorf("find the addresses at which the node is reached: %w", err)
	}
	silent := without(all, heard)
	r.Hops, r.Local, r.Echo = without(r.Hops, silent), without(r.Local, silent), without(r.Echo, silent)
	r.TCP = askTCP(ctx) == nil
	return r, nil
}

// near returns all neighbours that answered.
func (r Reach) near() []Probe { return slices.Concat(r.Hops, r.Local) }

// amiss returns what differs from the recorded reach, or nil if others reach the node as before.
func (r Reach) amiss(ctx context.Context, n Prober) (failed Failures) {
	now, err := n.Host.Live.Net.Overview(ctx)
	if err != nil {
		return Failures{{"network", err}}
	}
	up := func(name string) bool {
		return slices.ContainsFunc(now.Links, func(l rtnl.Link) bool {
			return l.Name == name && l.Up && l.Running
		})
	}
	for _, want := range r.Addresses {
		there := func(a rtnl.Address) bool { return want.is(a, now.Defaults) && up(a.Link) }
		if !slices.ContainsFunc(now.Addresses, there) {
			p := Probe(fmt.Sprintf("address:%s/%s", want.Link, want.Prefix))
			failed = append(failed, FailedProbe{p, errors.New("no link that is up has this address")})
		}
	}
	failed = append(failed, n.Attempt(ctx, r.Managed)...)
	failed = append(failed, r.silent(ctx, n, now.Defaults)...)
	if r.TCP {
		if err := askTCP(ctx); err != nil {
			failed = append(failed, FailedProbe{tcpProbe, fmt.Errorf("a connection of the node to itself: %w", err)})
		}
	}
	return append(failed, r.mute(ctx, n)...)
}

// AwaitReach waits until others reach the node as before, and returns what is still wrong when the
// time is over.
func (r Reach) AwaitReach(ctx context.Context, n Prober, window time.Duration) Failures {
	return awaitSteady(ctx, func(ctx context.Context) Failures { return r.amiss(ctx, n) }, window, 0)
}

// askTCP sends the bytes of a few packets over a connection of the node to itself. It opens new
// sockets, because an existing socket keeps the buffers that it had.
func askTCP(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeEach, ErrNoAnswer)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close() // nothing is buffered
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = io.Copy(conn, conn) // until the other end closes
			_ = conn.Close()
		}
	}()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is buffered
	deadline, _ := ctx.Deadline()
	sent := make([]byte, 4<<10)
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write(sent); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, sent)
	return err
}

// HadLink reports whether a manager had set up one of the node's links.
func (r Reach) HadLink(manager string) bool {
	return slices.ContainsFunc(r.Managed, func(p Probe) bool {
		return strings.HasPrefix(string(p), managedProbe+":"+manager+"/")
	})
}

// ClearAddresses removes from managed links all global addresses that are not recorded, except
// those from a server. The manager sets the ones that are wanted again.
func (r Reach) ClearAddresses(ctx context.Context, h *host.Host) error {
	addresses, err := h.Live.Net.Addresses(ctx, "")
	errs := []error{err}
	for _, a := range addresses {
		known := slices.ContainsFunc(r.Addresses,
			func(o ReachAddress) bool { return o.Prefix.Addr() == a.Prefix.Addr() })
		managed := slices.ContainsFunc(r.Managed,
			func(p Probe) bool { return strings.HasSuffix(string(p), "/"+a.Link) })
		if managed && !known && !a.Dynamic && a.Scope == "global" {
			errs = append(errs, h.Net.DelAddress(ctx, a.Link, a.Prefix))
		}
	}
	return errors.Join(errs...)
}

// is reports whether an address matches the recorded one, on any link: a link may have another name
// after a boot, and a network's DaemonSet may move an address to a bridge. For an address from a
// server, another address of its family matches if it is on the same link or on a link of a default
// route.
func (r ReachAddress) is(a rtnl.Address, routes []rtnl.Route) bool {
	if !r.Dynamic {
		return a.Prefix.Addr() == r.Prefix.Addr()
	}
	leaves := a.Link == r.Link || slices.ContainsFunc(routes, func(o rtnl.Route) bool { return o.Link == a.Link })
	return leaves && a.Scope == "global" && a.Prefix.Addr().BitLen() == r.Prefix.Addr().BitLen()
}

// silent returns the next hops of default routes that do not answer, in the families in which one
// answered before. If no next hop answered before, it returns the neighbours if none of them
// answers.
func (r Reach) silent(ctx context.Context, n Prober, routes []rtnl.Route) (failed Failures) {
	for _, bits := range []int{32, 128} {
		other := func(p Probe) bool { return p.target().BitLen() != bits }
		before := slices.DeleteFunc(slices.Clone(r.Hops), other)
		local := slices.DeleteFunc(slices.Clone(r.Local), other)
		if len(before) == 0 && (len(local) == 0 || len(r.Hops) > 0) {
			continue
		}
		var hops []Probe
		if len(before) > 0 {
			hops = slices.DeleteFunc(hopProbes(routes), other)
		}
		if len(hops) < min(len(before), 1) {
			failed = append(failed, FailedProbe{neighbourProbe, errors.New("no default route has a gateway any more")})
			continue
		}
		dead := n.Attempt(ctx, hops)
		if len(before) > 0 && len(dead) == 0 {
			continue
		}
		quiet := n.Attempt(ctx, local)
		switch {
		case len(quiet) < len(local): // the link works, so a recorded gateway that does not answer has an outage
			dead = slices.DeleteFunc(dead, func(f FailedProbe) bool { return slices.Contains(before, f.Probe) })
		case len(before) == 0:
			dead = quiet
		}
		failed = append(failed, dead...)
	}
	return failed
}

// mute returns the echo probes of a family and a size that all fail now, while a neighbour answers
// ARP or NDP. Then no packets get through.
func (r Reach) mute(ctx context.Context, n Prober) (failed Failures) {
	for _, kind := range []string{pingProbe, fullProbe} {
		for _, bits := range []int{32, 128} {
			var asked []Probe
			for _, p := range r.Echo {
				if p.kind() == kind && p.target().BitLen() == bits {
					asked = append(asked, p)
				}
			}
			there := func(p Probe) bool { return p.target().BitLen() == bits && n.try(ctx, p) == nil }
			dead := n.Attempt(ctx, asked)
			if len(asked) > 0 && len(dead) == len(asked) && slices.ContainsFunc(r.near(), there) {
				failed = append(failed, dead...)
			}
		}
	}
	return failed
}

// Gateways returns the next hops of default routes that do not answer, or "". It serves a machine
// that boots for the first time, which has no recorded reach.
func Gateways(ctx context.Context, h *host.Host) string {
	routes, err := h.Live.Net.DefaultRoutes(ctx)
	if err != nil {
		return err.Error()
	}
	if len(routes) == 0 {
		return "no default route"
	}
	n, hops := Prober{Host: h}, hopProbes(routes)
	heard, _ := n.passing(ctx, hops) // the next line reports the reasons
	return n.Attempt(ctx, without(hops, heard)).String()
}
