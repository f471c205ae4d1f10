package checkpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/netwright/netwright/pkg/config"
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
	nextHopProbe   = "next-hop"
	pingProbe      = "ping"
	tcpProbe       = "tcp"
	httpsProbe     = "https"
	apiProbe       = "api"
	dnsProbe       = "dns"
	storeProbe     = "store"
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

// Times of the probes.
const (
	DefaultWindow = config.DefaultProbeWindow // in which they must pass after a change
	probeEach     = 2 * time.Second           // for one attempt
	probePause    = 250 * time.Millisecond
	probesBefore  = 2           // attempts before the change, each of
	beforeEach    = time.Second // so that a node without a metadata service does not wait for one
)

// StoreProbe is the probe of a state store.
func StoreProbe(location, cluster string) Probe {
	return Probe(storeProbe + ":" + location + " " + cluster)
}

// try makes one attempt.
func (p Probe) try(ctx context.Context, h *host.Host, m Means) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeEach, errNoAnswer)
	defer cancel()
	kind, what, _ := strings.Cut(string(p), ":")
	switch kind {
	case routeProbe:
		return askRoute(ctx, h, what)
	case addressProbe:
		return askAddress(ctx, h, what)
	case neighbourProbe, nextHopProbe:
		link, addr, err := onLink(what)
		if err != nil {
			return fmt.Errorf("probe %s: %w", p, err)
		}
		return h.ProbeNeighbour(ctx, link, addr)
	case fullProbe:
		link, addr, err := onLink(what)
		if err != nil {
			return fmt.Errorf("probe %s: %w", p, err)
		}
		return askFull(ctx, h, m, link, addr)
	case anyProbe:
		return tryAny(ctx, h, m, what)
	case managedProbe:
		return askManager(ctx, h, what)
	case podsProbe:
		return askPods(ctx, h, m, what)
	case pingProbe:
		addr, err := netip.ParseAddr(what)
		if err != nil {
			return fmt.Errorf("probe %s: %w", p, err)
		}
		if m.Ping == nil {
			return errNoMeans
		}
		return m.Ping(ctx, addr)
	case tcpProbe:
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", what)
		if err != nil {
			return err
		}
		return conn.Close()
	case httpsProbe:
		return askHTTPS(ctx, what)
	case apiProbe:
		if m.API == nil {
			return errNoMeans
		}
		return m.API(ctx, what)
	case dnsProbe:
		return askDNS(ctx, what)
	case storeProbe:
		location, cluster, _ := strings.Cut(what, " ")
		if m.Store == nil {
			return errNoMeans
		}
		return m.Store(ctx, location, cluster)
	}
	return fmt.Errorf("probe %s: no such kind: write ping:ADDRESS or tcp:ADDRESS:PORT", p)
}

var (
	errNoAnswer = errors.New("no answer")
	errNoMeans  = errors.New("nobody here can try it")
)

// askAddress passes if a link has the address, whichever: a bridge may take a device's.
func askAddress(ctx context.Context, h *host.Host, address string) error {
	addresses, err := h.Addresses(ctx, "")
	if err != nil {
		return err
	}
	has := func(a rtnl.Address) bool { return a.Prefix.Addr().String() == address }
	if !slices.ContainsFunc(addresses, has) {
		return errors.New("no link has it")
	}
	return nil
}

// askRoute passes if there is a default route. Where it is gone the gateway answers as before, and
// nobody sends it anything.
func askRoute(ctx context.Context, h *host.Host, dst string) error {
	routes, err := h.DefaultRoutes(ctx)
	if err == nil && !slices.ContainsFunc(routes, func(r rtnl.Route) bool { return r.Dst.String() == dst }) {
		err = errors.New("there is none any more")
	}
	return err
}

// askHTTPS reads a whole answer over a new connection. Any will do, a refusal too, from whomever:
// nothing is told to the server, and what counts is that bytes come through. A handshake alone
// succeeds where no byte does, with a receive window of none (net.ipv4.tcp_rmem) or where only full
// packets are lost.
func askHTTPS(ctx context.Context, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/", http.NoBody)
	if err != nil {
		return err
	}
	client := http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	answer, err := client.RoundTrip(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close() // nothing is kept
	if _, err = io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswer)); err == nil {
		err = context.Cause(ctx) // a server may end an answer because its client goes
	}
	return err
}

// mostAnswer is how much of an answer is read, in bytes.
const mostAnswer = 1 << 20

// askDNS asks a server for the root's name servers: any answer will do.
func askDNS(ctx context.Context, server string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(server, "53"))
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is kept
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	// RFC 1035 4.1: id, flags (recursion desired), one question; the root, NS, IN.
	question := []byte{0x6e, 0x77, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1}
	if _, err := conn.Write(question); err != nil {
		return err
	}
	answer := make([]byte, 512)
	n, err := conn.Read(answer)
	if err == nil && (n < 12 || answer[0] != question[0] || answer[1] != question[1]) {
		err = errors.New("no DNS answer")
	}
	return err
}

// passing returns those that pass now.
func passing(ctx context.Context, h *host.Host, m Means, probes []Probe) []Probe {
	failed := probes
	for range probesBefore {
		short, cancel := context.WithTimeoutCause(ctx, beforeEach, errNoAnswer)
		failed = attempt(short, h, m, failed).probes()
		cancel()
		if len(failed) == 0 {
			break
		}
	}
	lost := map[Probe]bool{}
	for _, p := range failed {
		lost[p] = true
	}
	var out []Probe
	for _, p := range probes {
		if !lost[p] {
			out = append(out, p)
		}
	}
	return out
}

// asks tries a list of probes.
func asks(h *host.Host, m Means, probes []Probe) func(context.Context) failures {
	return func(ctx context.Context) failures { return attempt(ctx, h, m, probes) }
}

// hold tries the probes until all have passed for a time without a break, or
// the window is over; then it returns those that failed last. The window's end cuts no
// attempt short: what it cut off would count as failed, though nothing ails it.
func hold(ctx context.Context, try func(context.Context) failures, window, steady time.Duration) failures {
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
		select {
		case <-ctx.Done():
			return failed
		case <-time.After(probePause):
		}
	}
}

// failures are probes that failed, with why.
type failures []failure

type failure struct {
	probe Probe
	err   error
}

func (f failures) probes() (out []Probe) {
	for _, one := range f {
		out = append(out, one.probe)
	}
	return out
}

// only says that all that failed is of one kind.
func (f failures) only(kind string) bool {
	return !slices.ContainsFunc(f, func(one failure) bool { return one.probe.kind() != kind })
}

func (f failures) String() string {
	var parts []string
	for _, one := range f {
		parts = append(parts, fmt.Sprintf("%s (%v)", one.probe, one.err))
	}
	return strings.Join(parts, ", ")
}

// attempt tries all of them at a time.
func attempt(ctx context.Context, h *host.Host, m Means, probes []Probe) failures {
	errs := make([]error, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		wg.Go(func() {
			if errs[i] = p.try(ctx, h, m); errors.Is(errs[i], os.ErrDeadlineExceeded) || errors.Is(errs[i], context.DeadlineExceeded) {
				errs[i] = errNoAnswer
			}
		})
	}
	wg.Wait()
	var out failures
	for i, err := range errs {
		if err != nil {
			out = append(out, failure{probes[i], err})
		}
	}
	return out
}
