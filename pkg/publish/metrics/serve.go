package metrics

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/host"
)

// DefaultAddress is the default address of the metrics. Its port is in no list of used ports: not
// in the list of exporters (9100 to 9999), not among those of Kubernetes (10248 to 10267) or of the
// networks, and below the kernel's ephemeral ports (from 32768).
const DefaultAddress = agentfile.DefaultMetrics

// Limits for scrapes, which take milliseconds.
const (
	maxScrapes  = 2
	maxClients  = 32 // any user of the host may connect: a thousand connections are 15 MB
	scrapeTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	maxHeader   = 16 << 10
	listenFirst = time.Second // pause before the next attempt to listen; doubled each time …
	listenMax   = time.Minute // … up to this
)

// Server serves metrics at an address.
type Server struct {
	Metrics *Metrics
	Address string // host:port
	Log     *zap.Logger

	// Listening, if not nil, is called once with the address that the server listens on.
	Listening func(net.Addr)
}

// Run serves until ctx ends. Where it cannot listen, it logs that once and tries again until it
// can: nothing waits for it.
func (s *Server) Run(ctx context.Context) {
	listener := s.listen(ctx)
	if listener == nil {
		return
	}
	if s.Listening != nil {
		s.Listening(listener.Addr())
	}
	pages := http.NewServeMux()
	pages.Handle("GET /metrics", s.Metrics.Handler())
	var connected clients
	server := &http.Server{
		Handler: pages, ReadTimeout: scrapeTime, WriteTimeout: scrapeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       zap.NewStdLog(zap.NewNop()), // the errors of clients are not logged
		ConnState:      connected.changed,
	}
	over := context.AfterFunc(ctx, func() { _ = server.Close() }) // Prometheus repeats a scrape that fails
	defer over()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.Log.Warn("metrics are no longer served", zap.Error(err))
	}
}

// clients are the connections, with the longest unchanged first: an idle one, or half a request.
type clients struct {
	mu   sync.Mutex
	list []net.Conn
}

// changed is told each state of a connection. One more than maxClients closes the first.
func (c *clients) changed(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.Index(c.list, conn)
	switch {
	case at >= 0:
		c.list = slices.Delete(c.list, at, at+1)
	case state != http.StateNew:
		return // it was closed below
	}
	if state != http.StateClosed {
		c.list = append(c.list, conn)
	}
	if len(c.list) > maxClients {
		_ = c.list[0].Close()
		c.list = c.list[1:]
	}
}

func (s *Server) listen(ctx context.Context) net.Listener {
	said := ""
	for pause := listenFirst; ; pause = min(2*pause, listenMax) {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Address)
		if err == nil {
			if said != "" {
				s.Log.Info("metrics are served now", zap.String("address", s.Address))
			}
			return listener
		}
		if ctx.Err() == nil && err.Error() != said {
			said = err.Error()
			s.Log.Warn("metrics are not served; all else goes on: stop the program that has the address, or set "+
				"another address with --metrics or in agent.yaml (metrics)",
				zap.String("address", s.Address), zap.Error(err))
		}
		if !host.Sleep(ctx, pause) {
			return nil
		}
	}
}
