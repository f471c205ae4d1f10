package metrics

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
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
	var clients atomic.Int32
	server := &http.Server{
		Handler: pages, ReadTimeout: scrapeTime, WriteTimeout: scrapeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       zap.NewStdLog(zap.NewNop()), // the errors of clients are not logged
		ConnState: func(conn net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				if clients.Add(1) > maxClients {
					_ = conn.Close() // the server reports it as closed
				}
			case http.StateClosed:
				clients.Add(-1)
			case http.StateActive, http.StateIdle, http.StateHijacked: // it is one of the clients already
			}
		},
	}
	over := context.AfterFunc(ctx, func() { _ = server.Close() }) // Prometheus repeats a scrape that fails
	defer over()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		s.Log.Warn("metrics are no longer served", zap.Error(err))
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
