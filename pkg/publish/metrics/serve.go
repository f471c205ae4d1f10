package metrics

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/host"
)

// DefaultAddress is where metrics are served by default. The port is in no list of
// ports: not in the one that exporters share (9100 to 9999), not among those of Kubernetes (10248
// to 10267) or of the networks, and below those that the kernel gives away (32768).
const DefaultAddress = agentfile.DefaultMetrics

// Bounds of what scrapers may cost: a scrape takes milliseconds.
const (
	maxScrapes  = 2
	scrapeTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	maxHeader   = 16 << 10
	listenFirst = time.Second // until the address is tried again, doubled each time …
	listenMax   = time.Minute // … up to this
)

// Server shows metrics at an address.
type Server struct {
	Metrics *Metrics
	Address string // host:port
	Log     *zap.Logger

	// Listening, if not nil, is called with the address that was got, once.
	Listening func(net.Addr)
}

// Run serves until ctx ends. An address that cannot be had is said once, and tried again for as
// long as it takes: nothing else waits for it.
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
	server := &http.Server{
		Handler: pages, ReadTimeout: scrapeTime, WriteTimeout: scrapeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       zap.NewStdLog(zap.NewNop()), // what scrapers do wrong is theirs
	}
	over := context.AfterFunc(ctx, func() { _ = server.Close() }) // a scrape that is cut off is made again
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
			s.Log.Warn("metrics are not served, and all else goes on: end what has the address, or name another one "+
				"with --metrics or in agent.yaml (metrics)",
				zap.String("address", s.Address), zap.Error(err))
		}
		if !host.Sleep(ctx, pause) {
			return nil
		}
	}
}
