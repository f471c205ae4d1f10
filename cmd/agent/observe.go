package main

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config/agentfile"
	"github.com/netwright/netwright/pkg/daemon"
	"github.com/netwright/netwright/pkg/inbound"
	"github.com/netwright/netwright/pkg/kube"
	"github.com/netwright/netwright/pkg/kube/access"
	"github.com/netwright/netwright/pkg/publish"
	"github.com/netwright/netwright/pkg/publish/metrics"
	"github.com/netwright/netwright/pkg/publish/nodestatus"
)

// observe gives the daemon those whom it tells how it is. What they do besides goes on until end is
// called.
func (f *flags) observe(ctx context.Context, d *daemon.Daemon, w *wired) (end func()) {
	// the last thing that a daemon tells is that it ends
	ctx, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	if address := cmp.Or(f.metrics, metrics.DefaultAddress); address != agentfile.Off {
		m := metrics.New(version, w.asked.Counts)
		d.Observers = append(d.Observers, m)
		s := &metrics.Server{Metrics: m, Address: address, Log: d.Pass.Log}
		running.Go(func() { s.Run(ctx) })
	}
	if f.nodeStatus != agentfile.Off && f.root == "/" {
		n := &nodestatus.Node{As: asItself(d.Pass.API), Log: d.Pass.Log}
		d.Observers = append(d.Observers, n)
		running.Go(func() { n.Run(ctx) })
	}
	if f.root == "/" {
		p := &inbound.Peer{API: d.Pass.API.Peers(), Busy: d.Pass.Session().MidChange, Log: d.Pass.Log}
		d.Observers = append(d.Observers, p)
		running.Go(func() { p.Run(ctx) })
	}
	if f.root == "/" && len(f.peers.Answer) > 0 {
		r := &inbound.Responder{Static: f.peers, Busy: d.Pass.Session().MidChange, Log: d.Pass.Log}
		running.Go(func() { r.Run(ctx) })
	}
	if put, err := f.statusWriter(w); err != nil {
		d.Pass.Log.Warn("no status object is written", zap.Error(err))
	} else if put != nil {
		o := &publish.Object{Put: put, Log: d.Pass.Log}
		d.Observers = append(d.Observers, o)
		running.Go(func() { o.Run(ctx) })
	}
	return func() {
		stop(errors.New("the daemon stops"))
		running.Wait()
	}
}

// asItself speaks to the Kubernetes API of the node's own Node.
func asItself(api *access.API) nodestatus.As {
	return func(ctx context.Context, do func(context.Context, nodestatus.Client) error) error {
		return api.Own(ctx, func(c *kube.Client) error { return do(ctx, c) })
	}
}
