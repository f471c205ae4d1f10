// Package probe tests whether others reach a node and whether the node reaches others: before a
// change, after it, after its undo, and at a boot.
//
// # Files
//
//   - the kinds of probes, and one attempt: probe, run_probes
//   - what is probed: default_probes, name_servers, next_hops, neighbours, link_managers, pods,
//     traffic, inbound
//   - the probes before and after a change: comparison, proof
//   - how others reach the node, compared after a boot: reach
//   - the probes of the watch after a change: watchable
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

// Probe names a test of the node's network, as "kind:what". It passes if:
//
//	route:0.0.0.0/0           there is a default route, of the main table
//	address:10.0.0.9          a link has the address
//	neighbour:eth0/10.0.0.1   the neighbour answers ARP or NDP
//	next-hop:eth0/10.0.0.9    the same, for a next hop to which the change redirects packets
//	ping:10.0.0.1             the address answers an ICMP echo
//	tcp:10.0.0.1:443          the port accepts a connection
//	https:10.0.0.1:443        the port sends a whole answer over a new connection, whatever its status
//	api:/etc/kubernetes/kubelet.conf   the API server sends a whole answer to a client with this kubeconfig
//	dns:10.0.0.2              the name server answers a question
//	store:s3://bucket/prefix cluster   the state store answers
//	full:eth0/10.0.0.1        the neighbour answers an echo of the link's MTU, without fragments
//	any:PROBE PROBE …         one of the probes passes
//	managed:systemd-networkd/eth0   the manager has set the link up, or does not manage it
//	pods:10.244.1.5 …         each of these pods answers an ICMP echo, or has ended
//	inbound:tcp4:22           a peer that could connect to the node's port still can; peers are asked separately
type Probe string

// The kinds of probes.
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

// Means are functions that probes need from other packages. A probe whose function is nil does not
// pass before the change, and so is not made after it.
type Means struct {
	Store func(ctx context.Context, location, cluster string) error
	// API reads an answer of the API server over a new connection, up to 64 KiB of it.
	API  func(ctx context.Context, kubeconfig string) error
	Ping func(ctx context.Context, to netip.Addr) error
	// Full sends an echo in a packet of size bytes that must not be fragmented.
	Full func(ctx context.Context, to netip.Addr, size int) error
	// Traffic creates two pods, sends packets between them, the node and an outside network, and
	// removes the pods. It returns for each check, by name, why it failed, or nil if it passed. err
	// means that the checks could not be made.
	Traffic func(ctx context.Context, h *host.Host) (checks map[string]error, err error)
}

// Prober makes probes on a host.
type Prober struct {
	Host  *host.Host
	Means Means
}

// The time limits of the probes.
const (
	probeEach    = 2 * time.Second // of one attempt
	probePause   = 250 * time.Millisecond
	probesBefore = 2           // number of attempts before the change, each with
	beforeEach   = time.Second // this limit, so that a node without a metadata service does not wait long
)

// StoreProbe returns the probe of a state store.
func StoreProbe(location, cluster string) Probe {
	return Probe(Store + ":" + location + " " + cluster)
}

var (
	ErrNoAnswer = errors.New("no answer")
	errNoMeans  = errors.New("the agent has no means to try it here")
)

// awaitSteady calls try until no probe has failed for the time steady, or until the window is over.
// Then it returns the failures of the last call. The end of the window does not cancel a call,
// because a cancelled probe would count as failed.
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

// Failures are the probes that failed.
type Failures []FailedProbe

// FailedProbe is a probe that failed, with the error.
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

// Only reports whether all failed probes are of one kind.
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

// kind returns the kind of a probe; for a group, that of its first probe.
func (p Probe) kind() string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(string(p), anyProbe+":"), ":")
	return kind
}

// each returns the probes of a group, or the probe itself.
func (p Probe) each() (list []Probe) {
	for one := range strings.FieldsSeq(strings.TrimPrefix(string(p), anyProbe+":")) {
		list = append(list, Probe(one))
	}
	return list
}

// target returns the address of a probe; invalid if it has none.
func (p Probe) target() (to netip.Addr) {
	_, what, _ := strings.Cut(string(p), ":")
	switch p.kind() {
	case neighbourProbe, fullProbe:
		_, what, _ = strings.Cut(what, "/")
	case tcpProbe, httpsProbe:
		what, _, _ = net.SplitHostPort(what) // what is "" after an error, which is no address either
	}
	to, _ = netip.ParseAddr(what)
	return to.WithZone("")
}

// neighbour returns the probe of a neighbour on a link.
func neighbour(kind, link string, addr netip.Addr) Probe {
	return Probe(fmt.Sprintf("%s:%s/%s", kind, link, addr.WithZone("")))
}

// onLink splits the link and the address of a probe of a neighbour.
func onLink(what string) (link string, addr netip.Addr, err error) {
	link, address, _ := strings.Cut(what, "/")
	addr, err = netip.ParseAddr(address)
	return link, addr, err
}

// oneOf returns a probe that passes if one of the group passes.
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

// hopProbe returns the probe of the next hop of a route.
func hopProbe(r rtnl.Route) Probe {
	return neighbour(neighbourProbe, r.Link, r.Gateway)
}

// hopProbes returns the probes of the next hops of routes.
func hopProbes(routes []rtnl.Route) (hops []Probe) {
	for _, r := range routes {
		if r.Gateway.IsValid() {
			hops = append(hops, hopProbe(r))
		}
	}
	return hops
}

// hop returns the address of a probe of a neighbour; for a group, that of its first probe.
func (p Probe) hop() (hop netip.Addr, ok bool) {
	first, _, _ := strings.Cut(strings.TrimPrefix(string(p), anyProbe+":"), " ")
	what, ok := strings.CutPrefix(first, neighbourProbe+":")
	if !ok {
		return hop, false
	}
	_, hop, err := onLink(what)
	return hop, err == nil
}
