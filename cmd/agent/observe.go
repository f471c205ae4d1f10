package main

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/netwright/netwright/pkg/agent"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/publish/metrics"
)

// observe gives the daemon those whom it tells how it is. What they do besides goes on until end is called.
func (f *flags) observe(ctx context.Context, d *agent.Daemon, w *wired) (end func()) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx)) // the last thing that a daemon tells is that it ends
	var running sync.WaitGroup
	if address := cmp.Or(f.metrics, metrics.DefaultAddress); address != config.Off {
		m := metrics.New(version, w.asked.Counts)
		d.Observers = append(d.Observers, m)
		s := &metrics.Server{Metrics: m, Address: address, Log: d.Pass.Log}
		running.Go(func() { s.Run(ctx) })
	}
	return func() {
		stop(errors.New("the daemon stops"))
		running.Wait()
	}
}
