package probe

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

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
)

// try makes one attempt of a probe.
func (n Prober) try(ctx context.Context, p Probe) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeEach, ErrNoAnswer)
	defer cancel()
	kind, what, _ := strings.Cut(string(p), ":")
	switch kind {
	case routeProbe:
		return n.askRoute(ctx, what)
	case addressProbe:
		return n.askAddress(ctx, what)
	case neighbourProbe, NextHop, fullProbe:
		link, addr, err := onLink(what)
		if err != nil {
			return fmt.Errorf("probe %s: %w", p, err)
		}
		if kind == fullProbe {
			return n.askFull(ctx, link, addr)
		}
		return n.Host.Net.ProbeNeighbour(ctx, link, addr)
	case anyProbe:
		return n.tryAny(ctx, what)
	case managedProbe:
		return n.askManager(ctx, what)
	case podsProbe:
		return n.askPods(ctx, what)
	case pingProbe:
		addr, err := netip.ParseAddr(what)
		if err != nil {
			return fmt.Errorf("probe %s: %w", p, err)
		}
		if n.Means.Ping == nil {
			return errNoMeans
		}
		return n.Means.Ping(ctx, addr)
	case tcpProbe:
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", what)
		if err != nil {
			return err
		}
		return conn.Close()
	case httpsProbe:
		return askHTTPS(ctx, what)
	case apiProbe:
		if n.Means.API == nil {
			return errNoMeans
		}
		return n.Means.API(ctx, what)
	case dnsProbe:
		return askDNS(ctx, what)
	case Store:
		location, cluster, _ := strings.Cut(what, " ")
		if n.Means.Store == nil {
			return errNoMeans
		}
		return n.Means.Store(ctx, location, cluster)
	}
	return fmt.Errorf("probe %s: unknown kind: write ping:ADDRESS or tcp:ADDRESS:PORT", p)
}

// askAddress passes if any link has the address: a bridge may take it over from a device.
func (n Prober) askAddress(ctx context.Context, address string) error {
	addresses, err := n.Host.Live.Net.Addresses(ctx, "")
	if err != nil {
		return err
	}
	has := func(a rtnl.Address) bool { return a.Prefix.Addr().String() == address }
	if !slices.ContainsFunc(addresses, has) {
		return errors.New("no link has this address")
	}
	return nil
}

// askRoute passes if there is a default route. Without it the gateway still answers, but gets no
// packets.
func (n Prober) askRoute(ctx context.Context, dst string) error {
	routes, err := n.Host.Live.Net.DefaultRoutes(ctx)
	if err == nil && !slices.ContainsFunc(routes, func(r rtnl.Route) bool { return r.Dst.String() == dst }) {
		err = errors.New("there is none any more")
	}
	return err
}

// askHTTPS reads a whole answer over a new connection. Any answer from any server passes, also an
// error status: the request has no secret, and the test is whether bytes get through. A handshake
// alone would succeed where no further bytes do: with a receive window of zero (net.ipv4.tcp_rmem),
// or if only full packets are lost.
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
	defer answer.Body.Close() // nothing was written
	if _, err = io.Copy(io.Discard, io.LimitReader(answer.Body, mostAnswer)); err == nil {
		err = context.Cause(ctx) // a server may end the answer because the client has gone
	}
	return err
}

// mostAnswer is how many bytes of an answer are read.
const mostAnswer = 1 << 20

// askDNS asks a server for the root's name servers. Any answer passes.
func askDNS(ctx context.Context, server string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", net.JoinHostPort(server, "53"))
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is buffered
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

// passing returns the probes that pass now. It returns an error if a probe could not be made.
func (n Prober) passing(ctx context.Context, probes []Probe) ([]Probe, error) {
	failed, left := Failures(nil), probes
	for range probesBefore {
		short, cancel := context.WithTimeoutCause(ctx, beforeEach, ErrNoAnswer)
		failed = n.Attempt(short, left)
		cancel()
		if left = failed.probes(); len(left) == 0 {
			break
		}
	}
	return without(probes, left), failed.unasked()
}

// lacks are the errors of this machine when it has not enough file descriptors or memory, or no
// port for a datagram (EAGAIN).
var lacks = append(host.Shortages(), unix.EAGAIN)

// lacksPort reports whether a connection failed because this machine has no free port. The kernel
// returns the same error if the machine has no source address. In that case a datagram socket fails
// too.
func lacksPort(err error) bool {
	connect, is := errors.AsType[*net.OpError](err)
	if !is || connect.Addr == nil || !errors.Is(err, unix.EADDRNOTAVAIL) {
		return false
	}
	datagram, err := net.Dial("udp", connect.Addr.String())
	if err == nil {
		_ = datagram.Close() // nothing was sent
	}
	return !errors.Is(err, unix.EADDRNOTAVAIL)
}

// unasked returns an error if one of the probes could not be made. Such a probe must not count as
// one without an answer: it would not be missed after the change.
func (f Failures) unasked() error {
	for _, one := range f {
		dns, named := errors.AsType[*net.DNSError](one.Err) // it only keeps the text of the error of the lookup
		lacking := func(lack error) bool {
			return errors.Is(one.Err, lack) || named && strings.HasSuffix(dns.Err, ": "+lack.Error())
		}
		if slices.ContainsFunc(lacks, lacking) || lacksPort(one.Err) {
			return fmt.Errorf("it is not known whether probe %s passes: %w", one.Probe, one.Err)
		}
	}
	return nil
}

// without returns the probes that are not among others.
func without(probes, others []Probe) []Probe {
	return slices.DeleteFunc(slices.Clone(probes), func(p Probe) bool { return slices.Contains(others, p) })
}

// Attempt makes all probes at the same time, and returns those that failed.
func (n Prober) Attempt(ctx context.Context, probes []Probe) Failures {
	errs := make([]error, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		wg.Go(func() {
			if errs[i] = n.try(ctx, p); errors.Is(errs[i], os.ErrDeadlineExceeded) ||
				errors.Is(errs[i], context.DeadlineExceeded) {
				errs[i] = ErrNoAnswer
			}
		})
	}
	wg.Wait()
	var out Failures
	for i, err := range errs {
		if err != nil {
			out = append(out, FailedProbe{probes[i], err})
		}
	}
	return out
}

// askFull sends an echo of full size. It uses the present MTU of the link, because a change may
// alter it.
func (n Prober) askFull(ctx context.Context, link string, addr netip.Addr) error {
	if n.Means.Full == nil {
		return errNoMeans
	}
	l, err := n.Host.Live.Net.Link(ctx, link)
	if err != nil {
		return err
	}
	if addr.Is6() && addr.IsLinkLocalUnicast() {
		addr = addr.WithZone(link)
	}
	return n.Means.Full(ctx, addr, l.MTU)
}

// tryAny makes all probes of a group, and returns when one has passed.
func (n Prober) tryAny(ctx context.Context, what string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	group := strings.Fields(what)
	errs := make([]error, len(group))
	var wg sync.WaitGroup
	for i, p := range group {
		wg.Go(func() {
			if errs[i] = n.try(ctx, Probe(p)); errs[i] == nil {
				cancel(nil)
			}
		})
	}
	wg.Wait()
	if slices.Contains(errs, nil) {
		return nil
	}
	return errs[0]
}
