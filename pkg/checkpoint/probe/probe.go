// Package probe asks whether a node is reached, and whether it reaches others: before a change,
// after it, after its undo, and at a boot.
package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// Probe is one thing that must go on working, as "kind:what":
//
//	route:0.0.0.0/0           there is a default route, of the main table
//	address:10.0.0.9          a link has the address
//	neighbour:eth0/10.0.0.1   the neighbour answers ARP or NDP
//	next-hop:eth0/10.0.0.9    the same of one to whom the change turned packets of another
//	ping:10.0.0.1             it answers an ICMP echo
//	tcp:10.0.0.1:443          it accepts a connection
//	https:10.0.0.1:443        it gives a whole answer over a new connection, whatever it says
//	api:/etc/kubernetes/kubelet.conf   the API server gives a whole answer to who asks by this kubeconfig
//	dns:10.0.0.2              it answers a question
//	store:s3://bucket/prefix cluster   the state store answers
//	full:eth0/10.0.0.1        it answers an echo as large as the link carries, in one piece
//	any:PROBE PROBE …         one of them passes
//	managed:systemd-networkd/eth0   the link's manager has set it up, or leaves it alone
//	pods:10.244.1.5 …         each of these pods answers an ICMP echo, or has ended
//	inbound:tcp4:22           a peer that connected to the node's port still does; asked for apart from all others
type Probe string

// Kinds of probes.
const (
	routeProbe     = "route"
	addressProbe   = "address"
	neighbourProbe = "neighbour"
	NextHop        = "next-hop"
	pingProbe      = "ping"
	tcpProbe       = "tcp"
	httpsProbe     = "https"
	apiProbe       = "api"
	dnsProbe       = "dns"
	Store          = "store"
	fullProbe      = "full"
	anyProbe       = "any"
	managedProbe   = "managed"
	podsProbe      = "pods"
	inboundProbe   = "inbound"
)

// Means are what probes need that others have: the store, and ICMP. A probe without its means does
// not pass, and so is not asked for later either.
type Means struct {
	Store func(ctx context.Context, location, cluster string) error
	// API reads an answer of the API server over a new connection: 64 KiB of it if there is as
	// much.
	API  func(ctx context.Context, kubeconfig string) error
	Ping func(ctx context.Context, to netip.Addr) error
	// Full sends an echo in a packet of so many bytes, which nobody may break up.
	Full func(ctx context.Context, to netip.Addr, size int) error
	// Traffic adds two pods, sends packets between them, the node and an outside, and takes them
	// away. It says of each check by name why it failed, nil if it passed. The error is of making
	// it.
	Traffic func(ctx context.Context, h *host.Host) (checks map[string]error, err error)
}

// Prober tries probes on a host.
type Prober struct {
	Host  *host.Host
	Means Means
}

// Times of the probes.
const (
	probeEach    = 2 * time.Second // for one attempt
	probePause   = 250 * time.Millisecond
	probesBefore = 2           // attempts before the change, each of
	beforeEach   = time.Second // so that a node without a metadata service does not wait for one
)

// StoreProbe is the probe of a state store.
func StoreProbe(location, cluster string) Probe {
	return Probe(Store + ":" + location + " " + cluster)
}

var (
	ErrNoAnswer = errors.New("no answer")
	errNoMeans  = errors.New("nobody here can try it")
)

// awaitSteady tries the probes until all have passed for a time without a break, or
// the window is over; then it returns those that failed last. The window's end cuts no
// attempt short: what it cut off would count as failed, though nothing ails it.
func awaitSteady(ctx context.Context, try func(context.Context) Failures, window, steady time.Duration) Failures {
	var since time.Time
	end := time.Now().Add(window)
	for {
		begun := time.Now()
		failed := try(ctx)
		switch {
		case len(failed) > 0:
			since = time.Time{}
		case since.IsZero():
			since = begun
		}
		if len(failed) == 0 && time.Since(since) >= steady {
			return nil
		}
		if !time.Now().Before(end) {
			return failed
		}
		if !host.Sleep(ctx, probePause) {
			return failed
		}
	}
}

// Failures are probes that failed, with why.
type Failures []FailedProbe

// FailedProbe is one, with why.
type FailedProbe struct {
	Probe Probe
	Err   error
}

func (f Failures) probes() (out []Probe) {
	for _, one := range f {
		out = append(out, one.Probe)
	}
	return out
}

// Only says that all that failed is of one kind.
func (f Failures) Only(kind string) bool {
	return !slices.ContainsFunc(f, func(one FailedProbe) bool { return one.Probe.kind() != kind })
}

func (f Failures) String() string {
	var parts []string
	for _, one := range f {
		parts = append(parts, fmt.Sprintf("%s (%v)", one.Probe, one.Err))
	}
	return strings.Join(parts, ", ")
}

// kind is that of a probe, of a group that of its first.
func (p Probe) kind() string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(string(p), anyProbe+":"), ":")
	return kind
}

// each are the probes of which one must pass.
func (p Probe) each() (list []Probe) {
	for one := range strings.FieldsSeq(strings.TrimPrefix(string(p), anyProbe+":")) {
		list = append(list, Probe(one))
	}
	return list
}

// target is the address that a probe asks, invalid for one that names none.
func (p Probe) target() (to netip.Addr) {
	_, what, _ := strings.Cut(string(p), ":")
	switch p.kind() {
	case neighbourProbe, fullProbe:
		_, what, _ = strings.Cut(what, "/")
	case tcpProbe, httpsProbe:
		what, _, _ = net.SplitHostPort(what) // "" has no address either
	}
	to, _ = netip.ParseAddr(what)
	return to.WithZone("")
}

// neighbour asks who is on a link, by a kind of probe.
func neighbour(kind, link string, addr netip.Addr) Probe {
	return Probe(fmt.Sprintf("%s:%s/%s", kind, link, addr.WithZone("")))
}

// onLink are the link and the address of a probe of a neighbour.
func onLink(what string) (link string, addr netip.Addr, err error) {
	link, address, _ := strings.Cut(what, "/")
	addr, err = netip.ParseAddr(address)
	return link, addr, err
}

// oneOf is the probe that passes if one of several does.
func oneOf(group []Probe) Probe {
	if len(group) == 1 {
		return group[0]
	}
	var parts []string
	for _, p := range group {
		parts = append(parts, string(p))
	}
	return Probe(anyProbe + ":" + strings.Join(parts, " "))
}

// hopProbe asks the next hop of a route.
func hopProbe(r rtnl.Route) Probe {
	return neighbour(neighbourProbe, r.Link, r.Gateway)
}

// hop is the address that a probe of a neighbour asks, of several the first.
func (p Probe) hop() (hop netip.Addr, ok bool) {
	first, _, _ := strings.Cut(strings.TrimPrefix(string(p), anyProbe+":"), " ")
	what, ok := strings.CutPrefix(first, neighbourProbe+":")
	if !ok {
		return hop, false
	}
	_, hop, err := onLink(what)
	return hop, err == nil
}
