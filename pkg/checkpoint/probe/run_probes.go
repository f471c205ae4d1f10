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

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// try makes one attempt.
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
	return fmt.Errorf("probe %s: no such kind: write ping:ADDRESS or tcp:ADDRESS:PORT", p)
}

// askAddress passes if a link has the address, whichever: a bridge may take a device's.
func (n Prober) askAddress(ctx context.Context, address string) error {
	addresses, err := n.Host.Live.Net.Addresses(ctx, "")
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
func (n Prober) askRoute(ctx context.Context, dst string) error {
	routes, err := n.Host.Live.Net.DefaultRoutes(ctx)
	if err == nil && !slices.ContainsFunc(routes, func(r rtnl.Route) bool { return r.Dst.String() == dst }) {
		err = errors.New("there is none any more")
	}
	return err
}

// askHTTPS reads a whole answer over a new connection. Any will do, a refusal too, from whomever:
// nothing is sent to the server, and what counts is that bytes come through. A handshake alone
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

// passing returns those that pass now. The error is that of some it is not known.
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

// lacks are what this machine says that has not what it takes to ask: descriptors, memory, or a
// port for a datagram (EAGAIN).
var lacks = []error{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.ENOBUFS, unix.EAGAIN}

// lacksPort says that a connection found no port of this machine's. The kernel says the same where
// the machine has no address to ask from, and then a datagram has none either.
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

// unasked is an error if one of them could not even be asked: that says nothing of who answers.
// Before a change a probe that counted as silent for it would not be missed after it.
func (f Failures) unasked() error {
	for _, one := range f {
		dns, named := errors.AsType[*net.DNSError](one.Err) // it keeps the text alone of what the lookup met
		lacking := func(lack error) bool {
			return errors.Is(one.Err, lack) || named && strings.HasSuffix(dns.Err, ": "+lack.Error())
		}
		if slices.ContainsFunc(lacks, lacking) || lacksPort(one.Err) {
			return fmt.Errorf("whether probe %s passes is not known: %w", one.Probe, one.Err)
		}
	}
	return nil
}

// without are the probes that are not among others.
func without(probes, others []Probe) []Probe {
	return slices.DeleteFunc(slices.Clone(probes), func(p Probe) bool { return slices.Contains(others, p) })
}

// Attempt tries all of them at a time.
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

// askFull sends an echo of full size. The link's MTU is that of now: a change of it counts.
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

// tryAny tries all of a group, and no longer than until one has passed.
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
