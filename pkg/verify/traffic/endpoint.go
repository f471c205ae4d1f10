package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/rtnl"
	"github.com/netwright/netwright/pkg/verify/probe"
)

const (
	// endpointPort is the port of an endpoint in a test pod, which runs nothing else.
	endpointPort = 8080
	// endpointVersion names the form of an endpoint's answer.
	endpointVersion = "netwright.dev/endpoint/v1"
)

// hello is the answer of an endpoint.
type hello struct {
	Version string         `json:"version"`
	Name    string         `json:"name"` // of the endpoint
	From    netip.AddrPort `json:"from"` // the address of the client, as the endpoint sees it
	// Pods are the addresses of the node's test pod, in the answer of a node's endpoint. The pod
	// has an endpoint of its own.
	Pods []netip.Addr `json:"pods,omitempty"`
	// Problem is why the endpoint could not reach the client's port.
	Problem string `json:"problem,omitempty"`
}

// endpoint answers over HTTP and, for [probe.Path], over UDP on the same port.
type endpoint struct {
	says  hello
	netns string // where its own requests start
	at    []netip.AddrPort

	server  *http.Server
	packets []net.PacketConn
}

// serveAt starts an endpoint that listens in a network namespace ("": the current one) on each of
// the addresses. With port 0 the kernel chooses a port. The caller must close it.
func serveAt(netns string, says hello, addrs ...netip.AddrPort) (*endpoint, error) {
	says.Version = endpointVersion
	e := &endpoint{says: says, netns: netns}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", e.hello)
	mux.HandleFunc("GET /back", e.back)
	e.server = &http.Server{Handler: mux, ReadTimeout: probe.Timeout, WriteTimeout: 2 * probe.Timeout, MaxHeaderBytes: 4096}
	for _, at := range addrs {
		if err := e.listen(at); err != nil {
			return nil, errors.Join(fmt.Errorf("start a test endpoint: %w", err), e.Close())
		}
	}
	return e, nil
}

func (e *endpoint) listen(at netip.AddrPort) error {
	tcp, udp := "tcp4", "udp4"
	if at.Addr().Is6() {
		tcp, udp = "tcp6", "udp6"
	}
	return rtnl.InNetNS(e.netns, func() error {
		l, err := net.Listen(tcp, at.String())
		if err != nil {
			return err
		}
		go func() { _ = e.server.Serve(l) }() // until Close
		at = l.Addr().(*net.TCPAddr).AddrPort()
		lc := net.ListenConfig{Control: probe.Whole(at.Addr())}
		p, err := lc.ListenPacket(context.Background(), udp, at.String())
		if err != nil {
			return err
		}
		e.packets, e.at = append(e.packets, p), append(e.at, at)
		go probe.Echo(p)
		return nil
	})
}

// Close ends the endpoint.
func (e *endpoint) Close() error {
	err := e.server.Close()
	for _, p := range e.packets {
		err = errors.Join(err, p.Close())
	}
	return err
}

func (e *endpoint) hello(w http.ResponseWriter, r *http.Request) {
	reply(w, e.saysTo(r))
}

// saysTo returns the answer to a request.
func (e *endpoint) saysTo(r *http.Request) hello {
	says := e.says
	says.From, _ = netip.ParseAddrPort(r.RemoteAddr)
	return says
}

func reply(w http.ResponseWriter, says hello) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(says) // the client may have gone
}

// back sends a request to a port at the client's own address and nowhere else: so a client cannot
// use an endpoint to reach other hosts.
func (e *endpoint) back(w http.ResponseWriter, r *http.Request) {
	says := e.saysTo(r)
	port, err := strconv.ParseUint(r.URL.Query().Get("port"), 10, 16)
	if err != nil || port < 1024 {
		http.Error(w, "expected port=, 1024 to 65535", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), probe.Timeout, probe.ErrNoAnswer)
	defer cancel()
	answer, err := ask(ctx, e.netns, netip.AddrPortFrom(says.From.Addr(), uint16(port)), "/")
	if err != nil {
		says.Problem = err.Error()
	} else {
		says.Name = answer.Name
	}
	reply(w, says)
}

// ask sends a request to an endpoint, from a network namespace, until it answers or the time is
// over. The error is the one of the last try.
func ask(ctx context.Context, netns string, to netip.AddrPort, path string) (hello, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, probe.Timeout, probe.ErrNoAnswer)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (conn net.Conn, err error) {
			err = rtnl.InNetNS(netns, func() error {
				conn, err = (&net.Dialer{}).DialContext(ctx, network, addr)
				return err
			})
			return conn, err
		}}}
	for {
		says, err := askOnce(ctx, client, "http://"+to.String()+path)
		if err == nil {
			return says, nil
		}
		if host.Sleep(ctx, probe.Pause); ctx.Err() != nil {
			return hello{}, fmt.Errorf("ask %s: %w", to, err)
		}
	}
}

func askOnce(ctx context.Context, client *http.Client, at string) (says hello, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return says, err
	}
	resp, err := client.Do(req)
	var of *url.Error
	switch {
	case err != nil && ctx.Err() != nil, probe.Late(err):
		return says, probe.ErrNoAnswer
	case errors.As(err, &of):
		return says, of.Err
	case err != nil:
		return says, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<16)).Decode(&says); err != nil ||
		says.Version != endpointVersion {
		return says, fmt.Errorf("something else than a test endpoint answers (HTTP %s)", resp.Status)
	}
	return says, nil
}
